"""The whole service in process, quicker than through starlette's own client."""

from functools import partial
from typing import Any

import anyio
import httpx2
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message

from tests.support.compact import compact


class Inside(TestClient):
    """starlette's client, which would change threads eight times a request: this one does it once.

    As there, requests are answered by the loop of whoever entered it; `another` shares that loop.
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
        self._transport = _Transport(self, address, raises=raises)

    def another(self, *, raises: bool = True) -> "Inside":
        """Somebody else's, without the cookies of this one."""
        other = Inside(self.app, str(self.base_url), raises=raises)
        other.portal = self.portal
        return other


class _Response(httpx2.Response):
    """A response whose text, if it is HTML, has no whitespace between tags; `content` is as sent."""

    @property
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
        }
        work = partial(_answered, self._client.app, scope, request.read(), raises=self._raises)
        with self._client._portal_factory() as portal:
            answer: httpx2.Response = portal.call(work)
        answer.request = request
        return answer


async def _answered(app: ASGIApp, scope: dict[str, Any], body: bytes, *, raises: bool) -> httpx2.Response:
    to_come: list[Message] = [{"type": "http.request", "body": body}]
    start: Message = {}
    pieces: list[bytes] = []
    whole = anyio.Event()

    async def receive() -> Message:
        if to_come:
            return to_come.pop()
        await whole.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            pieces.append(bytes(message.get("body", b"")))
            if not message.get("more_body", False):
                whole.set()

    try:
        await app(scope, receive, send)
    except Exception:
        if raises or not whole.is_set():
            raise
    assert whole.is_set(), "the answer has no end"
    content = b"" if scope["method"] == "HEAD" else b"".join(pieces)
    return _Response(start["status"], headers=start["headers"], stream=httpx2.ByteStream(content))
