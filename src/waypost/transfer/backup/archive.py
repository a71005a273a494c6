"""Backup and restore of all rows and files in one archive that does not depend on the database engine.

Format: a gzipped tar of `manifest.json`, `tables/<name>.jsonl` (one row per line, bytes as Base64), `files/…` and
`end.json`. The database has a record of how the last backup ended.
"""

import gzip
import json
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from waypost.core import clock, data_files, reasons
from waypost.core.errors import Kind, Problem
from waypost.db import last_backup, maintenance, upgrade
from waypost.db.database import Database
from waypost.db.faults import error_reason
from waypost.db.postgres import disable_timeouts
from waypost.storage import cleanup
from waypost.storage.store import Store
from waypost.transfer.backup import files as backup_files
from waypost.transfer.backup import tables
from waypost.transfer.backup.file_copies import FileCopies
from waypost.transfer.backup.tables import invalid_archive

T = TypeVar("T")
_FORMAT = 1
_MAX_BACKUP_SECONDS = 86_400
_FILES = "files"  # in the manifest: whether the contents of files are in the archive or in a folder
_FILES_ARE_IN_FOLDER = "The files of this archive are in a folder. Name it with --files-in."
_FILES_ARE_IN_ARCHIVE = "The files are in the archive. Restore it without --files-in."


@dataclass(frozen=True)
class ArchiveSummary:
    """The contents of an archive."""

    rows: int
    files: int
    missing: int = 0
    """Files whose bytes were not in the storage; only their rows are saved."""


def backup(
    database: Database, store: Store, target: Path | IO[bytes], *, copies: FileCopies | None = None
) -> ArchiveSummary:
    """Write everything to `target`, a path or a stream, from one snapshot of the database. The service may run.

    With `copies`, the contents of files are saved there and not in the archive. Objects that are deleted during the
    backup stay in the storage until it ends. Raises INVALID for an empty database or when `target` cannot be written,
    and UNAVAILABLE when database or storage are down.
    """
    if database.read(upgrade.current_revision) is None:
        raise invalid_archive("There is nothing to save: this installation was never started.")
    with _recorded(database):
        database.write(lambda tx: cleanup.hold(tx, clock.now() + _MAX_BACKUP_SECONDS))
        if isinstance(target, Path):
            return _to_file(target, lambda file: _write(database, store, file, copies))
        return _to_stream(target, lambda file: _write(database, store, file, copies))


def _write(database: Database, store: Store, file: IO[bytes], copies: FileCopies | None) -> ArchiveSummary:
    manifest = {"format": _FORMAT, "created": clock.text(clock.now()), _FILES: "folder" if copies else "archive"}
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=3) as tar:
        rows, stored = database.read(lambda tx: (tables.save(tx, tar, manifest), backup_files.stored_files(tx)))
        saved = copies.save(store, stored) if copies else backup_files.save(store, stored, tar)
        summary = ArchiveSummary(rows, saved, len(stored) - saved)
        backup_files.add_json(tar, "end.json", asdict(summary))
    return summary


def restore(
    database: Database, store: Store, source: Path, *, copies: FileCopies | None = None, name: str = ""
) -> ArchiveSummary:
    """Load an archive into an empty database and storage at the archive's revision, then upgrade the database.

    `copies` has the contents of the files if the archive has not. `name` stands for the source in messages.

    Raises INVALID, with nothing changed, for a file that is not an archive, is damaged or written by a newer version,
    and when there are accounts or files already.
    """
    saved_objects: list[str] = []
    name = name or str(source)
    try:
        _verify_checksum(source)
        with tarfile.open(source, "r:gz") as tar:
            summary = _load(database, store, tar, copies, saved_objects)
        saved_objects = []
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise invalid_archive(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    except (TypeError, ValueError, LookupError, SQLAlchemyError) as error:
        raise invalid_archive(f"{name} is damaged: its rows do not fit the tables.") from error
    finally:
        for saved in saved_objects:
            with suppress(Problem, OSError):
                store.remove(saved)
    upgrade.upgrade(database)
    database.write(maintenance.switch_off)  # it was that of the installation that was saved
    return summary


def _load(
    database: Database, store: Store, tar: tarfile.TarFile, copies: FileCopies | None, saved_objects: list[str]
) -> ArchiveSummary:
    manifest = _manifest(tar)
    if "end.json" not in tar.getnames():
        raise invalid_archive("The archive is damaged: its end is missing.")
    if manifest.get(_FILES, "archive") != ("folder" if copies else "archive"):
        raise invalid_archive(_FILES_ARE_IN_ARCHIVE if copies else _FILES_ARE_IN_FOLDER)
    if not store.is_empty():
        raise invalid_archive("There are files in the storage already. Restore into an empty one.")
    open_object = copies.open if copies else backup_files.opener(tar)

    def load(tx: Connection) -> ArchiveSummary:
        disable_timeouts(tx)
        rows = tables.load(tx, tar, manifest)
        return ArchiveSummary(rows, *backup_files.load(tx, open_object, store, saved_objects))

    return database.write(load)


def _verify_checksum(source: Path) -> None:
    """Read the whole file, so that gzip's checksum detects damage before anything is changed."""
    with gzip.open(source) as file:
        while file.read(1 << 20):
            pass


def _manifest(tar: tarfile.TarFile) -> Mapping[str, Any]:
    first = tar.next()
    file = tar.extractfile(first) if first and first.name == tables.MANIFEST else None
    try:
        manifest = json.loads(file.read(1 << 20)) if file else {}
    except ValueError:
        manifest = {}
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise invalid_archive("This is not an archive that `waypost backup` wrote.")
    if manifest.get("revision") not in upgrade.known_revisions():
        raise invalid_archive("The archive was written by a newer waypost. Install that version first.")
    return manifest


@contextmanager
def _recorded(database: Database) -> Iterator[None]:
    """Record how the backup in the block ends, and allow deletions of objects again.

    The error of a backup is always raised, also if it cannot be recorded.
    """

    def end(tx: Connection, error: BaseException | None = None) -> None:
        cleanup.release(tx)
        if error is None:
            last_backup.record(tx)
        else:
            last_backup.record_failure(tx, _reason(error))

    try:
        yield
    except BaseException as error:
        with suppress(Exception):  # the database can be the reason of the failure
            database.write(partial(end, error=error))
        raise
    database.write(end)


def _reason(error: BaseException) -> str:
    if isinstance(error, Problem):
        return error.message
    if isinstance(error, Exception):
        text = error_reason(error) if isinstance(error, DBAPIError) else str(error)
        return f"{reasons.clean(text) or type(error).__name__}."
    return "It was interrupted."


def _to_stream(stream: IO[bytes], write: Callable[[IO[bytes]], T]) -> T:
    """Write an archive to a stream. Raises INVALID if it cannot be written."""
    try:
        summary = write(stream)
        stream.flush()
    except OSError as error:
        raise Problem(Kind.INVALID, f"The output cannot be written: {error.strerror or error}.") from error
    return summary


def _to_file(target: Path, write: Callable[[IO[bytes]], T]) -> T:
    """Write an archive to a path, which is complete or as it was. Raises INVALID if it cannot be written."""
    try:
        with data_files.replacing(target) as file:
            summary = write(file)
            data_files.sync(file)
    except OSError as error:
        raise Problem(Kind.INVALID, f"{target} cannot be written: {error.strerror or error}.") from error
    return summary
