"""Load the records of aliases that are not in the cache: those of one turn of the event loop by one statement."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from sqlalchemy import Connection

from waypost.db.change_log import Name
from waypost.db.database import Database
from waypost.settings import Settings
from waypost.urls import blocklist
from waypost.visits.blocked_urls import without_blocked
from waypost.visits.cache import Cache
from waypost.visits.lookup import BioView, QrView, Resolved, find_domain, resolve

Outcome = Resolved | BaseException | None
"""The record of a name, None if there is none, or the exception that loading it raised."""
_CONCURRENT_READS = 4
_SLOW_SECONDS = 0.05  # one read at a time collects more names; another one begins only if it takes longer
_MAX_BATCH = 500  # names
_MAX_WAITING = 1000  # names
_STALL_SECONDS = 0.25
_MAX_CACHED = 16_384  # characters; larger bio pages and QR codes are read from the database every time


class AliasLoader:
    """The loader of one worker. Runs on the event loop; reads in threads."""

    def __init__(self, database: Database, cache: Cache, settings: Settings) -> None:
        self._database = database
        self._cache = cache
        self._settings = settings
        self._threads = ThreadPoolExecutor(_CONCURRENT_READS, thread_name_prefix="aliases")
        # By cache version and name: a request after a change does not share an earlier read.
        self._waiting: dict[tuple[int, Name], list[Callable[[Outcome], None]]] = {}
        self._queue: list[tuple[int, Name]] = []
        self._reads = 0
        self._progress_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_overloaded(self) -> bool:
        """Return whether many names are waiting, or the database is slow."""
        is_stalled = self._reads > 0 and time.monotonic() - self._progress_at > _STALL_SECONDS
        return is_stalled or len(self._waiting) >= _MAX_WAITING

    def load(self, name: Name, done: Callable[[Outcome], None]) -> None:
        """Read the record of a name, and call `done` with it in a later turn of the event loop."""
        key = (self._cache.version, name)
        callbacks = self._waiting.setdefault(key, [])
        callbacks.append(done)
        if len(callbacks) == 1:
            self._queue.append(key)
            if len(self._queue) == 1:
                asyncio.get_running_loop().call_soon(self._start)

    async def read(self, name: Name) -> Resolved | None:
        """Return the record of a name."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.load(name, lambda outcome: None if future.done() else future.set_result(outcome))
        outcome = await future
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown(wait=False)

    def _start(self) -> None:
        """Begin to read the names in the queue, unless the reads in progress are fast or all threads are busy."""
        if not self._queue or self._reads >= _CONCURRENT_READS:
            return
        if self._reads and time.monotonic() - self._progress_at < _SLOW_SECONDS:
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_SLOW_SECONDS, self._start_another)
            return
        batch, self._queue = self._queue[:_MAX_BATCH], self._queue[_MAX_BATCH:]
        if not self._reads:
            self._progress_at = time.monotonic()
        self._reads += 1
        self._threads.submit(self._read, batch, self._cache.version, asyncio.get_running_loop())

    def _start_another(self) -> None:
        self._timer = None
        self._start()

    def _read(self, batch: Sequence[tuple[int, Name]], version: int, loop: asyncio.AbstractEventLoop) -> None:
        """Read in a thread, and deliver the outcomes to the event loop."""
        names = list({name for _, name in batch})
        outcomes: dict[Name, Outcome]
        try:
            outcomes = self._database.read(lambda tx: self._read_all(tx, names, version), autocommit=True)
        except BaseException as error:  # noqa: BLE001  # every waiting request raises it
            outcomes = dict.fromkeys(names, error)
        with suppress(RuntimeError):  # the event loop has ended
            loop.call_soon_threadsafe(self._finish, batch, outcomes, loop)

    def _read_all(self, tx: Connection, names: Sequence[Name], version: int) -> dict[Name, Outcome]:
        """Return the records. They, the blocklist and the domains of their hosts are cached."""
        cache = self._cache
        blocked = cache.blocklist
        if blocked is None:
            blocked = blocklist.read(tx)
            cache.put_blocklist(blocked, version=version)
        for host in {host for host, _ in names}:
            if not cache.get_domain(host)[0]:
                cache.put_domain(host, find_domain(tx, host), version=version)
        records_by_name = resolve(tx, names, self._settings)
        records: dict[Name, Outcome] = {}
        for name in names:
            record = without_blocked(records_by_name.get(name), blocked)
            if not isinstance(record, BioView | QrView) or record.size <= _MAX_CACHED:
                cache.put_resolved(name, record, version=version)
            records[name] = record
        return records

    def _finish(
        self, batch: Sequence[tuple[int, Name]], outcomes: dict[Name, Outcome], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._reads -= 1
        self._progress_at = time.monotonic()
        for key in batch:
            for done in self._waiting.pop(key):
                loop.call_soon(done, outcomes[key[1]])
        self._start()
