"""SELECT statements of the hottest paths: compiled once, and executed by the driver without SQLAlchemy.

SQLAlchemy takes three times as long for a statement as the driver.
"""

from typing import Any, NamedTuple

from sqlalchemy import Connection, Dialect, Select

from waypost.db.parameters import check_values


class DriverSelect:
    """A SELECT. Its rows are tuples of the driver's own types, so JSON columns must be cast to text."""

    def __init__(self, statement: Select[Any]) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}  # by dialect

    def fetch_all(self, tx: Connection, **parameters: Any) -> list[tuple[Any, ...]]:
        """Return all rows. Raises the errors of SQLAlchemy."""
        check_values(parameters.values())
        compiled = self._compiled.get(tx.dialect.name) or self._compile(tx.dialect)
        values = compiled.values(parameters)
        driver: Any = tx.connection.driver_connection
        try:
            rows: list[tuple[Any, ...]] = driver.execute(compiled.sql, values).fetchall()
        except tx.dialect.loaded_dbapi.Error:
            # SQLAlchemy reports errors in its own way, and closes lost connections. A SELECT can be repeated.
            return [tuple(row) for row in tx.exec_driver_sql(compiled.sql, values)]
        return rows

    def _compile(self, dialect: Dialect) -> "_Compiled":
        compiled: Any = self._statement.compile(dialect=dialect)
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        self._compiled[dialect.name] = result = _Compiled(str(compiled), constants, compiled.positiontup)
        return result


class _Compiled(NamedTuple):
    sql: str
    constants: dict[str, Any]
    """Parameters that the statement itself defines."""
    order: list[str] | None
    """Names of the parameters, for drivers that take them by position."""

    def values(self, parameters: dict[str, Any]) -> Any:
        by_name = self.constants | parameters
        return by_name if self.order is None else tuple(by_name[name] for name in self.order)
