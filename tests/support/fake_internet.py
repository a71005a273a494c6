"""The world outside, kept on this machine: names that resolve, and public addresses with real servers behind them."""

import re
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

Answer = Callable[[bytes], Iterable[bytes]]
"""From the head of a request to the bytes of the answer, piece by piece."""
_TLS = b"\x16"
PUBLIC = "93.184.216.34"


class Outside:
    """What the resolver and the network of this process know. Whatever was not named here does not exist."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {}
        self.doors: dict[str, tuple[str, int]] = {}
        self.reached: list[str] = []

    def has(self, name: str, *addresses: str) -> None:
        """From now on the DNS knows the name."""
        self.names[name] = list(addresses)


def ok(body: bytes, *headers: bytes) -> bytes:
    """A whole answer of 200."""
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", body])


def empty(status: int) -> bytes:
    """A whole answer of that status, with nothing in it."""
    return b"HTTP/1.1 %d So\r\nContent-Length: 0\r\n\r\n" % status


def moved(location: bytes) -> bytes:
    """A whole redirect."""
    return b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n" % location


def _whole(connection: socket.socket, head: bytes) -> bytes:
    """The request with its body, where it says that it has one."""
    said = re.search(rb"(?i)\r\ncontent-length: *([0-9]+)\r\n", head)
    length = head.find(b"\r\n\r\n") + 4 + int(said[1]) if said else 0
    while len(head) < length and (more := connection.recv(65536)):
        head += more
    return head


@contextmanager
def server(answer: Answer, *, keeps_alive: bool = False) -> Iterator[tuple[str, int]]:
    """A server on loopback; yields where it listens. It hangs up after an answer unless it `keeps_alive`."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                while head := self._head():
                    self._say(answer(_whole(self.request, head)))
                    if not keeps_alive:
                        break
            except OSError:
                pass  # the client left in the middle, which is what some tests want

        def _head(self) -> bytes:
            head = b""
            while b"\r\n\r\n" not in head and not head.startswith(_TLS) and (more := self.request.recv(65536)):
                head += more
            return head

        def _say(self, pieces: Iterable[bytes]) -> None:
            for piece in pieces:
                self.request.sendall(piece)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler, bind_and_activate=True) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield ("127.0.0.1", int(listening.server_address[1]))
        finally:
            listening.shutdown()
            thread.join()


@contextmanager
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """Replaces the resolver and the way out of this machine, and nothing of waypost."""
    outside = Outside()
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def resolving(host: Any, port: Any, *rest: Any, **named: Any) -> Any:
        if (found := outside.names.get(host)) is not None:
            return [one for address in found for one in look_up(address, port, *rest, **named)]
        return look_up(host, port, *rest, **{**named, "flags": socket.AI_NUMERICHOST})

    def connecting(self: socket.socket, address: Any) -> None:
        outside.reached.append(address[0])
        connect(self, outside.doors.get(address[0], address))

    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", resolving)
        patch.setattr(socket.socket, "connect", connecting)
        yield outside
