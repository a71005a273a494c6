"""Load shedding: answer 503 at once when a new request would have to wait longer than 5 s.

Memory use stays bounded when the database is slow. The fast path is not affected. A network that causes the overload is
rejected first, so that it cannot lock others out. A request counts only while the service works on it: a client that
sends its body slowly takes nothing from others, and gets 408 when it is too slow.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.core.errors import Kind
from waypost.core.metrics import Meter
from waypost.core.settings import Network
from waypost.http.client_ip import client_ip, network_of

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
            await _overloaded()(scope, receive, send)
            return
        request = _Request(self, network, receive, send, has_deadline=not self._has_uploads)
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


class _Request:
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


def _overloaded() -> JSONResponse:
    message = "The service is overloaded. Please try again in a moment."
    body = {"error": 1, "message": message, "code": Kind.UNAVAILABLE.code}
    headers = {"Retry-After": str(_RETRY_SECONDS), "Cache-Control": "no-store"}
    return JSONResponse(body, Kind.UNAVAILABLE.status, headers=headers)


def _too_slow() -> JSONResponse:
    body = {"error": 1, "message": "The body did not arrive in time.", "code": Kind.TOO_SLOW.code}
    return JSONResponse(body, Kind.TOO_SLOW.status, headers={"Connection": "close", "Cache-Control": "no-store"})
