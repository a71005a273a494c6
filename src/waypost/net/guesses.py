"""How often somebody may be wrong: failures by client in the last minute, in this process."""

import threading
from collections import OrderedDict

from waypost import clock

_WINDOW_MS = 60_000


class Guesses:
    """At most `limit` failures a minute for each client; remembers at most `clients` of them."""

    def __init__(self, limit: int = 30, clients: int = 20_000) -> None:
        self._limit = limit
        self._clients = clients
        self._windows: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, client: str) -> int:
        """0 while the client may try, else the seconds it has to wait."""
        now = clock.now_ms()
        start, count = self._windows.get(client, (now, 0))
        return 0 if count < self._limit or _is_over(start, now) else _seconds_left(start, now)

    def failed(self, client: str) -> int:
        """Count one failure. 0 while the client was within its limit, else the seconds it has to wait."""
        now = clock.now_ms()
        with self._lock:
            start, count = self._windows.pop(client, (now, 0))
            if _is_over(start, now):
                start, count = now, 0
            self._windows[client] = (start, count + 1)
            if len(self._windows) > self._clients:
                self._windows.popitem(last=False)
        return 0 if count < self._limit else _seconds_left(start, now)


def _is_over(start: int, now: int) -> bool:
    """Whether a window has ended; one that begins far ahead was opened by a clock that has been set back since."""
    return start <= now - _WINDOW_MS or start > now + _WINDOW_MS


def _seconds_left(start: int, now: int) -> int:
    return max(1, -(-(start + _WINDOW_MS - now) // 1000))
