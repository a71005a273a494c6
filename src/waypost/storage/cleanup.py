"""Storage cleanup: delete objects that no file owns, and the content of files that expired long ago.

Objects that no file owns are recorded in one transaction, and removed later. Each running upload has a locked file: one
without a lock means that its process was killed. Other machines cannot see the locks: they remove the object of a
killed upload when its record expires.
"""

import fcntl
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update

from waypost.core import clock
from waypost.core.data_files import inherit_owner, make_folder
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import change_log
from waypost.db.database import Database, upsert
from waypost.db.schema import accounts, download_grants, files, installation, orphan_objects
from waypost.storage.factory import lost_objects
from waypost.storage.store import Store


class UploadLocks:
    """The locked files of this machine's uploads. Files without an upload are rare, so a scan costs little."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def acquire(self, name: str) -> int | None:
        """Lock the file of an object; return its descriptor.

        None if the disk has no room or no locks: the record of the upload must then expire first.
        """
        path = self._path(name)
        fd = -1
        try:
            make_folder(self._folder)
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            inherit_owner(path)
            fcntl.flock(fd, fcntl.LOCK_EX)
        except OSError:
            if fd >= 0:
                self.release(name, fd)
            return None
        return fd

    def release(self, name: str, fd: int | None) -> None:
        """Delete the file of an object whose upload has ended."""
        if fd is not None:
            with suppress(OSError):
                self._path(name).unlink(missing_ok=True)
            os.close(fd)

    def take_abandoned(self, work: Callable[[str], object]) -> None:
        """Call `work` with the name of each object whose process was killed, then delete its file."""
        try:
            entries = os.listdir(self._folder)  # noqa: PTH208  # names, without a Path for each
        except OSError:
            return
        for entry in entries:
            name = entry.replace("-", "/")
            try:
                fd = os.open(self._folder / entry, os.O_RDWR | os.O_CLOEXEC)
            except OSError:  # the upload has just ended
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # the upload is running, or the disk has no locks
                os.close(fd)
                continue
            try:
                work(name)
            except BaseException:
                os.close(fd)
                raise
            self.release(name, fd)

    def _path(self, name: str) -> Path:
        return self._folder / name.replace("/", "-")


_log = structlog.get_logger("files")
_BATCH = 100
_RETRY_SECONDS = 600  # until another process may retry a deletion that did not finish
_EXPIRY_SECONDS = 60  # interval of checks for expired files
_DAY = 86_400
BACKUP = "backup until"
"""Name of the installation value with the time until which a backup needs all objects."""


class StorageCleaner:
    """Cleans the storage. Several processes can run it at once: single statements decide which one does what."""

    def __init__(self, database: Database, store: Store, settings: Settings) -> None:
        self.store = store
        self.upload_locks = UploadLocks(settings.uploads_dir)
        self._database = database
        self._grace_seconds = settings.file_grace_days * _DAY
        self._expiry_checked = 0
        self._abandoned: list[str] = []

    def discard(self, name: str) -> None:
        """Delete the object of a failed upload, unless it became a file. `run_due` retries database errors."""
        try:
            if self._database.write(lambda tx: _mark_for_deletion(tx, name)):
                self._remove(name)
        except Problem:
            self._abandoned.append(name)

    def check_store(self) -> None:
        """Check the store for `/readyz`, and log objects that were lost."""
        self.store.check()
        with suppress(Problem):  # the database is away
            lost = lost_objects(self.store, self._database)
            if lost and lost != self.store.health.lost_objects:
                _log.error("file storage is empty", reason=lost)
            self.store.health.lost_objects = lost

    def run_due(self) -> None:
        """Do all work that is due. Errors are logged; the next call tries again."""
        try:
            abandoned, self._abandoned = self._abandoned, []
            for name in abandoned:
                self.discard(name)
            self.upload_locks.take_abandoned(self._expire)
            now = clock.now()
            if not 0 <= now - self._expiry_checked < _EXPIRY_SECONDS:
                self._expiry_checked = now
                self._purge_expired(now)
            for name in self._database.read(lambda tx: _due(tx, now)):
                if self._database.write(partial(_take_due, name=name, now=now)):
                    self._remove(name)
        except (Problem, OSError) as problem:
            _log.warning("storage cleanup failed", reason=str(problem))

    def _expire(self, name: str) -> None:
        """End the time of an upload whose process was killed. Without effect on a file."""
        is_uploading = (orphan_objects.c.object == name, orphan_objects.c.deleting.is_(False))
        self._database.write(lambda tx: tx.execute(update(orphan_objects).where(*is_uploading).values(due=clock.now())))

    def _remove(self, name: str) -> None:
        self.store.remove(name)
        self._database.write(lambda tx: forget_object(tx, name))

    def _purge_expired(self, now: int) -> None:
        """Mark expired files, purge those that expired long ago, and delete expired download grants."""
        if not self._database.read(lambda tx: _has_expired(tx, now, self._grace_seconds)):
            return

        def work(tx: Connection) -> int:
            tx.execute(delete(download_grants).where(download_grants.c.expires < now))
            tx.execute(update(files).where(files.c.ended.is_(None), _is_expired(now)).values(ended=now))
            return sum(_purge(tx, row, now) for row in _to_purge(tx, now, self._grace_seconds))

        if purged := self._database.write(work):
            _log.info("content of expired files deleted", files=purged)


def hold(tx: Connection, until: int) -> None:
    """Delete no object until this time."""
    statement = upsert(tx, installation).values(name=BACKUP, value=str(until).encode())
    tx.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"value": str(until).encode()}))


def release(tx: Connection) -> None:
    """Allow deletions again."""
    tx.execute(delete(installation).where(installation.c.name == BACKUP))


def _is_held(tx: Connection, now: int) -> bool:
    value = tx.execute(select(installation.c.value).where(installation.c.name == BACKUP)).scalar_one_or_none()
    return value is not None and now < int(bytes(value))


def _due(tx: Connection, now: int) -> list[str]:
    if _is_held(tx, now):
        return []
    query = (
        select(orphan_objects.c.object).where(orphan_objects.c.due <= now).order_by(orphan_objects.c.due).limit(_BATCH)
    )
    return list(tx.execute(query).scalars())


def _take_due(tx: Connection, *, name: str, now: int) -> bool:
    """Return whether this process is to delete the object. From now on it cannot become a file."""
    if _is_held(tx, now):
        return False
    statement = update(orphan_objects).where(orphan_objects.c.object == name, orphan_objects.c.due <= now)
    return tx.execute(statement.values(deleting=True, due=now + _RETRY_SECONDS)).rowcount == 1


def _mark_for_deletion(tx: Connection, name: str) -> bool:
    statement = update(orphan_objects).where(orphan_objects.c.object == name)
    return tx.execute(statement.values(deleting=True, due=clock.now())).rowcount == 1


def _is_expired(now: int) -> ColumnElement[bool]:
    return (files.c.expiry < now) | and_(files.c.maxdownloads.is_not(None), files.c.taken >= files.c.maxdownloads)


def _has_expired(tx: Connection, now: int, grace: int) -> bool:
    newly_expired = select(files.c.id).where(files.c.ended.is_(None), _is_expired(now)).limit(1)
    to_purge = select(files.c.id).where(files.c.ended <= now - grace, files.c.purged.is_(None)).limit(1)
    old_grants = select(download_grants.c.id).where(download_grants.c.expires < now).limit(1)
    return any(tx.execute(query).first() is not None for query in (newly_expired, to_purge, old_grants))


def _to_purge(tx: Connection, now: int, grace: int) -> Sequence[Any]:
    c = files.c
    query = select(c.id, c.account, c.object, c.size, c.host, c.alias)
    conditions = (c.ended <= now - grace, c.purged.is_(None), _is_expired(now))
    return tx.execute(query.where(*conditions).limit(_BATCH)).all()


def _purge(tx: Connection, row: Any, now: int) -> bool:
    """Release a file's object. Its row and its number of downloads stay."""
    statement = update(files).where(files.c.id == row.id, files.c.account == row.account, files.c.purged.is_(None))
    if tx.execute(statement.values(purged=now)).rowcount != 1:
        return False
    release_object(tx, row.account, row.object, row.size)
    change_log.record(tx, row.host, row.alias)
    return True


def forget_object(tx: Connection, name: str) -> None:
    """Delete the record of an object that was removed from the store."""
    tx.execute(delete(orphan_objects).where(orphan_objects.c.object == name))


def take_back_object(tx: Connection, account: int, name: str, size: int) -> None:
    """Undo a `release` of the same transaction, if there was one."""
    if tx.execute(delete(orphan_objects).where(orphan_objects.c.object == name)).rowcount:
        tx.execute(update(accounts).where(accounts.c.id == account).values(stored=accounts.c.stored + size))


def release_object(tx: Connection, account: int, name: str, size: int) -> None:
    """Mark an object for removal and subtract its size, in bytes, from the account's usage."""
    tx.execute(insert(orphan_objects).values(object=name, due=clock.now(), deleting=False))
    tx.execute(update(accounts).where(accounts.c.id == account).values(stored=accounts.c.stored - size))
