"""What this process remembers of names, and the answers that the lane may give by itself.

Filled by visits, emptied by the log of changes (waypost.visits.watch). Bounded. Read without a lock, by single dict
operations; changed under one, so that nothing old is put back while a change is taken in.
"""

import threading
import time
from dataclasses import dataclass

from waypost.changes import Name
from waypost.net.blocked import Blocked
from waypost.visits.find import Domain, Found

_MOST_HOT = 100_000
_MOST_FOUND = 20_000
_MOST_HOSTS = 10_000
_MOST_BYTES_OF_PICTURES = 32 * 1024 * 1024
LONGEST_LIFE = 3600.0
"""Seconds that anything is remembered, should the log of changes be out of reach for ever."""


@dataclass(frozen=True, slots=True)
class HotAnswer:
    """A whole answer but for its date, and the journal's words for what it counts.

    There are very many: `start` and `end` are the same objects in all of them, `own` is the rest.
    """

    own: bytes
    target: bytes
    until_ms: int
    end: bytes = b""
    flags: bytes = b""
    start: bytes = b"HTTP/1.1 302 Found\r\n"


@dataclass(frozen=True, slots=True)
class HotPicture(HotAnswer):
    """A picture of a name for the lane, which counts nothing: `own` goes on to the end of the body."""

    tag: str = ""
    name: Name = ("", "")


class Memory:
    """Names and hosts that were asked for lately."""

    def __init__(self) -> None:
        self.hot: dict[bytes, HotAnswer] = {}
        """By host as in the namespace and path: `b"/spring"` on the service's own host."""
        self.header_hosts: dict[bytes, bytes] = {}
        """The host that a `Host` header means, as in `hot`."""
        self.version = 0
        self._found: dict[Name, tuple[float, Found | None]] = {}
        self._domains: dict[str, tuple[float, Domain | None]] = {}
        self.blocked: Blocked | None = None
        """What the operator has blocked; None until somebody needs it."""
        self.pictures: dict[bytes, HotPicture] = {}
        """By host as in the namespace and whole target: `b"/qr/spring.png?size=300"`."""
        self._pictures_of: dict[Name, set[bytes]] = {}
        self._bytes_of_pictures = 0
        self._changing = threading.Lock()

    def found(self, name: Name) -> tuple[bool, Found | None]:
        """(whether this name is known, what it leads to)."""
        found = self._found.get(name)
        if found is None or found[0] < time.monotonic():
            return False, None
        return True, found[1]

    def domain(self, host: str) -> tuple[bool, Domain | None]:
        """(whether this host is known, the branded domain that it is)."""
        found = self._domains.get(host)
        if found is None or found[0] < time.monotonic():
            return False, None
        return True, found[1]

    def keep_found(self, name: Name, found: Found | None, *, version: int) -> None:
        """Remember what a name led to when `version` was read, unless something changed since."""
        with self._changing:
            if version == self.version:
                _bounded(self._found, _MOST_FOUND)[name] = (time.monotonic() + LONGEST_LIFE, found)

    def keep_domain(self, host: str, domain: Domain | None, *, version: int) -> None:
        """The same for a host."""
        with self._changing:
            if version == self.version:
                _bounded(self._domains, _MOST_HOSTS)[host] = (time.monotonic() + LONGEST_LIFE, domain)

    def keep_blocked(self, blocked: Blocked, *, version: int) -> None:
        """The same for what is blocked."""
        with self._changing:
            if version == self.version:
                self.blocked = blocked

    def keep_hot(self, header: bytes, name: Name, answer: HotAnswer, *, version: int) -> None:
        """Let the lane answer for a name from now on, to requests with this `Host` header."""
        host = name[0].encode()
        with self._changing:
            if version == self.version:
                _bounded(self.header_hosts, _MOST_HOSTS)[header] = host
                _bounded(self.hot, _MOST_HOT)[host + b"/" + name[1].encode()] = answer
                self._found.pop(name, None)  # the lane needs only the answer, which is a tenth of it

    def keep_picture(self, header: bytes, target: bytes, picture: HotPicture, *, version: int) -> None:
        """Let the lane answer for a picture of a name, within a bound of bytes: the oldest make way."""
        host = picture.name[0].encode()
        key = host + target
        with self._changing:
            if version != self.version or key in self.pictures:
                return
            _bounded(self.header_hosts, _MOST_HOSTS)[header] = host
            self.pictures[key] = picture
            self._pictures_of.setdefault(picture.name, set()).add(key)
            self._bytes_of_pictures += len(picture.own) + len(key)
            while self._bytes_of_pictures > _MOST_BYTES_OF_PICTURES:
                self._drop(next(iter(self.pictures)))

    def _drop(self, key: bytes) -> None:
        gone = self.pictures.pop(key)
        self._bytes_of_pictures -= len(gone.own) + len(key)
        keys = self._pictures_of[gone.name]
        keys.remove(key)
        if not keys:
            del self._pictures_of[gone.name]

    def forget(self, names: list[Name] | None) -> None:
        """Drop what changed; everything when a whole host did, or when nobody knows what."""
        with self._changing:
            self.version += 1
            if names is None or any(not alias for _, alias in names):
                self.hot.clear()
                self.header_hosts.clear()
                self._found.clear()
                self._domains.clear()
                self.blocked = None
                self.pictures.clear()
                self._pictures_of.clear()
                self._bytes_of_pictures = 0
                return
            for host, alias in names:
                self._found.pop((host, alias), None)
                self.hot.pop(host.encode() + b"/" + alias.encode(), None)
                for key in tuple(self._pictures_of.get((host, alias), ())):
                    self._drop(key)


def _bounded(values: dict, most: int) -> dict:  # type: ignore[type-arg]  # whatever it holds
    """The dict with room for one more: the oldest makes way."""
    if len(values) >= most:
        values.pop(next(iter(values), None), None)
    return values
