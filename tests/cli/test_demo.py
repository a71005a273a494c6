"""`waypost demo`: sample content and visits in a temporary folder."""

import os
import re
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
import pytest
import time_machine

from tests.support.load import until
from tests.support.server import free_port
from waypost.clicks.journal import SEGMENT_SUFFIX
from waypost.demo import visits
from waypost.demo.content import Target

_COUNTS = {
    "urls": 20, "campaigns": 2, "channels": 4, "domains": 2, "qr": 4,
    "files": 3, "splash": 1, "overlay": 1, "pixels": 1, "shares": 1,
}  # fmt: skip
"""The items of the demo, by the path of their list."""
_COMMAND = Path(sys.executable).with_name("waypost")


@contextmanager
def _demo(folder: Path, *options: str, **environment: str) -> Iterator[tuple[httpx2.Client, Path]]:
    """Run the demo in `folder`. Yield a client with the owner's key, and the demo's temporary folder."""
    port = free_port()
    log = folder / "demo.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [_COMMAND, "demo", "--port", str(port), *options],
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder), **environment},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: "deletes " in log.read_text() or process.poll() is not None)
        key = re.findall(r"API key +(\S+)", log.read_text())
        data = re.findall(r"deletes (\S+)\.$", log.read_text(), re.MULTILINE)
        assert len(key) == len(data) == 1, log.read_text()
        headers = {"Authorization": f"Bearer {key[0]}"}
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False, timeout=60, verify=False
        ) as client:
            until(lambda: _answers(client))
            yield client, Path(data[0])
    finally:
        process.terminate()
        process.wait(60)


def _answers(client: httpx2.Client) -> bool:
    try:
        return client.get("/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def _total(client: httpx2.Client) -> dict[str, int]:
    total: dict[str, int] = client.get("/api/stats").json()["data"]["total"]
    return total


def test_demo_has_content_and_counted_visits_and_deletes_its_folder(tmp_path: Path) -> None:
    elsewhere = {"WAYPOST_DATABASE_URL": "postgresql://nowhere.invalid/x", "WAYPOST_DATA_DIR": str(tmp_path / "real")}
    with _demo(tmp_path, **elsewhere) as (client, data):
        assert data.parent == tmp_path
        lists = {path: client.get(f"/api/{path}").json() for path in _COUNTS}
        assert {path: body.get("data", body)["result"] for path, body in lists.items()} == _COUNTS
        plan = client.get("/api/import").json()["details"]
        assert (plan["state"], plan["fates"]["create"], plan["fates"]["conflict"]) == ("planned", 2, 1)
        assert b"Teapot,74" in client.get("/price-list?download=1").content
        until(lambda: _total(client)["clicks"] > 10_000)
        until(lambda: not list((data / "journal").glob(f"*{SEGMENT_SUFFIX}")))
        total = _total(client)
        assert 0 < total["uniqueClicks"] < total["clicks"]
        assert total["bots"] > 0
        days = client.get("/api/stats").json()["data"]["series"]
        assert len([day for day in days if day["clicks"]]) >= 29
        environment = {**os.environ, "WAYPOST_DATA_DIR": str(data)}
        verify = [str(_COMMAND), "clicks", "verify"]
        completed = subprocess.run(verify, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (completed.returncode, completed.stdout) == (0, "0 differences.\n")
        with closing(sqlite3.connect(data / "waypost.db", timeout=30)) as database, database:
            database.execute("UPDATE click_times SET clicks = clicks + 1 WHERE kind = 'account'")
        completed = subprocess.run(verify, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        verdict, *lines = completed.stdout.splitlines()
        assert (completed.returncode, verdict) == (1, f"{len(lines)} differences.")
        assert len(lines) >= 29
        redirect = client.get("/juniper", headers={"Accept": "text/html"})
        assert (redirect.status_code, "Juniper Ceramics" in redirect.text) == (200, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.log"]


def test_demo_with_base_url_shows_it_in_short_links(tmp_path: Path) -> None:
    with _demo(tmp_path, "--base-url", "http://jnpr.example") as (client, _):
        until(lambda: client.get("/api/qr").status_code == 200)  # 503 while a busy machine counts the visits
        codes = client.get("/api/qr").json()["data"]["qrs"]
        assert "http://jnpr.example/qr/table" in [code["link"] for code in codes]


def test_demo_on_used_port_names_the_option_and_leaves_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        completed = subprocess.run(
            [str(_COMMAND), "demo", "--port", str(port)],
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert completed.returncode == 1
    assert f"Port {port} cannot be used. Choose another one with --port." in completed.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("targets", [[Target("link", 1, 40.0)], [Target("qr", 2, 9.0), Target("link", 3, 5.0, 7)]])
def test_visits_are_the_same_at_every_start_of_a_day(tmp_path: Path, targets: list[Target]) -> None:
    written = []
    for name in ("first", "second"):
        with time_machine.travel(1_790_000_000, tick=False):
            visits.write(tmp_path / name, 1, targets)
        (segment,) = (tmp_path / name).iterdir()
        written.append(segment.read_bytes())
    assert written[0] == written[1]
    times = [int(line.partition(b"\t")[0]) for line in written[0].splitlines()]
    assert times == sorted(times)
    assert times[-1] < 1_790_000_000_000 < times[0] + visits.DAYS * 86_400_000
