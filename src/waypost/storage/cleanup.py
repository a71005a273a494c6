"""What keeps the store and the database in step: objects that no file has are removed, and files long at their end."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Connection, and_, delete, select, update

from waypost import clock
from waypost.db import change_log
from waypost.db.database import Database, upsert
from waypost.db.schema import download_grants, files, installation, orphan_objects
from waypost.errors import Problem
from waypost.storage import orphans
from waypost.storage.store import Store

_log = structlog.get_logger("files")
_AT_ONCE = 100
_AGAIN_SECONDS = 600  # when another process may try to remove what one has begun to remove
_LOOK_SECONDS = 60  # how often ends are looked for
_DAY = 86_400
BACKUP = "backup until"
"""The fact that says until when no object may be removed, because a backup still needs it."""


class StorageCleaner:
    """Every process has one: what they do is decided by single statements, so that they are not in each other's way."""

    def __init__(self, database: Database, store: Store, *, grace_days: int) -> None:
        self.store = store
        self._database = database
        self._grace = grace_days * _DAY
        self._looked = 0
        self._abandoned: list[str] = []

    def discard(self, name: str) -> None:
        """Remove an object that was to become a file, unless it did. With the database away, `step` tries again."""
        try:
            if self._database.write(lambda tx: _doom(tx, name)):
                self._remove(name)
        except Problem:
            self._abandoned.append(name)

    def step(self) -> None:
        """Once in a while: whatever is due. Problems are logged; the next step tries again."""
        try:
            abandoned, self._abandoned = self._abandoned, []
            for name in abandoned:
                self.discard(name)
            now = clock.now()
            if not 0 <= now - self._looked < _LOOK_SECONDS:
                self._looked = now
                self._look_for_ends(now)
            for name in self._database.read(lambda tx: _due(tx, now)):
                if self._database.write(partial(_take_due, name=name, now=now)):
                    self._remove(name)
        except (Problem, OSError) as problem:
            _log.warning("files cannot be tidied up now", reason=str(problem))

    def _remove(self, name: str) -> None:
        self.store.remove(name)
        self._database.write(lambda tx: orphans.forget(tx, name))

    def _look_for_ends(self, now: int) -> None:
        """Note which files are at their end, give up the bytes of those that were for long; old claims too."""
        if not self._database.read(lambda tx: _has_ends(tx, now, self._grace)):
            return

        def work(tx: Connection) -> int:
            tx.execute(delete(download_grants).where(download_grants.c.expires < now))
            tx.execute(update(files).where(files.c.ended.is_(None), _is_over(now)).values(ended=now))
            return sum(_purge(tx, row, now) for row in _long_over(tx, now, self._grace))

        if purged := self._database.write(work):
            _log.info("bytes of files at their end are removed", files=purged)


def hold(tx: Connection, until: int) -> None:
    """Let no object be removed until then."""
    new = upsert(tx, installation).values(name=BACKUP, value=str(until).encode())
    tx.execute(new.on_conflict_do_update(index_elements=["name"], set_={"value": str(until).encode()}))


def release(tx: Connection) -> None:
    """Let objects be removed again."""
    tx.execute(delete(installation).where(installation.c.name == BACKUP))


def _is_held(tx: Connection, now: int) -> bool:
    value = tx.execute(select(installation.c.value).where(installation.c.name == BACKUP)).scalar_one_or_none()
    return value is not None and now < int(bytes(value))


def _due(tx: Connection, now: int) -> list[str]:
    if _is_held(tx, now):
        return []
    chosen = select(orphan_objects.c.object).where(orphan_objects.c.due <= now).order_by(orphan_objects.c.due).limit(_AT_ONCE)
    return list(tx.execute(chosen).scalars())


def _take_due(tx: Connection, *, name: str, now: int) -> bool:
    """Whether this process is the one that removes it; from now on it cannot become a file."""
    if _is_held(tx, now):
        return False
    mine = update(orphan_objects).where(orphan_objects.c.object == name, orphan_objects.c.due <= now)
    return tx.execute(mine.values(deleting=True, due=now + _AGAIN_SECONDS)).rowcount == 1


def _doom(tx: Connection, name: str) -> bool:
    mine = update(orphan_objects).where(orphan_objects.c.object == name)
    return tx.execute(mine.values(deleting=True, due=clock.now())).rowcount == 1


def _is_over(now: int) -> ColumnElement[bool]:
    return (files.c.expiry < now) | and_(files.c.maxdownloads.is_not(None), files.c.taken >= files.c.maxdownloads)


def _has_ends(tx: Connection, now: int, grace: int) -> bool:
    new = select(files.c.id).where(files.c.ended.is_(None), _is_over(now)).limit(1)
    old = select(files.c.id).where(files.c.ended <= now - grace, files.c.purged.is_(None)).limit(1)
    unused = select(download_grants.c.id).where(download_grants.c.expires < now).limit(1)
    return any(tx.execute(chosen).first() is not None for chosen in (new, old, unused))


def _long_over(tx: Connection, now: int, grace: int) -> Sequence[Any]:
    c = files.c
    chosen = select(c.id, c.account, c.object, c.size, c.host, c.alias)
    long = (c.ended <= now - grace, c.purged.is_(None), _is_over(now))
    return tx.execute(chosen.where(*long).limit(_AT_ONCE)).all()


def _purge(tx: Connection, row: Any, now: int) -> bool:
    """Give up a file's bytes; its row and its count stay."""
    mine = update(files).where(files.c.id == row.id, files.c.purged.is_(None))
    if tx.execute(mine.values(purged=now)).rowcount != 1:
        return False
    orphans.release(tx, row.account, row.object, row.size)
    change_log.record(tx, row.host, row.alias)
    return True
