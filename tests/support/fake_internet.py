"""A fake internet on this machine: names that resolve, and public addresses that are served by local servers."""

import re
import socket
import socketserver
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.threads import in_thread

Responder = Callable[[bytes], Iterable[bytes]]
"""Maps the head of a request to the pieces of the response."""
_TLS = b"\x16"
_TLS_HEADER = 5  # bytes: kind, version, length
PUBLIC = "93.184.216.34"


class FakeInternet:
    """The names and servers that this process can reach. All others do not exist."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {}
        self.routes: dict[str, tuple[str, int]] = {}
        """The local server behind each public address."""
        self.connections: list[str] = []
        """The addresses to which connections were opened."""

    def add_host(self, name: str, *addresses: str) -> None:
        """Add a name to the DNS."""
        self.names[name] = list(addresses)


def ok(body: bytes, *headers: bytes) -> bytes:
    """Return a complete response with status 200."""
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", body])


def empty(status: int) -> bytes:
    """Return a complete response without a body."""
    return b"HTTP/1.1 %d So\r\nContent-Length: 0\r\n\r\n" % status


def moved(location: bytes) -> bytes:
    """Return a complete redirect."""
    return b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n" % location


def _is_complete(head: bytes) -> bool:
    """Return whether a head, or the first record of TLS, is complete: unread data resets the connection."""
    if head.startswith(_TLS):
        return len(head) >= _TLS_HEADER and len(head) >= _TLS_HEADER + int.from_bytes(head[3:_TLS_HEADER])
    return b"\r\n\r\n" in head


def _read_body(connection: socket.socket, head: bytes) -> bytes:
    """Return the request with its body, if it has one."""
    match = re.search(rb"(?i)\r\ncontent-length: *([0-9]+)\r\n", head)
    length = head.find(b"\r\n\r\n") + 4 + int(match[1]) if match else 0
    while len(head) < length and (more := connection.recv(65536)):
        head += more
    return head


@contextmanager
def server(respond: Responder, *, keeps_alive: bool = False) -> Iterator[tuple[str, int]]:
    """Start a server on loopback and yield its address. Connections close after a response unless `keeps_alive`."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                while head := self._read_head():
                    self._send(respond(_read_body(self.request, head)))
                    if not keeps_alive:
                        break
            except OSError:
                pass  # the client disconnected early, as in some tests

        def _read_head(self) -> bytes:
            head = b""
            while not _is_complete(head) and (more := self.request.recv(65536)):
                head += more
            return head

        def _send(self, pieces: Iterable[bytes]) -> None:
            for piece in pieces:
                self.request.sendall(piece)

    listening = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    with in_thread(listening):
        yield ("127.0.0.1", int(listening.server_address[1]))


@pytest.fixture
def internet(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeInternet]:
    """Replace the resolver and `connect` of the socket module."""
    internet = FakeInternet()
    connect, getaddrinfo = socket.socket.connect, socket.getaddrinfo

    def fake_getaddrinfo(host: Any, port: Any, *rest: Any, **named: Any) -> Any:
        if (addresses := internet.names.get(host)) is not None:
            return [info for address in addresses for info in getaddrinfo(address, port, *rest, **named)]
        return getaddrinfo(host, port, *rest, **{**named, "flags": socket.AI_NUMERICHOST})

    def fake_connect(self: socket.socket, address: Any) -> None:
        internet.connections.append(address[0])
        connect(self, internet.routes.get(address[0], address))

    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", fake_getaddrinfo)
        patch.setattr(socket.socket, "connect", fake_connect)
        yield internet


@pytest.fixture
def framed_site(internet: FakeInternet) -> Iterator[FakeInternet]:
    """Serve `framed.example`, which can be framed."""
    with server(lambda _head: [ok(b"x", b"Content-Type: text/html")]) as internet.routes[PUBLIC]:
        internet.add_host("framed.example", PUBLIC)
        yield internet
