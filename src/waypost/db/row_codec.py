"""Rows as JSON, in two profiles: exact ones are read again (trash, backups), readable ones are for people (exports)."""

import base64
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from sqlalchemy import Column, LargeBinary, Table
from sqlalchemy.sql.schema import ScalarElementColumnDefault

from waypost.core import clock
from waypost.db.schema.columns import IS_TIME

Values = dict[str, Any]
Convert = Callable[[Any], Any]


def exact(value: Any) -> Any:
    """Return a column's value as JSON: bytes become Base64."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def exact_row(row: Mapping[Any, Any]) -> Values:
    """Return a row as JSON, which `decoder` reads."""
    return {name: exact(value) for name, value in row.items()}


def decoder(table: Table) -> Callable[[Mapping[str, Any]], Values]:
    """Return a function that returns the row of its exact JSON. It raises ValueError for invalid Base64."""
    binary = {column.name for column in table.c if isinstance(column.type, LargeBinary)}
    return lambda values: {
        name: base64.b64decode(value, validate=True) if name in binary and value is not None else value
        for name, value in values.items()
    }


@cache
def defaults(table: Table) -> Mapping[str, Any]:
    """Return the value that each column of the schema has in rows that were stored without it."""
    known = ((column.name, column.default) for column in table.c)
    return {name: each.arg if isinstance(each, ScalarElementColumnDefault) else None for name, each in known}


def readable(column: Column[Any]) -> Convert | None:
    """Return the conversion of a column to readable JSON: times become UTC text, bytes hexadecimal digits."""
    if column.info.get(IS_TIME):
        return as_time
    return as_hex if isinstance(column.type, LargeBinary) else None


def as_time(second: int) -> str:
    """Return seconds since 1970 as UTC text; the number itself if it is after the year 9999."""
    try:
        return clock.text(second)
    except (ValueError, OverflowError, OSError):
        return str(second)


def as_hex(value: bytes) -> str:
    """Return bytes as hexadecimal digits."""
    return bytes(value).hex()
