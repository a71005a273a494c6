"""Load shedding: answer 503 at once when a new request would have to wait longer than 5 s.

Memory use stays bounded when the database is slow. The fast path is not affected.
"""

import time

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.errors import Kind
from waypost.observability.metrics import Meter

_MAX_WAITING = 1000  # requests
_MIN_WAITING = 50  # requests that are always accepted
_MAX_WAIT = 5.0  # seconds
_STALL_SECONDS = 2.0  # without any response: reject
_SMOOTHING = 0.05  # weight of the newest interval in the moving average
_RETRY_SECONDS = 2


class LoadShedder:
    """ASGI middleware that limits the requests that wait for a response in this process."""

    def __init__(self, app: ASGIApp, meter: Meter) -> None:
        self._app = app
        self._meter = meter
        self._waiting = 0
        self._interval = 0.0  # average seconds between two responses
        self._last_response = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_overloaded():
            self._meter.count("shed")
            await _overloaded()(scope, receive, send)
            return
        if not self._waiting:
            self._last_response = time.monotonic()
        self._waiting += 1
        is_waiting = True

        async def send_response(message: Message) -> None:
            nonlocal is_waiting
            if is_waiting:
                is_waiting = False
                self._responded()
            await send(message)

        try:
            await self._app(scope, receive, send_response)
        finally:
            if is_waiting:
                self._responded()

    def _responded(self) -> None:
        now = time.monotonic()
        self._interval += (now - self._last_response - self._interval) * _SMOOTHING
        self._last_response = now
        self._waiting -= 1

    def _is_overloaded(self) -> bool:
        if self._waiting < _MIN_WAITING:
            return False
        is_stalled = time.monotonic() - self._last_response > _STALL_SECONDS
        return is_stalled or self._waiting >= _MAX_WAITING or self._waiting * self._interval > _MAX_WAIT


def _overloaded() -> JSONResponse:
    message = "The service is overloaded. Please try again in a moment."
    body = {"error": 1, "message": message, "code": Kind.UNAVAILABLE.code}
    headers = {"Retry-After": str(_RETRY_SECONDS), "Cache-Control": "no-store"}
    return JSONResponse(body, Kind.UNAVAILABLE.status, headers=headers)
