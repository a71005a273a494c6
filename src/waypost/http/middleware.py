"""The middleware of all applications: security headers, internal errors and load shedding.

Every response that has no policy of its own gets one: nothing runs and no origin is shared (ADR 8). Internal errors are
counted, logged and named in one place, with the id that the client gets.

Load shedding answers 503 at once when a new request would have to wait longer than 5 s. Memory use stays bounded when
the database is slow. The fast path is not affected. A network that causes the overload is rejected first, so that it
cannot lock others out. A request counts only while the service works on it: a client that sends its body slowly takes
nothing from others, and gets 408 when it is too slow.
"""

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.core.errors import Kind
from waypost.core.metrics import Meter
from waypost.core.settings import Network
from waypost.http import bare_pages
from waypost.http.client_ip import client_ip, network_of

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
REQUEST_ID = "waypost.request_id"
"""Key of the request's id in its scope. Every request has one."""
_REQUEST_ID_HEADER = "X-Request-Id"
_log = structlog.get_logger("requests")
_MAX_WAITING = 1000  # requests
_MIN_WAITING = 50  # requests that are always accepted
_FAIR_SHARE = 5  # requests of one network that are accepted even if other networks cause an overload
_MAX_WAIT = 5.0  # seconds
_MAX_UPLOAD_WAIT = 300.0  # seconds; longer for uploads, because a rejected one has to be sent again
_STALL_SHARE = 0.4  # of the longest wait: without a response for this long, new requests are rejected
_SMOOTHING = 0.05  # weight of the newest interval in the moving average
_RETRY_SECONDS = 2
_BODY_SECONDS = 10.0
_MIN_BODY_RATE = 16 * 1024  # bytes per second, after the first seconds


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


class InternalErrors:
    """ASGI middleware around all applications.

    An application answers an exception that it did not expect in its own format and raises it again, so that it is
    counted and logged here. An exception without a response is answered here: with a page for browsers, else with text.
    """

    def __init__(self, app: ASGIApp, meter: Meter) -> None:
        self._app = app
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope[REQUEST_ID] = request_id = uuid.uuid4().hex
        is_started = False

        async def send_identified(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                if message["status"] == 500:
                    headers = MutableHeaders(raw=list(message.get("headers", ())))
                    headers.setdefault(_REQUEST_ID_HEADER, request_id)
                    message["headers"] = headers.raw
            await send(message)

        try:
            await self._app(scope, receive, send_identified)
        except ClientDisconnect:
            response = Response(status_code=400)
        except Exception as error:  # noqa: BLE001  # the outermost edge of a request
            record_error(self._meter, request_id, error)
            response = _internal_error(Request(scope), request_id)
        else:
            return
        if not is_started:
            await response(scope, receive, send_identified)


def _internal_error(request: Request, request_id: str) -> Response:
    if "text/html" in request.headers.get("accept", ""):
        return bare_pages.internal_error(request, request_id)
    message = f"Internal error. If it happens again, report this request id: {request_id}\n"
    return Response(message, 500, media_type="text/plain", headers={"Cache-Control": "no-store"})


def record_error(meter: Meter, request_id: str, error: Exception) -> None:
    """Count and log the exception that is handled now, which a request did not expect."""
    meter.count("errors")
    _log.exception("request failed", request_id=request_id, error=type(error).__name__)


class LoadShedder:
    """ASGI middleware that limits the requests that wait for a response in this process."""

    def __init__(self, app: ASGIApp, meter: Meter, proxies: Sequence[Network], *, has_uploads: bool = False) -> None:
        """Create it. With `has_uploads` the application itself limits the time of a body."""
        self._app = app
        self._meter = meter
        self._proxies = proxies
        self._has_uploads = has_uploads
        self._max_wait = _MAX_UPLOAD_WAIT if has_uploads else _MAX_WAIT
        self._waiting = 0
        self._waiting_by_network: Counter[str] = Counter()
        self._fair_waiting = 0  # at most _FAIR_SHARE of each network
        self._interval = 0.0  # average seconds between two responses
        self._last_response = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        network = network_of(client_ip(scope, self._proxies))
        if self._is_refused(network):
            self._meter.count("shed")
            await _overloaded(Request(scope))(scope, receive, send)
            return
        request = _ShedRequest(self, network, receive, send, has_deadline=not self._has_uploads)
        self.begin(network)
        try:
            await self._app(scope, request.receive, request.send)
        finally:
            request.end()

    def begin(self, network: str) -> None:
        """Count a request that waits for the service."""
        if not self._waiting:
            self._last_response = time.monotonic()
        self._waiting += 1
        self._waiting_by_network[network] += 1
        self._fair_waiting += self._waiting_by_network[network] <= _FAIR_SHARE

    def end(self, network: str) -> None:
        """Stop counting a request, which was answered or waits for its client."""
        self._waiting -= 1
        self._fair_waiting -= self._waiting_by_network[network] <= _FAIR_SHARE
        self._waiting_by_network[network] -= 1
        if not self._waiting_by_network[network]:
            del self._waiting_by_network[network]

    def responded(self) -> None:
        """Measure the time since the previous response."""
        now = time.monotonic()
        self._interval += (now - self._last_response - self._interval) * _SMOOTHING
        self._last_response = now

    def _is_refused(self, network: str) -> bool:
        if self._waiting_by_network[network] < _FAIR_SHARE:
            return self._is_overload(self._fair_waiting)
        return self._is_overload(self._waiting)

    def _is_overload(self, waiting: int) -> bool:
        if waiting < _MIN_WAITING:
            return False
        is_stalled = time.monotonic() - self._last_response > self._max_wait * _STALL_SHARE
        return is_stalled or waiting >= _MAX_WAITING or waiting * self._interval > self._max_wait


class _ShedRequest:
    """The channels of one request. It is not counted while it waits for its client."""

    def __init__(self, shedder: LoadShedder, network: str, receive: Receive, send: Send, *, has_deadline: bool) -> None:
        self._shedder = shedder
        self._network = network
        self._receive = receive
        self._send = send
        self._deadline = asyncio.get_running_loop().time() + _BODY_SECONDS if has_deadline else None
        self._is_counted = True
        self._is_body_complete = False
        self._has_responded = False
        self._is_refused = False

    async def receive(self) -> Message:
        """Receive a part of the body. Answers 408 and disconnects a client that is too slow."""
        if self._is_refused:
            return {"type": "http.disconnect"}
        if self._is_body_complete or self._has_responded:
            return await self._receive()
        self.end()
        try:
            message = await self._receive_in_time()
        except TimeoutError:
            await self._refuse()
            return {"type": "http.disconnect"}
        self._is_body_complete = not message.get("more_body", False)
        self._shedder.begin(self._network)
        self._is_counted = True
        return message

    async def _receive_in_time(self) -> Message:
        if self._deadline is None:
            return await self._receive()
        async with asyncio.timeout_at(self._deadline):
            message = await self._receive()
        self._deadline += len(message.get("body", b"")) / _MIN_BODY_RATE
        return message

    async def _refuse(self) -> None:
        self._is_refused = True
        await _too_slow()(_NO_SCOPE, self._receive, self._send)

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if self._is_refused:
            return
        if not self._has_responded:
            self._has_responded = True
            if self._is_counted:  # otherwise the time since the last response would include the time of a slow client
                self._shedder.responded()
            self.end()
        await self._send(message)

    def end(self) -> None:
        """Stop counting the request."""
        if self._is_counted:
            self._is_counted = False
            self._shedder.end(self._network)


_NO_SCOPE: Scope = {"type": "http"}


def _overloaded(request: Request) -> Response:
    headers = {"Retry-After": str(_RETRY_SECONDS), "Cache-Control": "no-store"}
    if "text/html" in request.headers.get("accept", "") and not request.scope["path"].startswith("/api/"):
        return bare_pages.overloaded(request, headers)
    message = "The service is overloaded. Please try again in a moment."
    body = {"error": 1, "message": message, "code": Kind.UNAVAILABLE.code}
    return JSONResponse(body, Kind.UNAVAILABLE.status, headers=headers)


def _too_slow() -> JSONResponse:
    body = {"error": 1, "message": "The body did not arrive in time.", "code": Kind.TOO_SLOW.code}
    return JSONResponse(body, Kind.TOO_SLOW.status, headers={"Connection": "close", "Cache-Control": "no-store"})
