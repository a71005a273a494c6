"""Statements that reach the database."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from sqlalchemy import Connection, event
from sqlalchemy.engine import Engine

from waypost.db.statements import ChangeResult, DriverChange, DriverSelect


@contextmanager
def counted_statements(*tables: str) -> Iterator[list[str]]:
    """Collect the statements of the block that name one of the tables; others can be of threads in the background."""
    statements: list[str] = []

    def record(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if any(f" {table}" in statement for table in tables):
            statements.append(statement)

    event.listen(Engine, "before_cursor_execute", record)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", record)


@contextmanager
def recorded_statements() -> Iterator[list[str]]:
    """Record the statements of the threads that run requests; background tasks have others.

    BEGIN and COMMIT are not recorded, nor reads of the change log.
    """
    statements: list[str] = []

    def record(_tx: Any, _cursor: Any, statement: str, *_details: Any) -> None:
        if threading.current_thread().name.startswith("api ") and "FROM changes" not in statement:
            statements.append(statement)

    event.listen(Engine, "before_cursor_execute", record)
    try:
        with _recorded_by_driver(record):
            yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", record)


@contextmanager
def _recorded_by_driver(record: Callable[[Any, Any, str], None]) -> Iterator[None]:
    """Record the statements that the driver executes without events of SQLAlchemy."""
    fetch_all, execute = DriverSelect.fetch_all, DriverChange.execute

    def recording_fetch_all(select: DriverSelect, tx: Connection, /, **parameters: Any) -> list[tuple[Any, ...]]:
        record(None, None, select._for(tx.dialect).sql)
        return fetch_all(select, tx, **parameters)

    def recording_execute(change: DriverChange, tx: Connection, /, **parameters: Any) -> ChangeResult:
        if tx.dialect.name == "sqlite":  # on PostgreSQL there is an event
            record(None, None, change._for(tx.dialect).sql)
        return execute(change, tx, **parameters)

    with (
        patch.object(DriverSelect, "fetch_all", recording_fetch_all),
        patch.object(DriverChange, "execute", recording_execute),
    ):
        yield
