"""A full disk, a locked database, a clock that jumps: every answered click is counted exactly."""

import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
import time_machine

from tests.support.load import until
from tests.support.protocol import protocol_client
from tests.support.server import Server, at_once, processes, serving
from waypost.clicks.ingest.ingester import Ingester
from waypost.core.settings import Settings
from waypost.db.database import Database

_LOCKED_SECONDS = 5
_NEW = '{"url": "https://example.com/page", "custom": "%s"}'


def _small_disk(folder: Path) -> Sequence[str]:
    """Return a command prefix that mounts a disk of 24 MiB at `folder` for the command only."""
    spaces = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    mount = f"mount -t tmpfs -o size=24m tmpfs '{folder}'"
    if shutil.which("unshare") is None or subprocess.run([*spaces, "sh", "-c", mount], check=False).returncode:
        pytest.skip("this machine cannot mount a small disk")
    return [*spaces, "sh", "-c", f'{mount} && exec "$@"', "sh"]


def _visit(server: Server, alias: str, times: int) -> int:
    """Visit the alias and return the number of redirects."""
    statuses = [server.call("GET", f"/{alias}", follow_redirects=False).status_code for _ in range(times)]
    return statuses.count(302)


def _clicks(server: Server, key: str, alias: str) -> int:
    response = server.call("GET", "/api/urls", key=key, params={"short": alias})
    assert response.status_code == 200, response.text
    return int(response.json()["data"]["clicks"])


def test_full_disk_keeps_redirects_and_reports_every_lost_click(tmp_path: Path) -> None:
    folder = tmp_path / "node"
    folder.mkdir()
    with serving(folder, command_prefix=_small_disk(folder), log_level="info") as server:
        key = server.owner_key
        for alias in ("hot", "cold"):
            assert server.call("POST", "/api/url/add", key=key, content=_NEW % alias).status_code == 200
        answered = {"hot": _visit(server, "hot", 20), "cold": 0}
        assert _clicks(server, key, "hot") == 20
        disk = Path(f"/proc/{server.process.pid}/root{folder}")
        _fill(disk / "ballast")
        answered["hot"] += _visit(server, "hot", 300)
        answered["cold"] += _visit(server, "cold", 1)
        assert answered == {"hot": 320, "cold": 1}
        response = server.call("POST", "/api/url/add", key=key, content=_NEW % "never")
        assert (response.status_code, response.json()["code"]) == (507, "storage_full")
        for path in ("/api/account", "/api/urls", "/api/url/1"):
            assert server.call("GET", path, key=key).status_code == 200, path
        ready = server.call("GET", "/readyz").json()
        assert (ready["status"], ready["disk"], ready["journal"]) == ("degraded", "full", "No space left on device")
        lost = ready["clicks_lost"]
        assert lost > 0
        exposed = server.call("GET", "/metrics")
        assert f"waypost_clicks_lost_total {float(lost)}" in exposed.text
        segments = {file.name for file in (disk / "journal").glob("*.log")}
        assert len(segments) <= 2, segments
        assert server.output().count("clicks are lost") == 1
        assert "journal maintenance failed" not in server.output()
        (disk / "ballast").unlink()
        until(lambda: server.call("GET", "/readyz").json()["status"] == "ok")
        answered["hot"] += _visit(server, "hot", 30)
        assert sum(_clicks(server, key, alias) for alias in answered) == sum(answered.values()) - lost
        assert server.call("GET", "/readyz").json()["clicks_lost"] == lost
        assert server.call("GET", "/readyz").json()["status"] == "ok"
        assert server.call("POST", "/api/url/add", key=key, content=_NEW % "never").status_code == 200


def _fill(file: Path) -> None:
    """Fill the disk completely. It must be the small one."""
    assert shutil.disk_usage(file.parent).total <= 24 << 20
    with file.open("wb", buffering=0) as ballast:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while ballast.write(bytes(size)):
                    pass
            except OSError:
                continue


def test_database_locked_for_seconds_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "node"
    with serving(folder, workers=2, log_level="info") as server:
        key = server.owner_key
        for alias in ("hot", "cold"):
            assert server.call("POST", "/api/url/add", key=key, content=_NEW % alias).status_code == 200
        answered = _visit(server, "hot", 20)
        with closing(sqlite3.connect(folder / "waypost.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            until, cold = time.monotonic() + _LOCKED_SECONDS, 0
            while time.monotonic() < until:
                answered += _visit(server, "hot", 10)
                cold += _visit(server, "cold", 1)
                time.sleep(0.03)
            other.execute("ROLLBACK")
        added = [server.call("POST", "/api/url/add", key=key, content=_NEW % f"new-{n}") for n in range(4)]
        assert [response.status_code for response in added] == [200] * 4
        assert (_clicks(server, key, "hot"), _clicks(server, key, "cold")) == (answered, cold)
        assert "Traceback" not in server.output()


def test_reads_are_answered_while_the_database_is_locked(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        key = server.owner_key
        with closing(sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            statuses = [server.call("GET", "/api/account", key=key).status_code for _ in range(3)]
            until(lambda: server.call("GET", "/readyz").status_code == 503)
            assert "waypost_database_up 0.0" in server.call("GET", "/metrics").text
        assert statuses == [200] * 3
        until(lambda: server.call("GET", "/readyz").status_code == 200)


def test_links_are_read_while_the_counting_process_is_stopped(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        key = server.owner_key
        assert server.call("POST", "/api/url/add", key=key, content=_NEW % "spring").status_code == 200
        _, (ingester,) = processes(server)
        ingester.suspend()
        assert _visit(server, "spring", 3) == 3
        for path in ("/api/url/1", "/api/urls", "/api/stats"):
            response = server.call("GET", path, key=key)
            assert (response.status_code, int(response.headers["x-statistics-age"]) > 0) == (200, True)
        ingester.resume()
        until(lambda: "x-statistics-age" not in server.call("GET", "/api/url/1", key=key).headers)
        assert _clicks(server, key, "spring") == 3


def test_write_waits_for_locked_database(tmp_path: Path) -> None:
    folder = tmp_path / "node"
    with serving(folder, log_level="info") as server:
        key = server.owner_key
        other = sqlite3.connect(folder / "waypost.db", isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")

        def release() -> int:
            time.sleep(1)
            other.close()
            return 200

        def add() -> int:
            return server.call("POST", "/api/url/add", key=key, content=_NEW % "late").status_code

        assert at_once([release, add]) == [200, 200]
        assert _visit(server, "late", 1) == 1


def test_clock_jumps_lose_no_click(settings: Settings, database: Database) -> None:
    day = 86_400
    with protocol_client(settings, database) as client, time_machine.travel(1_800_000_000, tick=False) as clock:
        client.add_link("spring")
        visit = b"GET /spring HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8\r\n\r\n"
        jumps = (0, day, -3 * day, 1, 40 * day, -day)
        for seconds in jumps:
            clock.shift(seconds)
            for _ in range(3):  # the first is cached, the next ones use the fast path
                assert client.request(visit)[9:12] == b"302"
        ingester = Ingester(settings, database)
        client.worker_state.journal.close()
        while ingester.step():
            ingester.delete_expired()
        response = client.request(client.api_request("GET", "/api/urls?short=spring"))
    assert f'"clicks":{3 * len(jumps)}'.encode() in response.replace(b" ", b"")
