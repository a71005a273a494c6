"""Links that another service sends again."""

from collections import deque

_MAX = 100_000  # about 15 MB, however many links a server sends


class RecentNames:
    """The newest names of a source, as hashes of 64 bits."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()
        self._order: deque[int] = deque()

    def add(self, name: str) -> bool:
        """Add a name. Return whether it is new."""
        value = hash(name)
        if value in self._hashes:
            return False
        if len(self._order) >= _MAX:
            self._hashes.remove(self._order.popleft())
        self._hashes.add(value)
        self._order.append(value)
        return True
