"""Servers of imports that never give what they promise. Their requests end with the block that started them."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.threads import in_thread

_TICK_SECONDS = 0.2


@dataclass
class HostileServer:
    """A running server: its URL, the paths of all requests, and the number of requests that are not answered yet."""

    url: str = ""
    requests: list[str] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)
    _open: set[int] = field(default_factory=set)

    @property
    def open_requests(self) -> int:
        return len(self._open)

    @property
    def address(self) -> str:
        """The host and port, as in WAYPOST_IMPORT_HOSTS."""
        return self.url.removeprefix("http://")


Behavior = Callable[[HostileServer, BaseHTTPRequestHandler], None]


def limiting(seconds: int) -> Behavior:
    """Answer every request with 429, and the time to wait."""

    def answer(_: HostileServer, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(429)
        handler.send_header("Retry-After", str(seconds))
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def trickling(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    """Send a byte now and then, until the client disconnects."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not server.stopped.wait(_TICK_SECONDS):
        handler.wfile.write(b" ")


def silent(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    """Answer nothing, until the client disconnects."""
    handler.connection.settimeout(_TICK_SECONDS)
    while not server.stopped.is_set():
        with suppress(TimeoutError):
            if not handler.connection.recv(1):
                return


def endless(_: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    """Answer as a Shlink server with more pages, of which none has a link."""
    body = json.dumps({"shortUrls": {"data": [], "pagination": {"pagesCount": 10**9}}}).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def hostile_server(behavior: Behavior) -> Iterator[HostileServer]:
    """Serve on a free port of this machine."""
    hostile = HostileServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hostile.requests.append(self.path)
            hostile._open.add(id(self))
            try:
                with suppress(OSError):  # the client has disconnected
                    behavior(hostile, self)
            finally:
                hostile._open.discard(id(self))

        def log_message(self, *args: object) -> None:
            """Keep the output of the tests clean."""

    class Listener(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Listener(("127.0.0.1", 0), Handler)
    hostile.url = f"http://127.0.0.1:{server.server_port}"
    with in_thread(server):
        try:
            yield hostile
        finally:
            hostile.stopped.set()
