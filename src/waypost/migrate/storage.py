"""Moving up: the bytes of all files from one store to another, in steps, checked at the end."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection, Row, select

from waypost.backup.files import Reader
from waypost.db.database import Database
from waypost.db.schema import files
from waypost.errors import Kind, Problem
from waypost.http.file_names import disposition
from waypost.storage.store import Missing, Store

_PAGE = 500
Told = Callable[[str, int, int], None]
"""Is told how many bytes of how many are copied ("files"), or checked ("check of files")."""


@dataclass(frozen=True)
class Moved:
    """How many files were copied, were there already, and had no bytes in the source."""

    copied: int
    before: int
    missing: int


def move(database: Database, source: Store, target: Store, told: Told) -> Moved:
    """Copy what the target does not have, then read all of it back. Nothing is deleted; the service may go on.

    What is uploaded meanwhile is for another run. Raises INVALID when what came back is something else, UNAVAILABLE and
    STORAGE_FULL as the stores do: then the same call goes on where it ended.
    """
    wanted = database.read(_wanted)
    total = sum(row.size for row in wanted)
    done = copied = before = missing = 0
    for row in wanted:
        told("files", done, total)
        if target.size(row.object) == row.size:
            before += 1
        elif _copy(source, target, row):
            copied += 1
        else:
            missing += 1
        done += row.size
    told("files", done, total)
    done = 0
    for row in wanted:
        told("check of files", done, total)
        with suppress(Missing):
            _check(source, target, row)
        done += row.size
    told("check of files", done, total)
    return Moved(copied, before, missing)


def _wanted(tx: Connection) -> list[Row[tuple[str, str, int, bytes]]]:
    c = files.c
    return list(tx.execute(select(c.object, c.filename, c.size, c.sha256).where(c.purged.is_(None)).order_by(c.id)))


def _copy(source: Store, target: Store, row: Row[tuple[str, str, int, bytes]]) -> bool:
    """Copy an object; whether there was one."""
    try:
        _, chunks = source.load(row.object)
    except Missing:
        return False
    target.remove(row.object)  # what an earlier try left of it
    target.save(row.object, Reader(chunks), disposition=disposition(row.filename))
    return True


def _check(source: Store, target: Store, row: Row[tuple[str, str, int, bytes]]) -> None:
    """Read an object back; one that is damaged is copied once more. Raises Missing."""
    for last in (False, True):
        digest = hashlib.sha256()
        for chunk in target.load(row.object)[1]:
            digest.update(chunk)
        if digest.digest() == bytes(row.sha256):
            return
        if last:
            raise Problem(Kind.INVALID, f"The file {row.filename} ({row.object}) comes back as something else.")
        _copy(source, target, row)
