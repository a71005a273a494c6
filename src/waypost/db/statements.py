"""Statements of the hottest paths, executed by the driver without SQLAlchemy, and the parameters of all statements.

SQLAlchemy takes three to seven times as long for a statement as the driver. Before every statement, values that cannot
be stored are rejected (decision 70): PostgreSQL rejects NUL characters, and neither database stores lone surrogates or
integers beyond 64 bits. Lists of ids can have any length.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Dialect,
    Engine,
    Executable,
    Select,
    String,
    bindparam,
    event,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import NullType, TypeEngine

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


_FAILED_TRANSACTION = 3
"""psycopg's TransactionStatus.INERROR, in which PostgreSQL executes no statement."""


class _DriverStatement:
    """A statement with named parameters."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}  # by dialect

    def _for(self, dialect: Dialect) -> "_Compiled":
        return self._compiled.get(dialect.name) or self._compile(dialect)

    def _compile(self, dialect: Dialect) -> "_Compiled":
        compiled: Any = self._statement.compile(dialect=dialect)  # type: ignore[attr-defined]  # of every statement
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        self._compiled[dialect.name] = result = _Compiled(str(compiled), constants, compiled.positiontup)
        return result


class DriverSelect(_DriverStatement):
    """A SELECT. Its rows are tuples of the driver's own types, so JSON columns must be cast to text."""

    def __init__(self, statement: Select[Any] | CompoundSelect[Any]) -> None:
        super().__init__(statement)

    def fetch_all(self, tx: Connection, **parameters: Any) -> list[tuple[Any, ...]]:
        """Return all rows. Raises the errors of SQLAlchemy."""
        check_values(parameters.values())
        compiled = self._for(tx.dialect)
        values = compiled.values(parameters)
        driver: Any = tx.connection.driver_connection
        driver_error = tx.dialect.loaded_dbapi.Error
        if (checkout := tx.info.get("checkout")) is not None:
            checkout.last_sent = time.monotonic()  # as the event of SQLAlchemy would
        try:
            rows: list[tuple[Any, ...]] = driver.execute(compiled.sql, values).fetchall()
        except driver_error as error:
            if tx.dialect.name == "postgresql" and driver.info.transaction_status == _FAILED_TRANSACTION:
                raise DBAPIError.instance(compiled.sql, values, error, driver_error, dialect=tx.dialect) from error
            # SQLAlchemy reports errors in its own way, and closes lost connections. A SELECT can be repeated.
            return [tuple(row) for row in tx.exec_driver_sql(compiled.sql, values)]
        return rows

    def numbered(self, dialect: Dialect) -> tuple[str, list[str], dict[str, Any]]:
        """Return the SQL with `$1`, `$2` and so on, the names of its parameters in order, and its constants."""
        compiled = self._for(dialect)
        numbers: defaultdict[str, str] = defaultdict(lambda: f"${len(numbers) + 1}")
        return compiled.sql % numbers, list(numbers), compiled.constants


class TypedSelect(DriverSelect):
    """A SELECT whose values have the types of its columns, such as `bool` and parsed JSON."""

    def __init__(self, statement: Select[Any]) -> None:
        super().__init__(statement)
        self._names: Sequence[str] = statement.selected_columns.keys()
        self._types = [column.type for column in statement.selected_columns]
        self._converters: dict[str, Sequence[_Converter]] = {}  # by dialect

    def fetch_all(self, tx: Connection, **parameters: Any) -> list[tuple[Any, ...]]:
        """Return all rows. Raises the errors of SQLAlchemy."""
        rows = super().fetch_all(tx, **parameters)
        converters = self._converters.get(tx.dialect.name)
        if converters is None:
            converters = self._converters[tx.dialect.name] = _converters(self._types, tx.dialect)
        return [_converted(row, converters) for row in rows] if converters else rows

    def fetch_first(self, tx: Connection, **parameters: Any) -> dict[str, Any] | None:
        """Return the first row by the names of the columns. Raises the errors of SQLAlchemy."""
        rows = self.fetch_all(tx, **parameters)
        return dict(zip(self._names, rows[0], strict=True)) if rows else None


_Converter = tuple[int, Callable[[Any], Any]]
"""The index of a column, and the function from the driver's value to the column's."""


def _converters(types: Iterable[TypeEngine[Any]], dialect: Dialect) -> Sequence[_Converter]:
    functions = (type_.dialect_impl(dialect).result_processor(dialect, None) for type_ in types)
    return [(index, function) for index, function in enumerate(functions) if function is not None]


def _converted(row: tuple[Any, ...], converters: Sequence[_Converter]) -> tuple[Any, ...]:
    values = list(row)
    for index, convert in converters:
        values[index] = convert(values[index])
    return tuple(values)


class DriverChange(_DriverStatement):
    """An INSERT, UPDATE or DELETE whose parameters are numbers and text."""

    def execute(self, tx: Connection, **parameters: Any) -> "ChangeResult":
        """Execute the statement. Raises the errors of SQLAlchemy."""
        check_values(parameters.values())
        compiled = self._for(tx.dialect)
        values = compiled.values(parameters)
        if tx.dialect.name != "sqlite":
            return tx.exec_driver_sql(compiled.sql, values)  # which handles lost connections
        driver: Any = tx.connection.driver_connection
        driver_error = tx.dialect.loaded_dbapi.Error
        try:
            result: ChangeResult = driver.execute(compiled.sql, values)
        except driver_error as error:
            raise DBAPIError.instance(compiled.sql, values, error, driver_error, dialect=tx.dialect) from error
        return result


class ChangeResult(Protocol):
    """The number of changed rows, and those of a RETURNING clause."""

    @property
    def rowcount(self) -> int: ...

    def fetchall(self) -> Any: ...


class _Compiled(NamedTuple):
    sql: str
    constants: dict[str, Any]
    """Parameters that the statement itself defines."""
    order: list[str] | None
    """Names of the parameters, for drivers that take them by position."""

    def values(self, parameters: dict[str, Any]) -> Any:
        by_name = self.constants | parameters
        return by_name if self.order is None else tuple(by_name[name] for name in self.order)
