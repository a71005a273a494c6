"""In-process client for the whole service, faster than Starlette's test client."""

import threading
from functools import cached_property, partial
from typing import Any

import anyio
import httpx2
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message

from tests.support.compact import compact
from tests.support.threads import join
from waypost.http.server_sent_events import DRAINING

_BACKGROUND = ("import", "export")
"""Names of threads that continue after the response to their request."""


class AsgiClient(TestClient):
    """Starlette's test client with one thread switch per request instead of eight.

    The event loop of the context manager handles requests; clients from `another` share it.
    """

    def __init__(
        self,
        app: ASGIApp,
        base_url: str = "http://go.localhost:8000",
        *,
        address: str = "testclient",
        raises: bool = True,
    ) -> None:
        super().__init__(app, base_url, follow_redirects=False)
        self.address = address
        self._transport = _Transport(self, address, raises=raises)

    def __exit__(self, *error: object) -> None:
        """Wait for imports and exports, so that they do not run in the next test, and stop the service."""
        self.join_background()
        super().__exit__(*error)

    def join_background(self) -> None:
        """Wait for imports and exports."""
        join(*(thread for thread in threading.enumerate() if thread.name in _BACKGROUND))

    def another(self, *, raises: bool = True) -> "AsgiClient":
        """Return a client of the same service without the cookies of this one."""
        other = AsgiClient(self.app, str(self.base_url), address=self.address, raises=raises)
        other.portal = self.portal
        return other


class _Response(httpx2.Response):
    """A response whose text, if it is HTML, has no whitespace between tags; `content` is as sent."""

    @cached_property
    def text(self) -> str:
        is_html = self.headers.get("content-type", "").startswith("text/html")
        return compact(super().text) if is_html else super().text


class _Transport(httpx2.BaseTransport):
    def __init__(self, client: TestClient, address: str, *, raises: bool) -> None:
        self._client = client
        self._address = address
        self._raises = raises

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": request.method,
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.partition(b"?")[0],
            "root_path": "",
            "query_string": url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": (self._address, 50_000),
            "server": (url.host, url.port or {"http": 80, "https": 443}[url.scheme]),
            "state": self._client.app_state.copy(),
            DRAINING: True,  # live responses end at once
        }
        handle = partial(_handle, self._client.app, scope, request.read(), raises=self._raises)
        with self._client._portal_factory() as portal:
            response: httpx2.Response = portal.call(handle)
        response.request = request
        return response


async def _handle(app: ASGIApp, scope: dict[str, Any], body: bytes, *, raises: bool) -> httpx2.Response:
    messages: list[Message] = [{"type": "http.request", "body": body}]
    start: Message = {}
    pieces: list[bytes] = []
    is_complete = anyio.Event()

    async def receive() -> Message:
        if messages:
            return messages.pop()
        await is_complete.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            pieces.append(bytes(message.get("body", b"")))
            if not message.get("more_body", False):
                is_complete.set()

    await app(scope, receive, send)
    is_visit = not scope["path"].startswith(("/api", "/dashboard", "/mcp"))
    assert not (raises and is_visit and start["status"] == 500), "an internal error; the log has its traceback"
    assert is_complete.is_set(), "the response is incomplete"
    content = b"" if scope["method"] == "HEAD" else b"".join(pieces)
    return _Response(start["status"], headers=start["headers"], stream=httpx2.ByteStream(content))
