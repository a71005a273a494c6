"""Statements that reach the database."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine


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
    """Record the statements of the threads that run requests; background tasks have others."""
    statements: list[str] = []

    def record(_tx: Any, _cursor: Any, statement: str, *_details: Any) -> None:
        if threading.current_thread().name.startswith("api ") and "FROM changes" not in statement:
            statements.append(statement)

    event.listen(Engine, "before_cursor_execute", record)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", record)
