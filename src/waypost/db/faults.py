"""Errors of the database: what each one means to a request, and the sentence for an administrator."""

import sqlite3
from enum import Enum, auto
from typing import Any

from sqlalchemy.exc import DBAPIError, InterfaceError, NoSuchTableError, OperationalError

from waypost.core import reasons
from waypost.db.postgres import IDLE_IN_TRANSACTION
from waypost.db.sqlite_file import NoTurn

_STANDBY = "25006"
_NOT_SUPPORTED = "0A000"
_STANDBY_CHECKS = "variable.c"
"""The source file of PostgreSQL that refuses a mode of transactions on a standby, with the state _NOT_SUPPORTED."""
_INTERNAL = "XX000"
_CLUSTER_CONNECTIONS = "remote_transaction.c"
"""The source file of Citus that reports a lost connection to a node, with the state _INTERNAL."""
NO_RIGHT = "42501"
_FULL = "53100"
_LIMIT_OF_PROGRAM = "54"  # a class of states, such as a statement that is too complex
_DAMAGED = frozenset({"XX001", "XX002", "58P01"})
"""Data corrupted, index corrupted, and a missing file of a table."""
_SQLITE_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Fault(Enum):
    """Meaning of an error of the database."""

    OF_STATEMENT = auto()
    """The statement cannot work, such as one with an unknown table: an internal error, however often it is tried."""
    DAMAGE = auto()
    """Data or an index is damaged."""
    FULL = auto()
    """The disk is full."""
    STANDBY = auto()
    """The server became a standby, or ended the transaction."""
    UNAVAILABLE = auto()
    """The database or a node of its cluster is down, locked, or out of connections."""


def classify(error: DBAPIError) -> Fault:
    """Return what an error means, by its SQLSTATE or SQLite's result code."""
    state = sqlstate(error)
    if _sqlite_code(error) in _SQLITE_DAMAGED or state in _DAMAGED:
        return Fault.DAMAGE
    if state in (_STANDBY, IDLE_IN_TRANSACTION) or (state == _NOT_SUPPORTED and _is_from(_STANDBY_CHECKS, error)):
        return Fault.STANDBY
    if state == _INTERNAL and _is_from(_CLUSTER_CONNECTIONS, error):
        return Fault.UNAVAILABLE
    is_operational = isinstance(error, OperationalError | InterfaceError)
    if not is_operational or _sqlite_code(error) == sqlite3.SQLITE_ERROR or (state or "").startswith(_LIMIT_OF_PROGRAM):
        return Fault.OF_STATEMENT
    is_full = _sqlite_code(error) == sqlite3.SQLITE_FULL or state == _FULL
    return Fault.FULL if is_full else Fault.UNAVAILABLE


def is_locked(cause: BaseException | None) -> bool:
    """Return whether this cause of a problem is the lock of another writer of SQLite's file."""
    return isinstance(cause, NoTurn) or (isinstance(cause, DBAPIError) and _sqlite_code(cause) == sqlite3.SQLITE_BUSY)


def sqlstate(error: DBAPIError) -> str | None:
    """Return the SQLSTATE of PostgreSQL; None if there is none, as for a lost connection and for SQLite."""
    state: str | None = getattr(error.orig, "sqlstate", None)
    return state


def error_reason(error: BaseException) -> str:
    """The database's own error message on one line; "" for errors that did not come from the database."""
    cause = error if isinstance(error, DBAPIError) else error.__cause__
    if not isinstance(cause, DBAPIError):
        return ""
    diagnostics = getattr(cause.orig, "diag", None)  # the whole message of PostgreSQL has parts of the statement too
    return reasons.clean(getattr(diagnostics, "message_primary", None) or str(cause.orig))


def sentence(error: Exception) -> str:
    """Return the sentence for an administrator: the reason, the code, and the repair if there is one.

    Return "" for an error that is none of the database.
    """
    if isinstance(error, NoSuchTableError):
        return f"The database lacks the table {error}. Restore the newest backup into an empty installation."
    if not isinstance(error, DBAPIError):
        return ""
    code = sqlstate(error) or getattr(error.orig, "sqlite_errorname", "") or type(error.orig).__name__
    text = f"{error_reason(error)} ({code})"
    if classify(error) is Fault.DAMAGE:
        return f"The database is damaged: {text}. Restore the newest backup into an empty installation."
    if sqlstate(error) == NO_RIGHT:
        return f"The role of WAYPOST_DATABASE_URL lacks a right: {text}. Make it the owner of the database."
    return f"The database refused a statement: {text}."


def _sqlite_code(error: DBAPIError) -> int | None:
    """Return SQLite's primary result code."""
    code: int | None = getattr(error.orig, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _is_from(source_file: str, error: DBAPIError) -> bool:
    original: Any = error.orig
    return bool(original.diag.source_file == source_file)
