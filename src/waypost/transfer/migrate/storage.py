"""Migrate the bytes of all files from one storage to another: resumable, verified at the end."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection, Row, select

from waypost.core.errors import Kind, Problem
from waypost.db.database import Database
from waypost.db.schema import files
from waypost.http.file_names import disposition
from waypost.storage.store import ObjectNotFound, Store
from waypost.transfer.backup.files import ChunkReader
from waypost.trash import ops as trash

_File = Row[tuple[str, str, int, bytes]] | trash.StoredObject
ProgressCallback = Callable[[str, int, int], None]
"""Called with the step, such as "copy" or "check", and the rows or bytes that are done, and in total."""


@dataclass(frozen=True)
class StorageResult:
    """Files that were copied, that the target had already, and whose bytes the source does not have."""

    copied: int
    skipped: int
    missing: int


def migrate(database: Database, source: Store, target: Store, progress: ProgressCallback) -> StorageResult:
    """Copy the objects that the target lacks, then read all of them back. Deletes nothing; the service may run.

    Files that are uploaded during the run need another run. Raises INVALID if the target returns different bytes, and
    UNAVAILABLE and STORAGE_FULL as the stores do; then the same call resumes.
    """
    rows = database.read(_files)
    copied = skipped = missing = 0
    for row in _with_progress(rows, "files", progress):
        if target.size(row.object) == row.size:
            skipped += 1
        elif _copy(source, target, row):
            copied += 1
        else:
            missing += 1
    for row in _with_progress(rows, "check of files", progress):
        with suppress(ObjectNotFound):
            _verify(source, target, row)
    return StorageResult(copied, skipped, missing)


def _with_progress(rows: list[_File], step: str, progress: ProgressCallback) -> Iterator[_File]:
    """Yield the rows, and report their size as progress."""
    total, done = sum(row.size for row in rows), 0
    for row in rows:
        progress(step, done, total)
        yield row
        done += row.size
    progress(step, done, total)


def _files(tx: Connection) -> list[_File]:
    c = files.c
    stored = tx.execute(select(c.object, c.filename, c.size, c.sha256).where(c.purged.is_(None)).order_by(c.id))
    return [*stored, *trash.stored_objects(tx)]


def _copy(source: Store, target: Store, row: _File) -> bool:
    """Copy an object; return whether the source has it."""
    try:
        _, chunks = source.load(row.object)
    except ObjectNotFound:
        return False
    target.remove(row.object)  # a partial copy of an interrupted run
    target.save(row.object, ChunkReader(chunks), disposition=disposition(row.filename))
    return True


def _verify(source: Store, target: Store, row: _File) -> None:
    """Read an object back and copy a damaged one again, once. Raises INVALID and ObjectNotFound."""
    for is_last in (False, True):
        digest = hashlib.sha256()
        for chunk in target.load(row.object)[1]:
            digest.update(chunk)
        if digest.digest() == row.sha256:
            return
        if is_last:
            raise Problem(Kind.INVALID, f"The file {row.filename} ({row.object}) was copied with errors.")
        _copy(source, target, row)
