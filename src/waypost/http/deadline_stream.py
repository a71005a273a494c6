"""Network connections that end at a deadline, or as soon as the work that uses them is canceled."""

import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import httpcore2

T = TypeVar("T")
Check = Callable[[], object]
_CHECK_SECONDS = 1.0


class Deadline:
    """The end of a request. Waits take a second at most, so that `check` can end it before, by raising."""

    def __init__(self, seconds: float, check: Check) -> None:
        self._at, self._check = time.monotonic() + seconds, check

    def left(self) -> float:
        """Return the seconds left. Raises ReadTimeout if there are none."""
        seconds = self._at - time.monotonic()
        if seconds <= 0:
            raise httpcore2.ReadTimeout
        return seconds

    def wait(self, work: Callable[[float], T], timed_out: type[Exception]) -> T:
        """Return the result of `work`, which gets seconds and raises `timed_out` if they were not enough."""
        while True:
            self._check()
            seconds = min(_CHECK_SECONDS, self.left())
            with suppress(timed_out):
                return work(seconds)


class DeadlineStream(httpcore2.NetworkStream):
    """A connection that fails at the deadline: a server cannot delay it by sending single bytes."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._deadline.wait(lambda seconds: self._stream.read(max_bytes, seconds), httpcore2.ReadTimeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        return DeadlineStream(
            self._stream.start_tls(ssl_context, server_hostname, self._deadline.left()), self._deadline
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
