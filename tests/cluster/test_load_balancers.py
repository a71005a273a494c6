"""Two nodes behind nginx, HAProxy and Caddy, each with the configuration of deploy/."""

import hashlib
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.support.load import until
from tests.support.nodes import Nodes, two_nodes
from tests.support.s3 import running_s3
from tests.support.server import free_port
from tests.support.system_packages import program
from tests.support.tcp_proxy import Relay, relaying
from waypost.server.startup import KEPT_IDLE

_DEPLOY = Path(__file__).parents[2] / "deploy"
_HOST = "go.localhost"


@dataclass(frozen=True)
class World:
    """Two nodes, each behind a relay by which it can be cut off."""

    nodes: Nodes
    relays: tuple[Relay, Relay]

    def ports(self) -> tuple[int, int]:
        return self.relays[0].port, self.relays[1].port


@pytest.fixture(scope="module")
def world(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One for the module."""
    folder = tmp_path_factory.mktemp("nodes")
    with running_s3("waypost-nodes") as bucket:
        common = {"trusted_proxies": "127.0.0.1", "base_url": f"http://{_HOST}", **bucket.settings}
        with two_nodes(folder, postgres, **common) as nodes:
            first, second = (int(node.url.rpartition(":")[2]) for node in (nodes.first, nodes.second))
            with relaying(first) as one, relaying(second) as two:
                yield World(nodes, (one, two))


@contextmanager
def _running(command: list[str], port: int, folder: Path, **more: str) -> Iterator[httpx2.Client]:
    """A client of a balancer, once that listens."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env={**os.environ, **more}, start_new_session=True
        )
    try:
        deadline = time.monotonic() + 30
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        headers = {"Host": _HOST, "User-Agent": "curl/8"}
        base = f"http://127.0.0.1:{port}"
        with httpx2.Client(base_url=base, headers=headers, timeout=60, trust_env=False) as client:
            yield client
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _addressed(text: str, ports: tuple[int, int]) -> str:
    for number, port in enumerate(ports, 1):
        text = text.replace(f"waypost-{number}:8000", f"127.0.0.1:{port}")
    return text


@contextmanager
def _nginx(ports: tuple[int, int], folder: Path) -> Iterator[httpx2.Client]:
    command, port = program("nginx", "nginx-light"), free_port()
    site = _addressed((_DEPLOY / "nginx.conf").read_text(), ports).replace("listen 80;", f"listen 127.0.0.1:{port};")
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    around = f"daemon off; pid {folder}/pid; error_log stderr; events {{}} "
    around += f"http {{ access_log off; {temporary} {site} }}"
    (folder / "nginx.conf").write_text(around)
    with _running([command, "-p", str(folder), "-c", str(folder / "nginx.conf")], port, folder) as client:
        yield client


@contextmanager
def _haproxy(ports: tuple[int, int], folder: Path) -> Iterator[httpx2.Client]:
    command, port = program("haproxy", "haproxy"), free_port()
    text = _addressed((_DEPLOY / "haproxy.cfg").read_text(), ports).replace("bind :80", f"bind 127.0.0.1:{port}")
    (folder / "haproxy.cfg").write_text(text)
    with _running([command, "-db", "-f", str(folder / "haproxy.cfg")], port, folder) as client:
        yield client


@contextmanager
def _caddy(ports: tuple[int, int], folder: Path) -> Iterator[httpx2.Client]:
    command, port = program("caddy", "caddy"), free_port()
    nodes = " ".join(f"127.0.0.1:{one}" for one in ports)
    (folder / "Caddyfile").write_text("{\n\tadmin off\n}\n" + (_DEPLOY / "Caddyfile").read_text())
    given = {"WAYPOST_SITE": f"http://{_HOST}:{port}", "WAYPOST_NODES": nodes, "HOME": str(folder)}
    run = [command, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with _running(run, port, folder, **given) as client:
        yield client


_BALANCERS: dict[str, Callable[[tuple[int, int], Path], AbstractContextManager[httpx2.Client]]] = {
    "nginx": _nginx,
    "haproxy": _haproxy,
    "caddy": _caddy,
}


@pytest.mark.parametrize("name", _BALANCERS)
def test_nobody_behind_a_balancer_notices_how_many_nodes_there_are(world: World, name: str, tmp_path: Path) -> None:
    content, key = os.urandom(3_000_000), {"Authorization": f"Bearer {world.nodes.key}"}
    answered = 0
    with _BALANCERS[name](world.ports(), tmp_path) as client:

        def all_answer() -> bool:
            nonlocal answered
            found = [client.get(f"/{name}").status_code for _ in range(6)].count(302)
            answered += found
            return found == 6

        made = client.post("/api/url/add", headers=key, json={"url": "https://example.com/", "custom": name})
        assert made.status_code == 200, made.text
        until(all_answer)  # the other node may still know that there is nothing
        sent = client.post(f"/api/files/upload/a.bin?custom={name}-file", headers=key, content=content)
        assert sent.status_code == 200, sent.text
        got = client.get(f"/{name}-file")
        assert (got.status_code, hashlib.sha256(got.content).digest()) == (200, hashlib.sha256(content).digest())
        assert client.get("/metrics").status_code == 404
        for relay in world.relays:  # one node after the other goes away and comes back
            relay.cut()
            until(all_answer)
            relay.mend()
            until(lambda: [client.get("/healthz").status_code for _ in range(6)] == [200] * 6)
    link = int(made.json()["id"])
    until(lambda: _clicks(world.nodes, link) >= answered)


def test_a_balancer_lets_go_of_an_idle_connection_before_the_node_does() -> None:
    """Else a request may be sent into a connection just closed, and one that saves something is not sent again."""
    said = {
        "nginx.conf": r"\n    keepalive_timeout (\d+)s;",
        "haproxy.cfg": r"\n    timeout http-keep-alive (\d+)s\n",
        "Caddyfile": r"\n\t+keepalive (\d+)s\n",
    }
    for name, pattern in said.items():
        found = re.search(pattern, (_DEPLOY / name).read_text())
        assert found is not None, name
        assert int(found[1]) < KEPT_IDLE, name


def _clicks(nodes: Nodes, link: int) -> int:
    answer = nodes.first.call("GET", f"/api/url/{link}", key=nodes.key)
    return int(answer.json()["data"]["clicks"])
