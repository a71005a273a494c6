"""Watch if clients take their responses: written bytes can still be lost in the buffers of the network.

TCP tells how many bytes left this machine. A client that closes its connection without reading everything resets it.
"""

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

BEGIN_DELIVERY = "waypost.response.delivery"
"""ASGI extension: a function that returns the Delivery of this response, which begins with the call."""
_LINGER_SECONDS = 10
_MAX_LINGERING = 256
_MIN_INFO_BYTES = 232
# Fields of Linux's `struct tcp_info`, since 5.5. Sent bytes include those that were sent again.
_SENT, _RESENT, _WINDOW = (("=Q", 200), ("=Q", 208), ("=I", 228))
_UNACKNOWLEDGED, _NOT_SENT = (("=I", 24), ("=I", 144))
_lingering: set["Delivery"] = set()


class Sent(NamedTuple):
    """`sent`: bytes of a response that left this machine, headers included. `window`: so many can wait to be read."""

    sent: int
    window: int


class Delivery:
    """One response, from its first byte until the client has taken it or closed the connection.

    `connection` is its socket; None if nothing has to be measured, because the response is small.
    """

    def __init__(self, connection: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._socket: socket.socket | None = None
        self._sent_before = self._window = self._size = 0
        self._on_broken: Callable[[], object] | None = None
        self._end: tuple[Exception | None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        if connection is not None:
            self._socket = socket.socket(fileno=os.dup(connection.fileno()))
            info = self._info()
            self._sent_before, self._window = _sent(info), _field(info, _WINDOW)

    def measure(self) -> Sent | None:
        """Return what left this machine so far; None if the system does not tell."""
        info = self._info()
        return Sent(_sent(info) - self._sent_before, self._window) if info else None

    def watch(self, size: int, on_broken: Callable[[], object]) -> None:
        """Call `on_broken` if the client closes the connection before it took the response, a body of `size` bytes.

        The whole response was written. The call is made while the delivery can be measured.
        """
        self._size, self._on_broken = size, on_broken
        if self._end is not None:
            self.end(*self._end)

    def end(self, error: Exception | None) -> None:
        """Decide, when the connection has been closed: by the client, or by this process, if the client has all."""
        self._end = (error,)
        if self._on_broken is None:
            return  # the response is not complete: its writer closes the delivery
        if error is not None or self._socket is None:
            self._finish(is_broken=error is not None)
        elif len(_lingering) >= _MAX_LINGERING:
            self._finish(is_broken=self._has_unsent())
        else:
            self._linger(self._socket)

    def close(self) -> None:
        """End the watch: the client has sent another request, so it has read this response."""
        self._on_broken = None
        _lingering.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._socket is not None:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
            self._socket = None

    def _linger(self, connection: socket.socket) -> None:
        """Wait for the client to close the connection, after this process has closed it."""
        _lingering.add(self)
        connection.settimeout(0)
        try:
            connection.shutdown(socket.SHUT_WR)
        except OSError:  # the client has reset it
            self._finish(is_broken=True)
            return
        self._timer = self._loop.call_later(_LINGER_SECONDS, lambda: self._finish(is_broken=self._has_unsent()))
        self._loop.add_reader(connection.fileno(), self._read, connection)

    def _read(self, connection: socket.socket) -> None:
        try:
            if connection.recv(65_536):
                return
        except BlockingIOError:
            return
        except OSError:
            self._finish(is_broken=True)
            return
        self._finish(is_broken=self._has_unsent())

    def _has_unsent(self) -> bool:
        """Return whether some of the response did not arrive. Its end of the connection does not count."""
        info = self._info()
        if not info:
            return False
        is_short = _sent(info) - self._sent_before < self._size
        return is_short or _field(info, _NOT_SENT) > 1 or _field(info, _UNACKNOWLEDGED) > 1

    def _finish(self, *, is_broken: bool) -> None:
        on_broken = self._on_broken
        if is_broken and on_broken is not None:
            on_broken()
        self.close()

    def _info(self) -> bytes:
        """Return what the system tells about the connection; b"" if it tells too little."""
        if self._socket is None or not hasattr(socket, "TCP_INFO"):
            return b""
        try:
            info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        except OSError:  # no TCP
            return b""
        return info if len(info) >= _MIN_INFO_BYTES else b""


def _field(info: bytes, field: tuple[str, int]) -> int:
    return int(struct.unpack_from(field[0], info, field[1])[0]) if info else 0


def _sent(info: bytes) -> int:
    return _field(info, _SENT) - _field(info, _RESENT)
