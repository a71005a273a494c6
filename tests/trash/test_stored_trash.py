"""Items that an earlier version moved to the trash come back exactly."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from tests.conftest import Person
from tests.support import stored_data
from tests.support.trash import entries, restore
from waypost.db import page_counters, schema
from waypost.db.database import Database


def test_trash_of_version_1_0_is_restored_exactly(ana: Person, database: Database) -> None:
    stored: dict[str, Any] = stored_data.rows("trash.json")

    def fill(tx: Connection) -> None:
        for table in ("trash", "aliases"):
            stored_data.put(tx, table, stored[table])
        for row in stored["trash"]:
            page_counters.increment(tx, ana.account, "trash", row["id"], 1)

    database.write(fill)
    restore(database, ana, entries(database, ana))
    assert entries(database, ana) == []
    for name, rows in stored["items"].items():
        table = schema.metadata.tables[name]
        query = select(table).order_by(*table.primary_key)
        current = database.read(lambda tx: tx.execute(query).mappings().all())  # noqa: B023  # called at once
        assert len(current) == len(rows), name
        for row, before in zip(map(_plain, current), rows, strict=True):
            assert {column: row.get(column) for column in before} == before, name


def _plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
