"""SQLite with a lower limit, so that a statement whose parameters grow with the data fails soon."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection

MAX_PARAMETERS = 999


@contextmanager
def few_parameters(tx: Connection) -> Iterator[None]:
    """Let statements on SQLite have at most `MAX_PARAMETERS` parameters. PostgreSQL keeps its limit."""
    driver: Any = tx.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        yield
        return
    before = driver.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, MAX_PARAMETERS)
    try:
        yield
    finally:
        driver.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, before)
