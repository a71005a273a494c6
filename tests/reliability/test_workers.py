"""Several workers on one port: distribution of connections, restart by SIGHUP, and a port in use."""

import signal
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from tests.support.load import until
from tests.support.server import Server, processes, serving

_SECONDS = 60


def _workers(server: Server) -> set[int]:
    return {worker.pid for worker in processes(server)[0]}


def _busy_workers(server: Server) -> set[int]:
    """Return the workers that hold connections of 30 concurrent clients."""
    with ExitStack() as stack:
        for visitor in [stack.enter_context(closing(_client(server))) for _ in range(30)]:
            assert _status(visitor) == 200
        return {pid for pid in _workers(server) if psutil.Process(pid).net_connections("tcp4")[1:]}


def _client(server: Server) -> HTTPConnection:
    return HTTPConnection("127.0.0.1", urlsplit(server.url).port, timeout=_SECONDS)


def _status(client: HTTPConnection) -> int:
    client.request("GET", "/healthz")
    response = client.getresponse()
    response.read()
    return response.status


def _listens(pid: int) -> bool:
    """Return whether a worker accepts connections."""
    return any(connection.status == psutil.CONN_LISTEN for connection in psutil.Process(pid).net_connections("tcp4"))


@pytest.fixture(scope="module", params=[1, 2], ids=["one worker", "two workers"])
def server(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server with one or two workers."""
    with serving(tmp_path_factory.mktemp("node"), workers=request.param) as server:
        yield server


def test_connections_are_distributed_to_all_workers(server: Server) -> None:
    until(lambda: _busy_workers(server) == _workers(server))


def test_sighup_replaces_workers_without_failed_request(server: Server) -> None:
    before, stop, failures = _workers(server), threading.Event(), list[str]()

    def visit() -> None:
        while not stop.is_set():
            try:
                with closing(_client(server)) as visitor:
                    if (status := _status(visitor)) != 200:
                        failures.append(str(status))
            except (OSError, HTTPException) as error:
                failures.append(repr(error))

    visiting = threading.Thread(target=visit)
    visiting.start()
    try:
        server.process.send_signal(signal.SIGTTIN)  # ignored: the number of workers is a setting
        server.process.send_signal(signal.SIGHUP)
        until(lambda: len(_workers(server)) == len(before) and not _workers(server) & before)
        # The ingester is replaced last. It counts as a worker until it holds its lock.
        until(lambda: _busy_workers(server) == _workers(server) and len(_workers(server)) == len(before))
    finally:
        stop.set()
        visiting.join(_SECONDS)
    assert not failures


def test_start_on_port_in_use_fails(server: Server, tmp_path: Path) -> None:
    port = server.url.rpartition(":")[2]
    command = [*server.process.args, "--port", port, "--workers", "2"]  # type: ignore[misc]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert result.returncode == 1, result
    assert "Address already in use" in result.stdout + result.stderr


def test_accepted_connection_is_answered_after_sighup(server: Server) -> None:
    before = _workers(server)
    address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
    connections = deque[socket.socket]()

    def connect_until_a_worker_stops() -> bool:
        connections.append(stack.enter_context(socket.create_connection(address, _SECONDS)))
        if len(connections) > 5:  # idle connections are closed after five seconds, and a check takes long under load
            connections.popleft().close()
        return any(not _listens(pid) for pid in before)

    with ExitStack() as stack:
        server.process.send_signal(signal.SIGHUP)
        until(connect_until_a_worker_stops)
        for connection in connections:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        answers = [connection.recv(100)[:12] for connection in connections]
    assert answers == [b"HTTP/1.1 200"] * len(connections)
