"""The target of a backup, a file or a stream, and the record of how the backup ended."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from waypost.core import data_files, reasons
from waypost.core.errors import Kind, Problem
from waypost.db import last_backup
from waypost.db.database import Database
from waypost.db.faults import error_reason
from waypost.storage import cleanup

T = TypeVar("T")


@contextmanager
def recorded(database: Database) -> Iterator[None]:
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


def to_stream(stream: IO[bytes], write: Callable[[IO[bytes]], T]) -> T:
    """Write an archive to a stream. Raises INVALID if it cannot be written."""
    try:
        summary = write(stream)
        stream.flush()
    except OSError as error:
        raise Problem(Kind.INVALID, f"The output cannot be written: {error.strerror or error}.") from error
    return summary


def to_file(target: Path, write: Callable[[IO[bytes]], T]) -> T:
    """Write an archive to a path, which is complete or as it was. Raises INVALID if it cannot be written."""
    try:
        with data_files.replacing(target) as file:
            summary = write(file)
            data_files.sync(file)
    except OSError as error:
        raise Problem(Kind.INVALID, f"{target} cannot be written: {error.strerror or error}.") from error
    return summary
