"""The requests that wait for an answer: when they are too many for the next one to get his in time, he is told at once.

So a slow database costs patience, and no memory. The fast lane never comes by here.
"""

import time

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.errors import Kind
from waypost.observability.metrics import Meter

_MOST = 1000
_FEW = 50  # so many are never too many
_PATIENCE = 5.0  # seconds: who would have to wait for longer need not begin
_STUCK_SECONDS = 2.0
_WEIGHT = 0.05  # of the newest gap between two answers in their average
_RETRY_SECONDS = 2


class LoadShedder:
    """An application, and how many wait for it in this process."""

    def __init__(self, app: ASGIApp, meter: Meter) -> None:
        self._app = app
        self._meter = meter
        self._waiting = 0
        self._gap = 0.0
        self._since = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_too_much():
            self._meter.count("shed")
            await _busy()(scope, receive, send)
            return
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting += 1
        waits = True

        async def answer(message: Message) -> None:
            nonlocal waits
            if waits:
                waits = False
                self._answered()
            await send(message)

        try:
            await self._app(scope, receive, answer)
        finally:
            if waits:
                self._answered()

    def _answered(self) -> None:
        now = time.monotonic()
        self._gap += (now - self._since - self._gap) * _WEIGHT
        self._since = now
        self._waiting -= 1

    def _is_too_much(self) -> bool:
        if self._waiting < _FEW:
            return False
        is_stuck = time.monotonic() - self._since > _STUCK_SECONDS
        return is_stuck or self._waiting >= _MOST or self._waiting * self._gap > _PATIENCE


def _busy() -> JSONResponse:
    told = "This service has too much to do right now. Please try again in a moment."
    body = {"error": 1, "message": told, "code": Kind.UNAVAILABLE.code}
    headers = {"Retry-After": str(_RETRY_SECONDS), "Cache-Control": "no-store"}
    return JSONResponse(body, Kind.UNAVAILABLE.status, headers=headers)
