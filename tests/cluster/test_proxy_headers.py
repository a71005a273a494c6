"""Requests that nginx, HAProxy and Caddy pass on to nodes, with the configurations of deploy/ and of the guides."""

import http.client
import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path

import pytest

from tests.support.caddy import https_get, running_caddy
from tests.support.load_balancers import BALANCERS, HOST, running_nginx
from tests.support.recording_server import RecordingServer, recording_server
from tests.support.server import free_port
from tests.support.source import ROOT
from tests.support.threads import join

_UPGRADES = [
    {"Connection": "Upgrade", "Upgrade": "h2c"},
    {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAoAAAAAIAAAAA"},
    {"Connection": "keep-alive, upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "c2VjcmV0IQ=="},
    {"Connection": "upgrade", "Upgrade": "anything"},
    {"Upgrade": "h2c"},
]


@pytest.fixture
def node() -> Iterator[RecordingServer]:
    with recording_server() as server:
        yield server


@contextmanager
def _balancer(name: str, node: RecordingServer, folder: Path) -> Iterator[int]:
    with BALANCERS[name]((node.port, node.port), folder) as client:
        yield client.base_url.port or 80


def _request(port: int, path: str, headers: dict[str, str]) -> int:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        client.request("POST", path, b"a body", {"Host": HOST, **headers})
        return client.getresponse().status
    finally:
        client.close()


def _upgrades(headers: Message) -> list[tuple[str, str]]:
    """Return the headers that ask to change the protocol."""
    return [(name, value) for name, value in headers.items() if "upgrade" in f"{name} {value}".lower()]


@pytest.mark.parametrize("name", BALANCERS)
def test_load_balancer_passes_no_upgrade_to_nodes(name: str, node: RecordingServer, tmp_path: Path) -> None:
    paths = ("/api/url/add", "/dashboard/signin", "/api/files/upload/a.bin", "/alias")
    with _balancer(name, node, tmp_path) as port:
        statuses = [_request(port, path, headers) for path in paths for headers in _UPGRADES]
    assert statuses == [200] * len(paths) * len(_UPGRADES)
    assert [_upgrades(request.headers) for request in node.requests] == [[]] * len(statuses)


def test_nginx_of_guide_passes_no_upgrade_to_node(node: RecordingServer, tmp_path: Path) -> None:
    blocks = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs" / "reverse-proxy.md").read_text(), re.DOTALL)
    site = "".join(blocks).replace("127.0.0.1:8000", f"127.0.0.1:{node.port}")
    with running_nginx(f"server {{ listen 80; {site} }}", tmp_path) as client:
        statuses = [_request(client.base_url.port or 80, "/alias", headers) for headers in _UPGRADES]
    assert statuses == [200] * len(_UPGRADES)
    assert [_upgrades(request.headers) for request in node.requests] == [[]] * len(statuses)


def test_caddy_of_guide_passes_no_upgrade_to_node(node: RecordingServer, tmp_path: Path) -> None:
    port = free_port()
    with running_caddy(tmp_path, node.port, port) as root:
        statuses = [https_get("go.example.com", "/alias", port, root, headers).status for headers in _UPGRADES]
    assert statuses == [200] * len(_UPGRADES)
    requests = [request for request in node.requests if request.path == "/alias"]
    assert [_upgrades(request.headers) for request in requests] == [[]] * len(statuses)


@pytest.mark.parametrize("name", BALANCERS)
def test_load_balancer_passes_host_of_target(name: str, node: RecordingServer, tmp_path: Path) -> None:
    with _balancer(name, node, tmp_path) as port:
        for target in ("http://other.example/alias", f"http://{HOST}@other.example/alias", "/alias"):
            with socket.create_connection(("127.0.0.1", port), 60) as client:
                client.sendall(f"GET {target} HTTP/1.1\r\nHost: {HOST}:8080\r\nConnection: close\r\n\r\n".encode())
                while client.recv(65536):
                    pass
    hosts = [request.headers["Host"] for request in node.requests if request.path == "/alias"]
    assert hosts[-1] == f"{HOST}:8080"
    assert set(hosts[:-1]) <= {"other.example"}


@pytest.mark.parametrize("name", BALANCERS)
def test_load_balancer_shares_connections_among_clients(name: str, node: RecordingServer, tmp_path: Path) -> None:
    with _balancer(name, node, tmp_path) as port:
        clients = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(8)]
        for _ in range(4):
            for number, client in enumerate(clients):
                client.request("GET", f"/alias?client={number}", headers={"Host": HOST})
                client.getresponse().read()
        for client in clients:
            client.close()
    users: dict[int, set[str]] = {}
    for request in node.requests:
        users.setdefault(request.client_port, set()).add(request.path[-1])
    assert max(map(len, users.values())) > 1


@pytest.mark.parametrize("name", BALANCERS)
def test_abandoned_uploads_take_no_node_out_of_service(name: str, node: RecordingServer, tmp_path: Path) -> None:
    stop = threading.Event()
    abandoned = threading.Semaphore(0)

    def abandon(port: int) -> None:
        while not stop.is_set():
            with socket.create_connection(("127.0.0.1", port), 60) as client:
                head = f"POST /api/files/upload/a.bin HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 100000\r\n\r\n"
                client.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )  # as after a lost network
                client.sendall(head.encode() + b"x" * 20_000)
                stop.wait(0.05)
            abandoned.release()

    with _balancer(name, node, tmp_path) as port:
        thread = threading.Thread(target=abandon, args=(port,))
        thread.start()
        try:
            statuses = []
            for _ in range(10):
                assert abandoned.acquire(timeout=60)
                statuses.append(_request(port, "/api/url/add", {}))
        finally:
            stop.set()
            join(thread)
    assert statuses == [200] * 10
