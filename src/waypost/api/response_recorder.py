"""The common headers of responses to requests with an API key, and what the log says about them."""

import time

import structlog
from starlette.types import Message, Scope, Send

from waypost.api.rate_limit import Usage
from waypost.observability.metrics import Meter

_log = structlog.get_logger("api")

STATISTICS_AGE = "X-Statistics-Age"
"""Header of responses whose numbers lack the newest clicks: the age in seconds of the oldest one."""


class ResponseRecorder:
    """Add the common headers to a response and record its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self.id = request_id
        self.extra: list[tuple[bytes, bytes]] = []
        self.account: int | None = None
        self._uncounted = 0
        self.status = 0
        self._send = send
        self._began = time.perf_counter()

    def record(self, account: int, usage: Usage) -> None:
        """Add the headers of the rate limit; log the account."""
        self.extra, self.account = usage.headers(), account

    def report_uncounted(self, seconds: int) -> None:
        """Add the header that numbers lack the clicks of so many seconds."""
        self._uncounted = seconds

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])  # some libraries send an enumeration
            own = [(b"x-request-id", self.id.encode()), (b"cache-control", b"no-store")]
            if self._uncounted:
                own.append((STATISTICS_AGE.lower().encode(), b"%d" % self._uncounted))
            message["headers"] = [*message.get("headers", ()), *self.extra, *own]
        await self._send(message)

    def finish(self, scope: Scope, meter: Meter) -> None:
        """Count the request and log it, with its time since the recorder was made."""
        seconds = time.perf_counter() - self._began
        meter.time("api", seconds)
        meter.count("api_requests", str(self.status))
        details = {
            "method": scope["method"],
            "path": scope["path"],
            "status": self.status,
            "ms": round(seconds * 1000, 1),
        }
        _log.info("request", request_id=self.id, account=self.account, **details)
