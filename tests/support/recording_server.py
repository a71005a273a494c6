"""A node that records the requests it gets, and answers each with 200."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.threads import in_thread


@dataclass(frozen=True)
class RecordedRequest:
    """A request. `client_port` is another one for each connection."""

    path: str
    headers: Message
    client_port: int


@dataclass
class RecordingServer:
    """Complete requests so far, without health checks."""

    port: int
    requests: list[RecordedRequest] = field(default_factory=list)


@contextmanager
def recording_server() -> Iterator[RecordingServer]:
    """Run a server until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            try:
                self.close_connection = len(self.rfile.read(length)) < length
            except ConnectionError:
                self.close_connection = True
            if self.close_connection:
                return
            if self.path != "/healthz":
                recorder.requests.append(RecordedRequest(self.path, self.headers, self.client_address[1]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    recorder = RecordingServer(server.server_port)
    with in_thread(server):
        yield recorder
