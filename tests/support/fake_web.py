"""Everybody else's sites, for a browser: whatever the name, by http or https, they are one server on loopback."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import MSG_PEEK
from typing import Any

import trustme

from tests.support.files import PNG

STAY = "x-stay"
"""The header of a request whose sender has to stay where it is: the answer is that there is nothing new to see."""
_TLS = b"\x16"
_SILENCE_SECONDS = 30.0
_HTML = b"<!doctype html><html lang=en><title>There</title><h1>The target</h1>"
_SCRIPT = b"window.UET = function () { this.push = function () {}; };"  # what one of them cannot start without
_ANSWERS = {
    "document": ("text/html", _HTML),
    "iframe": ("text/html", _HTML),
    "image": ("image/png", PNG),
    "script": ("text/javascript", _SCRIPT),
}


@contextmanager
def everybody() -> Iterator[str]:
    """Where they all are, as host and port. Their certificates are signed by nobody."""
    with _Sites() as sites:
        thread = threading.Thread(target=sites.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{sites.server_port}"
        finally:
            sites.shutdown()
            thread.join()


class _Sites(ThreadingHTTPServer):
    daemon_threads = False  # whoever closes it waits until all of them have ended

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Site)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("other.example").configure_cert(self._tls)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        request.settimeout(_SILENCE_SECONDS)
        try:
            if request.recv(1, MSG_PEEK) == _TLS:
                request = self._tls.wrap_socket(request, server_side=True)
        except OSError:
            request.close()  # the browser left
        else:
            super().process_request_thread(request, client_address)


class _Site(BaseHTTPRequestHandler):
    timeout = _SILENCE_SECONDS
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        # By http a browser does not say what it is for; there only frames are asked for.
        kind = self.headers.get("Sec-Fetch-Dest") or ("iframe" if "html" in self.headers.get("Accept", "") else "")
        if kind not in _ANSWERS or (kind == "document" and STAY in self.headers):
            self.send_response(204)
            self.end_headers()
            return
        said, body = _ANSWERS[kind]
        self.send_response(200)
        self.send_header("Content-Type", said)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def log_message(self, *told: Any) -> None:
        """Nothing."""
