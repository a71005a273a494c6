"""API workers: they receive connections whose first request is for the API or the dashboard, and keep them."""

import json
import os
import select
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from tests.support.load import add_ana, until
from tests.support.server import Server, processes, serving
from waypost.db.database import Database
from waypost.http import connection_handoff

_SECONDS = 60
_LINK = {"url": "https://example.com/page"}


@pytest.fixture(scope="module", params=[("sqlite", 1), ("postgresql", 2)], ids=["sqlite-1", "postgresql-2"])
def variant(request: pytest.FixtureRequest) -> tuple[str, int]:
    """The database, and the number of workers, and of API workers.

    Two of each on SQLite are tested in test_crash.py, one of each on PostgreSQL in test_upgrades.py.
    """
    database, mode = request.param
    return database, mode


@pytest.fixture(scope="module")
def mode(variant: tuple[str, int]) -> int:
    """The number of workers, and of API workers."""
    return variant[1]


@pytest.fixture(scope="module")
def database_url(
    variant: tuple[str, int], request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The URL of a database with this version's tables, which the tests of a mode share."""
    if variant[0] == "sqlite":
        path = tmp_path_factory.mktemp("database") / "waypost.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    with request.getfixturevalue("postgres_databases").borrow() as url:
        yield url


@pytest.fixture(scope="module")
def key(database_url: str) -> str:
    """The API key of Ana."""
    with closing(Database(database_url)) as database:
        return database.write(add_ana)


@pytest.fixture(scope="module")
def shared_server(database_url: str, key: str, mode: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for all tests of a mode. The last one stops it."""
    folder = tmp_path_factory.mktemp("node")
    with serving(folder, database_url=database_url, workers=mode, api_workers=mode) as server:
        yield server


@pytest.fixture
def server(shared_server: Server, mode: int) -> Server:
    """The shared server, once all of its processes have started again."""
    until(lambda: _has_started(shared_server, mode))
    return shared_server


def _has_started(server: Server, count: int) -> bool:
    """Return whether the workers listen and the ingester holds its lock, by which tests know them."""
    workers, ingesters = processes(server)
    api_workers = _api_workers(server)
    return (len(workers), len(api_workers), len(ingesters)) == (2 * count, count, 1)


def _api_workers(server: Server) -> set[int]:
    """Return the workers without a listener."""
    return {worker.pid for worker in processes(server)[0] if not _states(worker, psutil.CONN_LISTEN)}


def _states(worker: psutil.Process, state: str) -> list[int]:
    """Return the remote ports of a worker's connections in a state; none if it has just exited."""
    with suppress(psutil.Error):
        connections = worker.net_connections("tcp4")
        return [one.raddr.port if one.raddr else 0 for one in connections if one.status == state]
    return []


def _holders(server: Server, port: int) -> set[int]:
    """Return the workers that hold the connection of a client's port."""
    return {worker.pid for worker in processes(server)[0] if port in _states(worker, psutil.CONN_ESTABLISHED)}


def _accepted_ports(server: Server) -> set[int]:
    """Return the clients' ports of all connections that workers hold."""
    return {port for worker in processes(server)[0] for port in _states(worker, psutil.CONN_ESTABLISHED)}


def _client(server: Server) -> HTTPConnection:
    return HTTPConnection("127.0.0.1", urlsplit(server.url).port, timeout=_SECONDS)


def _add(server: Server, key: str, **fields: Any) -> dict[str, Any]:
    """Create a link with an alias that no other has; return the response's JSON."""
    link: dict[str, Any] = server.call("POST", "/api/url/add", key=key, json={**_LINK, **fields}).json()
    return link


def _status(client: HTTPConnection, path: str, key: str) -> int:
    client.request("GET", path, headers={"Authorization": f"Bearer {key}", "User-Agent": "curl/8"})
    response = client.getresponse()
    response.read()
    return response.status


def _connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), _SECONDS)


def _status_once_accepted(server: Server, connection: socket.socket) -> bytes:
    """Return the status of a request for /dashboard, sent again if too many waited at once on a busy machine."""
    status = connection.recv(65536)[9:12]
    while status == b"503":
        with _connect(server) as again:  # the other can have been idle for too long
            again.sendall(_request("/dashboard"))
            status = again.recv(65536)[9:12]
    return status


def _request(path: str, key: str = "", method: str = "GET", body: str = "") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key}"]
    lines += [f"Content-Length: {len(body)}"] if body else []
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def _until_closed(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def _priorities(process: psutil.Process) -> set[tuple[int, int]]:
    """Return the niceness and the scheduling policy of each thread of a process."""
    threads = [thread.id for thread in process.threads()]
    return {(os.getpriority(os.PRIO_PROCESS, thread), os.sched_getscheduler(thread)) for thread in threads}


def test_no_process_or_thread_has_another_priority(server: Server, key: str) -> None:
    for _ in range(20):  # through workers and API workers, so that each kind of thread runs
        server.call("POST", "/api/url/add", key=key, json=_LINK).raise_for_status()
        assert server.call("GET", "/healthz").status_code == 200
    every = [process for kind in processes(server) for process in kind]
    priorities = set[tuple[int, int]]().union(*map(_priorities, every))
    assert priorities == {(os.getpriority(os.PRIO_PROCESS, 0), os.SCHED_OTHER)}


@pytest.mark.parametrize(("path", "kind"), [("/api/urls", "api"), ("/dashboard", "api"), ("/{alias}", "other")])
def test_first_request_selects_the_process_of_a_connection(server: Server, key: str, path: str, kind: str) -> None:
    link = "/" + _add(server, key)["shorturl"].rpartition("/")[2]
    with closing(_client(server)) as client:
        statuses = [
            _status(client, later, key) for later in (path.format(alias=link[1:]), "/api/account", link, "/healthz")
        ]
        assert statuses[1:] == [200, 302, 200]
        port = client.sock.getsockname()[1]
        until(lambda: len(_holders(server, port)) == 1)  # the same process has answered all of them
        (holder,) = _holders(server, port)
    assert (holder in _api_workers(server)) == (kind == "api")


def test_clicks_of_api_workers_are_counted(server: Server, key: str) -> None:
    link = _add(server, key, clicklimit=5)
    statuses = []
    for path in ("/api/account", "/healthz") * 5:
        with closing(_client(server)) as client:
            _status(client, path, key)
            statuses.append(_status(client, "/" + link["shorturl"].rpartition("/")[2], key))
    assert sorted(statuses) == [302] * 5 + [410] * 5
    assert server.call("GET", f"/api/url/{link['id']}", key=key).json()["details"]["clicks"] == 5


def test_bodies_of_every_size_arrive(server: Server, key: str) -> None:
    for size in (1, 1000, 100_000, 200_000, 300_000, 5_000_000):
        content = bytes(n % 251 for n in range(1000)) * (size // 1000) or b"x"
        answer = (
            server.call("POST", f"/api/files/upload/{size}.bin", key=key, content=content).raise_for_status().json()
        )
        download = server.client.get(answer["shorturl"].replace("localhost", "127.0.0.1"))
        assert download.raise_for_status().content == content


def test_pipelined_and_divided_requests_are_answered_in_order(server: Server, key: str) -> None:
    pipelined = [_request("/api/account", key), _request("/healthz"), _request("/api/urls", key)]
    with _connect(server) as connection:
        connection.sendall(b"".join(pipelined) + b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = _until_closed(connection)
    positions = [answer.find(part) for part in (b'"username":"ana"', b'"status":"ok"', b'"urls"')]
    assert positions == sorted(positions)
    assert positions[0] > 0
    body = json.dumps(_LINK)
    request = _request("/api/url/add", key, "POST", body).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
    for cut in (2, 10, request.index(b"{") + 3):
        with _connect(server) as connection:
            connection.sendall(request[:cut])
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Event().wait(0.1)
            connection.sendall(request[cut:])
            assert b'"shorturl"' in _until_closed(connection)


def test_sighup_replaces_api_workers_without_failed_request(server: Server, key: str) -> None:
    before, stop, failures = _api_workers(server), threading.Event(), list[str]()

    def call() -> None:
        while not stop.is_set():
            try:
                with closing(_client(server)) as client:
                    if (status := _status(client, "/api/account", key)) != 200:
                        failures.append(str(status))
            except (OSError, HTTPException) as error:
                failures.append(repr(error))

    with ThreadPoolExecutor(4) as threads:
        for _ in range(4):
            threads.submit(call)
        try:
            server.process.send_signal(signal.SIGHUP)
            until(lambda: not any(map(psutil.pid_exists, before)))  # cheaper than the list of their connections
            until(lambda: len(_api_workers(server)) == len(before))
        finally:
            stop.set()
    assert not failures


def test_killed_api_worker_is_replaced_and_loses_no_waiting_connection(server: Server, key: str) -> None:
    before = _api_workers(server)
    for pid in before:
        psutil.Process(pid).suspend()
    with ExitStack() as stack:
        try:
            waiting = [stack.enter_context(_connect(server)) for _ in range(5)]
            for connection in waiting:
                connection.sendall(_request("/api/account", key))
            assert server.call("GET", "/healthz").status_code == 200  # the workers answer, and have handed all over
        finally:
            for pid in before:
                psutil.Process(pid).kill()
        assert all(connection.recv(65536).startswith(b"HTTP/1.1 200") for connection in waiting)
    assert not _api_workers(server) & before


def test_full_channel_leaves_connections_to_workers(server: Server) -> None:
    answers, stopped = select.poll(), [psutil.Process(pid) for pid in _api_workers(server)]
    for worker in stopped:
        worker.suspend()
    connections: list[socket.socket] = []
    with ExitStack() as stack:
        try:
            while not answers.poll(0) and len(connections) < 400:
                for _ in range(20):  # fewer than the requests that a worker accepts in every state
                    connections.append(stack.enter_context(_connect(server)))
                    answers.register(connections[-1], select.POLLIN)
                    # It needs no database, which a stopped worker may have locked.
                    connections[-1].sendall(_request("/dashboard"))
                assert server.call("GET", "/healthz").status_code == 200  # a worker has handed its connections over
            assert answers.poll(_SECONDS * 1000)
        finally:
            for worker in stopped:
                worker.resume()
        statuses = {_status_once_accepted(server, connection) for connection in connections}
    assert statuses == {b"303"}


def test_requests_before_a_stop_are_answered(server: Server, key: str) -> None:
    """The last test of a mode, because it stops the server."""
    with ExitStack() as stack:
        connections = [stack.enter_context(_connect(server)) for _ in range(50)]
        ports = {connection.getsockname()[1] for connection in connections}
        until(lambda: ports <= _accepted_ports(server))
        for connection in connections:
            connection.sendall(_request("/api/account", key))
        server.process.terminate()
        assert all(connection.recv(65536).startswith(b"HTTP/1.1 200") for connection in connections)
    assert server.process.wait(_SECONDS) == 0


def test_closed_channel_delivers_only_waiting_connections() -> None:
    channel = connection_handoff.open_channel()
    near, far = socket.socketpair()
    with near, far, channel.sender, channel.receiver:
        assert connection_handoff.send(channel, near.fileno(), b"early")
        connection_handoff.close(channel)
        assert not connection_handoff.send(channel, near.fileno(), b"late")
        handoff = connection_handoff.receive(channel)
        assert handoff is not None
        with handoff.connection:
            assert handoff.data == b"early"
        assert connection_handoff.receive(channel) is None


def test_channel_delivers_connections_in_order_and_refuses_long_data() -> None:
    channel = connection_handoff.open_channel()
    near, far = socket.socketpair()
    with near, far, channel.sender, channel.receiver:
        assert connection_handoff.receive(channel) is None
        assert not connection_handoff.send(channel, near.fileno(), b"x" * 1_000_000)
        assert connection_handoff.send(channel, near.fileno(), b"first")
        assert connection_handoff.send(channel, near.fileno(), b"second")
        for data in (b"first", b"second"):
            handoff = connection_handoff.receive(channel)
            assert handoff is not None
            assert handoff.data == data
            with handoff.connection as copy:
                copy.send(data)
            assert far.recv(100) == data
        assert connection_handoff.receive(channel) is None
