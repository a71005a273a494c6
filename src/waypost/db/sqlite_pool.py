"""Connection pools of a SQLite file in WAL mode."""

import sqlite3
import time
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import StaticPool

from waypost.db.parameters import check_parameters, dump_json

_BUSY_SECONDS = 10
_WAL_ATTEMPTS = 100
_WAL_RETRY_SECONDS = 0.05


def create(url: str, *, begin: str | None, pragmas: tuple[str, ...], single: bool = False) -> Engine:
    """Connections that open transactions with `begin`, or open none; `single`: one connection for all threads."""
    options: dict[str, Any] = {"poolclass": StaticPool} if single else {"pool_size": 8, "max_overflow": 40}
    # isolation_level None: the sqlite3 module does not begin transactions by itself.
    connect = {"timeout": _BUSY_SECONDS, "check_same_thread": False, "isolation_level": None}
    engine = create_engine(url, connect_args=connect, json_serializer=dump_json, **options)
    check_parameters(engine)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        _use_wal(connection)
        for pragma in ("foreign_keys = ON", "cache_size = -8000", "mmap_size = 0", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
        connection.create_function("casefold", 1, _casefold, deterministic=True)

    if begin:
        event.listen(engine, "begin", partial(_begin, begin))
    return engine


def _casefold(content: str | None) -> str | None:
    """Fold the case of every script; SQLite's `lower` folds that of ASCII only."""
    return content if content is None else content.casefold()


def _begin(statement: str, connection: Connection) -> None:
    """Open a transaction. Not by SQLAlchemy's own way, which takes as long as a small query."""
    try:
        connection.connection.driver_connection.execute(statement)  # type: ignore[union-attr]
    except sqlite3.OperationalError as error:
        raise OperationalError(statement, None, error) from error


def _use_wal(connection: Any) -> None:
    """Switch to WAL. On a new file two connections can conflict, and SQLite's busy timeout does not cover that."""
    for is_last in (*([False] * _WAL_ATTEMPTS), True):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if is_last or "locked" not in str(error):
                raise
            time.sleep(_WAL_RETRY_SECONDS)
        else:
            return
