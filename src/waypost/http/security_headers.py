"""Security headers for every response that has no policy of its own: nothing runs and no origin is shared (ADR 8)."""

from collections.abc import Callable

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NOSNIFF = {"X-Content-Type-Options": "nosniff"}
ISOLATION = {
    **NOSNIFF,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""For responses other than pages, such as JSON and errors: a window that opens one cannot access our origin."""
HSTS = "max-age=31536000"
"""Strict-Transport-Security of hosts that are https only."""
_NOT_MODIFIED = 304  # its headers would replace those of the cached response


class SecurityHeaders:
    """ASGI middleware that adds missing security headers. Redirects stay as they are: they never become a page."""

    def __init__(self, app: ASGIApp, *, is_https_only: Callable[[str], bool]) -> None:
        """`is_https_only` returns whether browsers must use HTTPS for the host of a `Host` header."""
        self._app = app
        self._is_https_only = is_https_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add(scope, message)
            await send(message)

        await self._app(scope, receive, send_secured)

    def _add(self, scope: Scope, message: Message) -> None:
        headers = MutableHeaders(raw=list(message["headers"]))
        if self._is_https_only(header_of(scope, b"host")):
            headers.raw.insert(0, (b"strict-transport-security", HSTS.encode()))
        if message["status"] != _NOT_MODIFIED and "location" not in headers:
            add_isolation(headers)
        message["headers"] = headers.raw


def add_isolation(headers: MutableHeaders) -> None:
    """Add the headers that keep a response from running or sharing an origin, unless it has a policy of its own."""
    for name, value in (NOSNIFF if "content-security-policy" in headers else ISOLATION).items():
        headers.setdefault(name, value)


def header_of(scope: Scope, name: bytes) -> str:
    """Return the value of the first header with a lower-case name; "" without one."""
    return next((value for key, value in scope["headers"] if key == name), b"").decode("latin-1")
