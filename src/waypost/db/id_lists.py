"""Conditions with a list of ids of any length, as a single parameter."""

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, String, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import NullType


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
