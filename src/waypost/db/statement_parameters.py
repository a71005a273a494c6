"""Parameters of statements: values that the databases cannot store, and lists of ids of any length.

Before every statement, values that cannot be stored are rejected (decision 70): PostgreSQL rejects NUL characters, and
neither database stores lone surrogates or integers beyond 64 bits.
"""

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Engine, String, bindparam, event
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import NullType

from waypost.core.errors import Kind, Problem

_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1


def check_parameters(engine: Engine) -> None:
    """Check the parameters of every statement that the engine executes."""

    @event.listens_for(engine, "before_cursor_execute")
    def check(_tx: Any, _cursor: Any, _statement: str, parameters: Any, *_details: Any) -> None:
        check_values(parameters.values() if isinstance(parameters, dict) else parameters)


def dump_json(value: Any) -> str:
    """Return the value of a JSON column. Raises INVALID for text that cannot be stored."""
    check_values([value])
    return json.dumps(value)


def is_storable(text: str) -> bool:
    """Return whether the databases can store the text."""
    return "\0" not in text and (text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text))


def check_values(values: Iterable[Any]) -> None:
    """Raise INVALID for values that cannot be stored."""
    for value in values:
        if isinstance(value, str):
            if not is_storable(value):
                raise Problem(Kind.INVALID, "Text must not contain NUL characters or lone surrogates.")
        elif isinstance(value, int):
            if not _MIN_INTEGER <= value <= _MAX_INTEGER:
                raise Problem(Kind.INVALID, "A number must fit into 64 bits.")
        elif isinstance(value, dict):
            check_values(value)
            check_values(value.values())
        elif isinstance(value, list | tuple):
            check_values(value)


class _IsOneOf(GenericFunction[Any]):
    """The condition that an integer is in a JSON array. Databases limit the number of parameters of a statement.

    It has no type: SQLAlchemy compares a Boolean with 1 on SQLite, which then uses no index.
    """

    type = NullType()
    inherit_cache = True
    _register = False


@compiles(_IsOneOf, "sqlite")
def _on_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    column, ids = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({ids}))"  # noqa: S608  # compiled clauses


@compiles(_IsOneOf, "postgresql")
def _on_postgresql(element: Any, compiler: Any, **options: Any) -> str:
    column, ids = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY(CAST(translate({ids}, '[]', '{{}}') AS bigint[]))"


def is_one_of(column: ColumnElement[Any], ids: Iterable[int]) -> ColumnElement[bool]:
    """Return the condition that an integer column has one of these values."""
    return _IsOneOf(column, bindparam(None, json.dumps(sorted(ids)), type_=String))
