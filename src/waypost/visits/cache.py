"""This process's cache: resolved aliases, domains, the blocklist, and complete responses for the fast path.

Visits fill it, the change log invalidates it, and every part is bounded. Reads take no lock: they are single dict
operations. Writes take one, so that no outdated entry is stored during an invalidation.

Records that are not in the cache are read together: those of one turn of the event loop by one statement. The change
log invalidates entries: a change takes effect immediately in the process that made it, and within a second in all
others.
"""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import structlog
from sqlalchemy import Connection

from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import change_log, notifications
from waypost.db.change_log import NEW_ALIASES, Change, LogPosition, Name
from waypost.db.database import Database
from waypost.db.notifications import Wakeup
from waypost.urls import blocklist
from waypost.urls.blocklist import Blocklist
from waypost.visits.batcher import Batcher, deliver
from waypost.visits.record_queries import (
    NAMED_RECORDS,
    BioView,
    DomainView,
    QrView,
    Resolved,
    find_domain,
    plain_links,
    resolve,
    without_blocked,
)

K = TypeVar("K")
V = TypeVar("V")
DEFAULT_HOT_BYTES = 32 * 1024 * 1024
_ENTRY_BYTES = 340  # memory of an entry of `hot` without its text
_SECOND_CHANCES = 32
_MAX_RESOLVED = 20_000
_MAX_HOSTS = 10_000
_MAX_LOGO_LENGTH = 16 * 1024 * 1024  # characters of the logos of all cached domains
MAX_BODY_BYTES = 32 * 1024 * 1024
_MAX_CACHED = 16_384  # characters; larger bio pages and QR codes are read from the database every time
_MISSING = (-1.0, None)  # an entry that has expired
REDIRECT_LINE = b"HTTP/1.1 302 Found\r\n"
MAX_AGE_SECONDS = 3600.0
"""Lifetime of every entry, a bound for the case that the change log stays unreachable."""
T = TypeVar("T")
_Key = tuple[int, Name]
LoadResult = Resolved | BaseException | None
"""The record of a name, None if there is none, or the exception that reading it raised."""
_log = structlog.get_logger("change log")
_visits_log = structlog.get_logger("visits")
_READ_TIMEOUT_SECONDS = 1.0  # less would treat busy connections as lost; requests can wait this long
_NOTIFY_SECONDS = 0.02  # changes of so many seconds share one notification
_POLL_SECONDS = 0.3  # finds changes whose notification was lost together with a connection


@dataclass(slots=True)
class HotResponse:
    """A complete response except its Date header, and the journal fields of its click.

    There are many of them: `status_line` and `shared_headers` are the same objects in all, `unique` is the rest.
    `is_used`: it was sent since it was cached or nearly evicted.
    """

    unique: bytes
    journal_target: bytes
    until_ms: int
    shared_headers: bytes = b""
    flags: bytes = b""
    status_line: bytes = REDIRECT_LINE
    is_used: bool = False


@dataclass(slots=True)
class HotBody(HotResponse):
    """A page or an image of an alias. `unique` includes the body; `etag` is that of an image.

    `left` is the remainder of a limit, if the page shows it. Such a page must be sent only after the limit was read.
    """

    etag: str = ""
    name: Name = ("", "")
    left: int | None = None


class RequestedHost(NamedTuple):
    """Meaning of a `Host` header: the host in the alias namespace, also as bytes, and the header for HTTPS."""

    name: str
    key: bytes
    hsts: bytes


class Cache:
    """Recently requested aliases, hosts and responses."""

    def __init__(self, max_hot_bytes: int = DEFAULT_HOT_BYTES) -> None:
        self.hot: OrderedDict[bytes, HotResponse] = OrderedDict()
        """By host as in the alias namespace, and path: `b"/spring"` on the service's own host."""
        self.hot_bytes = 0
        self._max_hot_bytes = max_hot_bytes
        self.version = 0
        self._resolved: OrderedDict[Name, tuple[float, Resolved | None]] = OrderedDict()
        self._domains: OrderedDict[str, tuple[float, DomainView | None]] = OrderedDict()
        self._logo_length = 0
        self.hosts: dict[bytes, RequestedHost] = {}
        """By `Host` header, those of the service and of branded domains."""
        self.blocklist: Blocklist | None = None
        """The administrator's blocklist; None until it is read."""
        self.bodies: dict[bytes, HotBody] = {}
        """Images by host, path and query, such as `b"/qr/spring.png?size=300"`; pages by `page_key`."""
        self._body_keys: dict[Name, set[bytes]] = {}
        self._body_bytes = 0
        self._write_lock = threading.Lock()

    def get_resolved(self, name: Name) -> tuple[bool, Resolved | None]:
        """Return (whether the name is cached, its record)."""
        expires, resolved = self._resolved.get(name, _MISSING)
        return (True, resolved) if expires >= time.monotonic() else (False, None)

    def get_domain(self, host: str) -> tuple[bool, DomainView | None]:
        """Return (whether the host is cached, its branded domain)."""
        expires, domain = self._domains.get(host, _MISSING)
        return (True, domain) if expires >= time.monotonic() else (False, None)

    def put_resolved(self, name: Name, resolved: Resolved | None, *, version: int) -> None:
        """Cache the record of a name, read at `version`, unless something was invalidated since."""
        with self._write_lock:
            if version == self.version:
                _make_room(self._resolved, _MAX_RESOLVED)[name] = (time.monotonic() + MAX_AGE_SECONDS, resolved)

    def put_domain(self, host: str, domain: DomainView | None, *, version: int) -> None:
        """Cache the branded domain of a host, read at `version`."""
        with self._write_lock:
            if version == self.version:
                self._logo_length += len(domain.brand.logo) if domain else 0
                if self._logo_length > _MAX_LOGO_LENGTH:
                    self._domains.clear()
                    self._logo_length = 0
                _make_room(self._domains, _MAX_HOSTS)[host] = (time.monotonic() + MAX_AGE_SECONDS, domain)

    def put_host(self, header: bytes, host: RequestedHost, *, version: int) -> None:
        """Cache the meaning of a `Host` header, known at `version`."""
        with self._write_lock:
            if version == self.version and len(self.hosts) < _MAX_HOSTS:
                self.hosts[header] = host

    def put_blocklist(self, blocked: Blocklist, *, version: int) -> None:
        """Cache the blocklist, read at `version`."""
        with self._write_lock:
            if version == self.version:
                self.blocklist = blocked

    def put_hot(self, name: Name, response: HotResponse, *, version: int) -> None:
        """Let the fast path answer requests for a name with this response."""
        with self._write_lock:
            if version == self.version:
                key = _key(name)
                self._drop_hot(key)
                self.hot[key] = response
                self.hot_bytes += _size(key, response)
                self._resolved.pop(name, None)  # the response is a tenth of the record's size and replaces it
                while self.hot_bytes > self._max_hot_bytes:
                    self._evict_hot()

    def put_body(self, key: bytes, body: HotBody, *, version: int) -> None:
        """Let the fast path send an image or a page. Evicts the oldest ones over MAX_BODY_BYTES."""
        with self._write_lock:
            if version != self.version:
                return
            if key in self.bodies:
                self._evict_body(key)  # it has expired, or shows another number
            self.bodies[key] = body
            self._body_keys.setdefault(body.name, set()).add(key)
            self._body_bytes += len(body.unique) + len(key)
            while self._body_bytes > MAX_BODY_BYTES:
                self._evict_body(next(iter(self.bodies)))

    def _evict_hot(self) -> None:
        """Drop the oldest response that was not sent since its last turn; the algorithm is named CLOCK.

        Visits to many names, once each, evict only these names.
        """
        for _ in range(_SECOND_CHANCES):
            key, response = self.hot.popitem(last=False)
            if not response.is_used:
                break
            response.is_used = False
            self.hot[key] = response
        else:
            key, response = self.hot.popitem(last=False)
        self.hot_bytes -= _size(key, response)

    def _drop_hot(self, key: bytes) -> None:
        response = self.hot.pop(key, None)
        if response is not None:
            self.hot_bytes -= _size(key, response)

    def _evict_body(self, key: bytes) -> None:
        body = self.bodies.pop(key)
        self._body_bytes -= len(body.unique) + len(key)
        keys = self._body_keys[body.name]
        keys.remove(key)
        if not keys:
            del self._body_keys[body.name]

    def invalidate(self, names: list[Name] | None) -> None:
        """Drop changed names; everything if a whole host changed, or if the changes are unknown (None)."""
        with self._write_lock:
            self.version += 1
            if names is None or any(not alias for _, alias in names):
                self._clear()
                return
            if any(alias == NEW_ALIASES for _, alias in names):
                self._drop_unknown_names()
            for host, alias in names:
                self._resolved.pop((host, alias), None)
                self._drop_hot(_key((host, alias)))
                for key in tuple(self._body_keys.get((host, alias), ())):
                    self._evict_body(key)

    def _drop_unknown_names(self) -> None:
        for name in [name for name, (_, resolved) in self._resolved.items() if resolved is None]:
            del self._resolved[name]

    def _clear(self) -> None:
        self.hot.clear()
        self.hot_bytes = 0
        self._resolved.clear()
        self._domains.clear()
        self._logo_length = 0
        self.hosts.clear()
        self.blocklist = None
        self.bodies.clear()
        self._body_keys.clear()
        self._body_bytes = 0


def page_key(name: Name, view: tuple[str, bool, str]) -> bytes:
    """Return the key of a page in `Cache.bodies`. It contains blanks, so that no target of a request is equal to it.

    `view`: its language, whether it is HTML, and its content coding.
    """
    language, is_html, coding = view
    return b"%b %b %d %b" % (_key(name), language.encode(), is_html, coding.encode())


def _key(name: Name) -> bytes:
    return b"%b/%b" % (name[0].encode(), name[1].encode())


def _make_room(entries: OrderedDict[K, V], limit: int) -> OrderedDict[K, V]:
    """Return the dict with room for one more entry, without its oldest one if it is full."""
    if len(entries) >= limit:
        entries.popitem(last=False)
    return entries


def _size(key: bytes, response: HotResponse) -> int:
    return _ENTRY_BYTES + len(key) + len(response.unique) + len(response.journal_target)


class CacheInvalidator:
    """Keeps one process's cache up to date."""

    def __init__(self, database: Database, cache: Cache) -> None:
        self._database = database
        self._cache = cache
        self._read_lock = threading.Lock()  # concurrent requests share the result of the first one's read
        self._apply_lock = threading.Lock()
        self._wakeup = Wakeup()
        self._is_unreachable = False
        try:
            self._position: LogPosition | None = database.read(change_log.current_position)
        except Problem:  # the database is unavailable at start: the cache is still empty
            self._position = None

    def catch_up(self, recorded: Sequence[Change] = ()) -> None:
        """Apply all changes since the last read. `follow` then notifies the other processes.

        `recorded` are the changes of a transaction that was just committed. If no other process has logged any since
        the last read, nothing is read.

        When this returns, this process serves nothing older. Exception: the database became unavailable after the
        change was committed; then the change is applied when the change log can be read again.
        """
        if self._apply_recorded(recorded):
            self._wakeup.interrupt()
            return
        try:
            with self._read_lock:
                has_changes = self._apply_changes(partial(self._database.read, timeout=_READ_TIMEOUT_SECONDS))
        except Problem:
            _log.warning("change log unreachable; a committed change is not in effect yet")
            return
        if has_changes:
            self._wakeup.interrupt()

    def follow(self) -> None:
        """Wait for the next change and apply it, and notify other processes of own changes. On SQLite, never wait.

        While the database is unavailable, cached entries are served.
        """
        if not self._database.is_sqlite:
            notifications.wait_for_notification(self._database, _POLL_SECONDS, self._wakeup)
            if self._wakeup.is_interrupted:
                time.sleep(_NOTIFY_SECONDS)
                self._wakeup.is_interrupted = False
                notifications.notify(self._database)  # this process gets it as well, and then reads
                return
        try:
            self._apply_changes(partial(notifications.poll, self._database))
            self._is_unreachable = False
        except Problem:
            if not self._is_unreachable:
                _log.warning("change log unreachable; serving from the cache")
            self._is_unreachable = True
        except Exception:  # noqa: BLE001  # the edge of the task that follows changes: it must not end
            _log.exception("change log could not be read; serving from the cache")

    def stop(self) -> None:
        """End a waiting `follow`."""
        self._wakeup.set()

    def _apply_recorded(self, recorded: Sequence[Change]) -> bool:
        """Apply the changes if they are the next ones in the log."""
        with self._apply_lock:
            position = None if self._position is None else self._position.after(recorded)
            if position is None:
                return False
            self._cache.invalidate([(change.host, change.alias) for change in recorded])
            self._position = position
            return True

    def _apply_changes(self, read: "_Read") -> bool:
        """Return whether there were changes. The read holds no lock: its connection may hang until a timeout."""
        has_changes = False
        while True:
            before = self._position
            position, names = read(partial(_read_changes, before))
            has_changes |= names is None or bool(names)
            with self._apply_lock:
                # Otherwise another thread has applied changes in between: read again, because invalidating the same
                # changes twice would drop entries that were read after them.
                if self._position == before:
                    if names is None or names:
                        self._cache.invalidate(names)
                    self._position = position
                    return has_changes


def _read_changes(before: LogPosition | None, tx: Connection) -> tuple[LogPosition, list[Name] | None]:
    return (change_log.current_position(tx), None) if before is None else change_log.read_since(tx, before)


class _Read(Protocol):
    """Runs a read transaction."""

    def __call__(self, work: Callable[[Connection], T]) -> T: ...


class AliasLoader:
    """Reads the records that are not in the cache: those of one turn of the event loop by one statement."""

    def __init__(self, database: Database, cache: Cache, settings: Settings) -> None:
        self._database = database
        self._cache = cache
        self._settings = settings
        self._reader = database.event_loop_reader(NAMED_RECORDS["postgresql"])
        self._batcher: Batcher[Name, Resolved | None] = Batcher(
            self._read, thread_name="aliases", is_quick=database.is_sqlite, start=self._start_reading
        )
        # By cache version and name: a request after a change does not share an earlier read.
        self._waiting: dict[_Key, list[Callable[[LoadResult], None]]] = {}

    @property
    def is_overloaded(self) -> bool:
        """Return whether many names are waiting, or the database is slow."""
        return self._batcher.is_overloaded

    def load(self, name: Name, done: Callable[[LoadResult], None]) -> None:
        """Read the record of a name, and call `done` with the outcome."""
        key = (self._cache.version, name)
        callbacks = self._waiting.setdefault(key, [])
        callbacks.append(done)
        if len(callbacks) == 1:
            self._batcher.submit(name, partial(self._deliver, key))

    async def read(self, name: Name) -> Resolved | None:
        """Return the record of a name."""
        return await self._batcher.run(name)

    def close(self) -> None:
        """Stop the threads."""
        self._batcher.close()
        if self._reader is not None:
            self._reader.close()

    def _deliver(self, key: _Key, outcome: LoadResult) -> None:
        for done in self._waiting.pop(key):
            deliver(done, outcome)

    def _start_reading(self, names: Sequence[Name], done: Callable[[list[Resolved | None] | None], None]) -> bool:
        """Read the records on the event loop. That is possible if all of them are plain links or unknown."""
        cache = self._cache
        version, blocked = cache.version, cache.blocklist
        if self._reader is None or blocked is None or not all(cache.get_domain(host)[0] for host, _ in names):
            return False

        def finish(rows: Sequence[Sequence[Any]] | None) -> None:
            records = None
            try:
                by_name = None if rows is None else plain_links(rows)
                records = None if by_name is None else self._cache_all(names, by_name, blocked, version)
            except Exception:  # noqa: BLE001  # a thread reads the names again, and reports its fault to the requests
                _visits_log.exception("names could not be read on the event loop")
            done(records)

        return self._reader.fetch_all(finish, names=json.dumps(names))

    def _read(self, names: Sequence[Name]) -> list[Resolved | None]:
        version = self._cache.version
        return self._database.read(lambda tx: self._read_all(tx, names, version), autocommit=True)

    def _read_all(self, tx: Connection, names: Sequence[Name], version: int) -> list[Resolved | None]:
        """Return the records. They, the blocklist and the domains of their hosts are cached."""
        cache = self._cache
        blocked = cache.blocklist
        if blocked is None:
            blocked = blocklist.read(tx)
            cache.put_blocklist(blocked, version=version)
        for host in {host for host, _ in names}:
            if not cache.get_domain(host)[0]:
                cache.put_domain(host, find_domain(tx, host, self._settings), version=version)
        return self._cache_all(names, resolve(tx, names, self._settings), blocked, version)

    def _cache_all(
        self, names: Sequence[Name], by_name: Mapping[Name, Resolved], blocked: Blocklist, version: int
    ) -> list[Resolved | None]:
        records = [without_blocked(by_name.get(name), blocked) for name in names]
        for name, record in zip(names, records, strict=True):
            if not isinstance(record, BioView | QrView) or record.size <= _MAX_CACHED:
                self._cache.put_resolved(name, record, version=version)
        return records
