"""Limits of HTTP connections: size and time of headers, pipelined requests, connections per network, shutdown."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.protocol import ProtocolClient, protocol_client
from tests.support.server import serving
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.http.connection import HEADER_SECONDS, MAX_HEADER_BYTES, MAX_HEADERS

START = b"GET /missing HTTP/1.1\r\nHost: x\r\n"
POST_START = b"POST /missing HTTP/1.1\r\nHost: x\r\n"
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n"


@pytest.fixture
def client(settings: Settings, database: Database) -> Iterator[ProtocolClient]:
    """An application with one hot link, /spring."""
    with protocol_client(settings, database) as client:
        client.add_link("spring")
        client.request(b"GET /spring HTTP/1.1\r\nHost: localhost\r\n\r\n")
        yield client


@pytest.mark.parametrize(
    "pieces",
    [
        [START + b"X: " + b"x" * MAX_HEADER_BYTES + b"\r\n\r\n"],
        [START, b"X: ", *[b"x" * 1000] * 70],
        [b"GET /" + b"x" * (MAX_HEADER_BYTES + 1) + b" HTTP/1.1\r\n\r\n"],
        [b"GET /", *[b"x" * 1000] * 70],
        [START, *[b"X: " + b"x" * 5000 + b"\r\n"] * 14, b"\r\n"],
        [START + b"X: y\r\n" * MAX_HEADERS + b"\r\n"],
        [POST_START + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", *[b"X: " + b"x" * 5000 + b"\r\n"] * 20],
    ],
    ids=["one header", "one header in pieces", "path", "path in pieces", "many headers", "count", "trailers"],
)
def test_too_large_headers_return_431(client: ProtocolClient, pieces: list[bytes]) -> None:
    pipe = client.connect()
    client.send(pipe, pieces)
    assert pipe.receive().startswith(TOO_LARGE)
    assert pipe.is_closing()


def test_headers_within_limits_are_accepted(client: ProtocolClient) -> None:
    headers = b"X: y\r\n" * (MAX_HEADERS - 2) + b"X: " + b"x" * (MAX_HEADER_BYTES - 1000) + b"\r\n\r\n"
    assert client.request(START + headers).startswith(b"HTTP/1.1 404 ")


def test_headers_are_counted_per_request(client: ProtocolClient) -> None:
    pipe = client.connect()
    for _ in range(10):
        client.send(pipe, [START, b"X: " + b"x" * 10_000, b"\r\n\r\n"])
        assert pipe.receive().startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize("drip", [b"X: y\r\n", b"x"])
def test_slow_headers_are_refused_with_408(client: ProtocolClient, drip: bytes) -> None:
    pipe = client.connect()
    client.send(pipe, [START])
    for _ in range(2 * HEADER_SECONDS):
        client.send(pipe, [drip])
        client.wait(1)
    assert pipe.receive().startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert pipe.is_closing()


def test_connection_with_blank_lines_only_is_closed(client: ProtocolClient) -> None:
    pipe = client.connect()
    for _ in range(HEADER_SECONDS):
        client.send(pipe, [b"\r\n"])
        client.wait(1)
    assert pipe.is_closing()


def test_too_many_pipelined_requests_close_the_connection(client: ProtocolClient) -> None:
    pipe = client.connect()
    client.send(pipe, [(START + b"\r\n") * 1000])
    assert pipe.is_closing()


def test_new_connection_is_answered_after_shutdown_began(client: ProtocolClient) -> None:
    for request in (START + b"\r\n", b"GET /spring HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        pipe = client.connect()
        assert pipe.protocol is not None
        pipe.protocol.shutdown()
        client.wait(1)
        assert not pipe.is_closing()
        client.send(pipe, [request])
        assert b"connection: close\r\n" in pipe.receive()
        assert pipe.is_closing()


def test_new_connection_without_request_is_closed_after_shutdown(client: ProtocolClient) -> None:
    pipe = client.connect()
    assert pipe.protocol is not None
    pipe.protocol.shutdown()
    client.wait(6)
    assert pipe.is_closing()


@pytest.mark.parametrize("path", [b"missing", b"spring"])
def test_used_connection_is_closed_soon_after_shutdown(client: ProtocolClient, path: bytes) -> None:
    pipe = client.connect()
    client.send(pipe, [b"GET /" + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"])
    assert pipe.protocol is not None
    pipe.protocol.shutdown()
    assert not pipe.is_closing()  # a request can be on its way
    client.wait(0.2)
    assert pipe.is_closing()


def test_connections_of_one_network_are_limited(tmp_path: Path) -> None:
    limit = ("prlimit", "--nofile=512:512")  # one network gets a quarter
    with serving(tmp_path, command_prefix=limit) as server, ExitStack() as stack:
        address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
        connections = [stack.enter_context(socket.create_connection(address)) for _ in range(200)]
        assert sum(_is_answered(connection) for connection in connections) <= 128
        with socket.create_connection(address, source_address=("127.0.0.2", 0)) as other:
            assert _is_answered(other)


def test_new_connection_is_answered_while_half_requests_use_all_descriptors(tmp_path: Path) -> None:
    limit = ("prlimit", "--nofile=512:512")
    with serving(tmp_path, command_prefix=limit) as server, ExitStack() as stack:
        address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
        for number in range(600):
            source = (f"127.0.1.{1 + number % 6}", 0)  # so many networks that none reaches its own limit
            half = stack.enter_context(socket.create_connection(address, source_address=source))
            half.sendall(START)
        for number in range(20):
            with socket.create_connection(address, source_address=(f"127.0.2.{number + 1}", 0)) as other:
                assert _is_answered(other)


def _is_answered(connection: socket.socket) -> bool:
    """Return whether a request on the connection gets a response."""
    try:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        return connection.recv(100).startswith(b"HTTP/1.1 200 ")
    except (BrokenPipeError, ConnectionResetError):
        return False


@pytest.mark.parametrize(
    "hosts",
    [
        "",
        "Host: go.localhost:8000\r\nHost: go.localhost:8000\r\n",
        "Host: go.localhost:8000\r\nHost: evil.example\r\n",
        "Host: go.localhost:8000\r\nhost: evil.example\r\n",
        "Host: own@evil.example\r\n",
        "Host: go.localhost:8000@evil.example\r\n",
        "Host: go.localhost:8000/\r\n",
        "Host: go.localhost:80:80\r\n",
        "Host: go.localhost:8000, evil.example\r\n",
        "Host: go.localhost evil.example\r\n",
        "Host: \r\n",
        "Host: [::1\r\n",
        "Host: go.localhost;x\r\n",
    ],
)
@pytest.mark.parametrize("path", ["/spring", "/healthz", "/api/account", "/dashboard"])
def test_unclear_host_returns_400(client: ProtocolClient, hosts: str, path: str) -> None:
    before = client.worker_state.hits
    response = client.request(f"GET {path} HTTP/1.1\r\n{hosts}\r\n".encode())
    assert response.startswith(b"HTTP/1.1 400 ")
    assert b"content-security-policy: default-src 'none'; sandbox\r\n" in response
    assert client.worker_state.hits == before


@pytest.mark.parametrize(
    "host", ["localhost", "go.localhost:8000", "GO.LOCALHOST.", "127.0.0.1:1", "[::1]:8000", "a_b"]
)
def test_clear_host_is_accepted(client: ProtocolClient, host: str) -> None:
    assert client.request(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).startswith(b"HTTP/1.1 200 ")


def test_request_without_host_is_accepted_from_http_1_0_only(client: ProtocolClient) -> None:
    old = b"GET /spring HTTP/1.0\r\n\r\n"
    assert client.request(old).startswith(b"HTTP/1.1 302 ")
    assert client.request(old.replace(b"1.0", b"1.1")).startswith(b"HTTP/1.1 400 ")


def test_real_server_isolates_errors(tmp_path: Path) -> None:
    with serving(tmp_path, base_url="https://go.example.com") as server:
        headers = server.call("GET", "/robots.txt", headers={"Host": "go.example.com"}).headers
        assert headers["strict-transport-security"] == "max-age=31536000"
        assert headers["content-security-policy"] == "default-src 'none'; sandbox"
