"""The conformance suite and the inspector of the Model Context Protocol, from the npm registry."""

import http.client
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.support.npm_tools import modules, node, run
from tests.support.threads import in_thread

_SECONDS = 30


def check_conformance(url: str, scenario: str) -> str:
    """Run a scenario of the conformance suite; return its output. The exit code must be 0."""
    program = modules() / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    return run(node(), program, "server", "--url", url, "--scenario", scenario)


def inspect(url: str, key: str, method: str, *options: str) -> dict[str, Any]:
    """Run the command line of the inspector; return what it prints. The exit code must be 0."""
    package = modules() / "@modelcontextprotocol" / "inspector"
    program = package / "clients" / "launcher" / "build" / "index.js"
    answer: dict[str, Any] = json.loads(run(node(), program, "--cli", *_arguments(url, key, method, *options)))
    return answer


def inspect_each(url: str, key: str, method: str, options: Iterable[Sequence[str]]) -> list[dict[str, Any]]:
    """Run the command line of the inspector with each of the options, in one process; return what the runs print.

    Each run has a connection of its own. All must succeed.
    """
    modules()
    runs = json.dumps([_arguments(url, key, method, *each) for each in options])
    output = run(node(), "inspect.mjs", text=runs)
    return [json.loads(json.loads(line)) for line in output.splitlines()]


def _arguments(url: str, key: str, method: str, *options: str) -> list[str]:
    target = [url, "--transport", "http", "--header", f"Authorization: Bearer {key}"]
    return [*target, "--method", method, *options]


@contextmanager
def adding_key(url: str, key: str) -> Iterator[str]:
    """Serve a proxy that adds an API key to each request, for clients that cannot send one."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Proxy, urlsplit(url).port or 80, key))
    with in_thread(server):
        yield f"http://localhost:{server.server_port}"


class _Proxy(BaseHTTPRequestHandler):
    def __init__(self, port: int, key: str, *arguments: Any) -> None:
        self._port = port
        self._key = key
        super().__init__(*arguments)

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {**dict(self.headers.items()), "Authorization": f"Bearer {self._key}"}
        with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=_SECONDS)) as connection:
            connection.request(self.command, self.path, body, headers)
            response = connection.getresponse()
            content = response.read()
        with suppress(ConnectionError):  # a client that has its answer can close the stream first
            self.send_response(response.status)
            self.send_header("Content-Type", response.headers.get("Content-Type", "text/plain"))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def do_GET(self) -> None:
        """Forward a request for a stream."""
        self._forward()

    def do_POST(self) -> None:
        """Forward a message."""
        self._forward()

    def log_message(self, *args: Any) -> None:
        """Log nothing."""
