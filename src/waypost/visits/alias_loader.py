"""Load the records of aliases that are not in the cache: those of one turn of the event loop by one statement."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import structlog
from sqlalchemy import Connection

from waypost.core.settings import Settings
from waypost.db.change_log import Name
from waypost.db.database import Database
from waypost.urls import blocklist
from waypost.urls.blocklist import Blocklist
from waypost.visits.batcher import Batcher, deliver
from waypost.visits.blocked_urls import without_blocked
from waypost.visits.cache import Cache
from waypost.visits.domain_record import find_domain
from waypost.visits.record_queries import NAMED_RECORDS, BioView, QrView, Resolved, plain_links, resolve

_log = structlog.get_logger("visits")
_MAX_CACHED = 16_384  # characters; larger bio pages and QR codes are read from the database every time
_Key = tuple[int, Name]
LoadResult = Resolved | BaseException | None
"""The record of a name, None if there is none, or the exception that reading it raised."""


class AliasLoader:
    """The loader of one worker."""

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
                _log.exception("names could not be read on the event loop")
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
