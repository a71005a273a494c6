"""Fake websites for a browser: one local server answers for all host names, with HTTP and HTTPS."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import MSG_PEEK
from typing import Any

import trustme

from tests.support.files import PNG
from tests.support.threads import in_thread

STAY = "x-stay"
"""Header of a request that is answered with 204, so that the browser stays on its page."""
_TLS = b"\x16"
_TIMEOUT_SECONDS = 30.0
_HTML = b"<!doctype html><html lang=en><title>There</title><h1>The target</h1>"
_SCRIPT = b"window.UET = function () { this.push = function () {}; };"  # one provider's script requires it
_ANSWERS = {
    "document": ("text/html", _HTML),
    "iframe": ("text/html", _HTML),
    "image": ("image/png", PNG),
    "script": ("text/javascript", _SCRIPT),
}


@contextmanager
def running_websites() -> Iterator[str]:
    """Start the server and yield its host and port. Its certificates are not trusted."""
    sites = _Sites()
    with in_thread(sites):
        yield f"127.0.0.1:{sites.server_port}"


class _Sites(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for all threads

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Site)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("other.example").configure_cert(self._tls)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        request.settimeout(_TIMEOUT_SECONDS)
        try:
            if request.recv(1, MSG_PEEK) == _TLS:
                request = self._tls.wrap_socket(request, server_side=True)
        except OSError:
            request.close()  # the browser disconnected
        else:
            super().process_request_thread(request, client_address)


class _Site(BaseHTTPRequestHandler):
    timeout = _TIMEOUT_SECONDS
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        # Without HTTPS browsers send no Sec-Fetch-Dest; there only frames are requested.
        kind = self.headers.get("Sec-Fetch-Dest") or ("iframe" if "html" in self.headers.get("Accept", "") else "")
        if kind not in _ANSWERS or (kind == "document" and STAY in self.headers):
            self.send_response(204)
            self.end_headers()
            return
        media_type, body = _ANSWERS[kind]
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def log_message(self, *args: Any) -> None:
        """Log nothing."""
