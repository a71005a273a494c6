"""What this process remembers of names, and the answers that the lane may give by itself.

Filled by visits, emptied by the log of changes. Bounded. Read without a lock, by single dict
operations; changed under one, so that nothing old is put back while a change is taken in.
"""

import threading
import time
from dataclasses import dataclass

from waypost.db.change_log import Name
from waypost.urls.blocklist import Blocklist
from waypost.visits.lookup import DomainView, Resolved

_MOST_HOT = 100_000
_MOST_FOUND = 20_000
_MOST_HOSTS = 10_000
_MOST_BYTES_OF_PICTURES = 32 * 1024 * 1024
MAX_AGE = 3600.0
"""Seconds that anything is remembered, should the log of changes be out of reach for ever."""


@dataclass(frozen=True, slots=True)
class HotResponse:
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
class HotImage(HotResponse):
    """A picture of a name for the lane, which counts nothing: `own` goes on to the end of the body."""

    tag: str = ""
    name: Name = ("", "")


class Cache:
    """Names and hosts that were asked for lately."""

    def __init__(self) -> None:
        self.hot: dict[bytes, HotResponse] = {}
        """By host as in the namespace and path: `b"/spring"` on the service's own host."""
        self.header_hosts: dict[bytes, bytes] = {}
        """The host that a `Host` header means, as in `hot`."""
        self.version = 0
        self._found: dict[Name, tuple[float, Resolved | None]] = {}
        self._domains: dict[str, tuple[float, DomainView | None]] = {}
        self.blocklist: Blocklist | None = None
        """What the operator has blocked; None until somebody needs it."""
        self.images: dict[bytes, HotImage] = {}
        """By host as in the namespace and whole target: `b"/qr/spring.png?size=300"`."""
        self._pictures_of: dict[Name, set[bytes]] = {}
        self._bytes_of_pictures = 0
        self._changing = threading.Lock()

    def get_resolved(self, name: Name) -> tuple[bool, Resolved | None]:
        """(whether this name is known, what it leads to)."""
        found = self._found.get(name)
        if found is None or found[0] < time.monotonic():
            return False, None
        return True, found[1]

    def get_domain(self, host: str) -> tuple[bool, DomainView | None]:
        """(whether this host is known, the branded domain that it is)."""
        found = self._domains.get(host)
        if found is None or found[0] < time.monotonic():
            return False, None
        return True, found[1]

    def put_resolved(self, name: Name, found: Resolved | None, *, version: int) -> None:
        """Remember what a name led to when `version` was read, unless something changed since."""
        with self._changing:
            if version == self.version:
                _bounded(self._found, _MOST_FOUND)[name] = (time.monotonic() + MAX_AGE, found)

    def put_domain(self, host: str, domain: DomainView | None, *, version: int) -> None:
        """The same for a host."""
        with self._changing:
            if version == self.version:
                _bounded(self._domains, _MOST_HOSTS)[host] = (time.monotonic() + MAX_AGE, domain)

    def put_blocklist(self, blocked: Blocklist, *, version: int) -> None:
        """The same for what is blocked."""
        with self._changing:
            if version == self.version:
                self.blocklist = blocked

    def put_hot(self, header: bytes, name: Name, answer: HotResponse, *, version: int) -> None:
        """Let the lane answer for a name from now on, to requests with this `Host` header."""
        host = name[0].encode()
        with self._changing:
            if version == self.version:
                _bounded(self.header_hosts, _MOST_HOSTS)[header] = host
                _bounded(self.hot, _MOST_HOT)[host + b"/" + name[1].encode()] = answer
                self._found.pop(name, None)  # the lane needs only the answer, which is a tenth of it

    def put_image(self, header: bytes, target: bytes, picture: HotImage, *, version: int) -> None:
        """Let the lane answer for a picture of a name, within a bound of bytes: the oldest make way."""
        host = picture.name[0].encode()
        key = host + target
        with self._changing:
            if version != self.version or key in self.images:
                return
            _bounded(self.header_hosts, _MOST_HOSTS)[header] = host
            self.images[key] = picture
            self._pictures_of.setdefault(picture.name, set()).add(key)
            self._bytes_of_pictures += len(picture.own) + len(key)
            while self._bytes_of_pictures > _MOST_BYTES_OF_PICTURES:
                self._drop(next(iter(self.images)))

    def _drop(self, key: bytes) -> None:
        gone = self.images.pop(key)
        self._bytes_of_pictures -= len(gone.own) + len(key)
        keys = self._pictures_of[gone.name]
        keys.remove(key)
        if not keys:
            del self._pictures_of[gone.name]

    def invalidate(self, names: list[Name] | None) -> None:
        """Drop what changed; everything when a whole host did, or when nobody knows what."""
        with self._changing:
            self.version += 1
            if names is None or any(not alias for _, alias in names):
                self.hot.clear()
                self.header_hosts.clear()
                self._found.clear()
                self._domains.clear()
                self.blocklist = None
                self.images.clear()
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
