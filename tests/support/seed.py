"""Fill every table of an installation, and read all rows, to verify that nothing gets lost."""

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Integer,
    LargeBinary,
    Table,
    func,
    insert,
    select,
)

from tests.conftest import Person
from tests.contract.alias_resources import BIO
from tests.contract.resources import RESOURCES
from tests.support.bios import new_bio_with_all_parts
from waypost.dashboard.trash import one_by_one
from waypost.db import schema
from waypost.db.database import Database
from waypost.items.files import ops as files
from waypost.trash import ops as trash


def fill_all_tables(ana: Person, ben: Person) -> None:
    """Create at least one row in every table: through the API, directly in the others."""
    for resource in RESOURCES:
        for number in (1, 2):
            assert ana.call("POST", f"{resource.path}/add", resource.body(number)).json()["error"] == 0
    ben.post("/bio/add", BIO.body(3))
    new_bio_with_all_parts(ana)
    contents = {"a.bin": b"\x00\xff" * 5000, "b.txt": b"aaa", "trash.bin": b"trash"}
    uploaded = [ana.call("POST", f"/files/upload/{name}", content=content).json() for name, content in contents.items()]
    link = ana.add(
        "url",
        url="https://example.com/ünï?a=%20",
        domain="go1.brand.example",
        password="a secret",
        expiry="2999-12-31",
        pixels=[1, 2],
        channel=[1],
        campaign=1,
        type="overlay-1",
        geotarget=[{"location": "France", "link": "https://example.fr/"}],
        parameters=[{"name": "a", "value": "'\"\\ü"}],
    )
    ana.post("/channel/2/assign/bio/1")
    ana.post("/share/add", {"type": "link", "itemid": link, "title": "Clicks", "password": "a secret", "days": 30})
    ana.remove("url", link - 1)
    in_trash = uploaded[-1]["id"]
    ana.write(lambda tx: trash.move(tx, ana.account, "file", [in_trash], one_by_one(files.remove)))
    ana.write(_fill_empty_tables)


def _fill_empty_tables(tx: Connection) -> None:
    for table in schema.metadata.sorted_tables:
        if tx.execute(select(func.count()).select_from(table)).scalar_one() == 0:
            tx.execute(insert(table).values(_sample_row(table)))


def _sample_row(table: Table) -> dict[str, Any]:
    """A value for every column of a table."""
    return {column.name: _value(column) for column in table.c if column.name != "id"}


def _value(column: Column[Any]) -> Any:
    if column.foreign_keys or column.name == "account":
        return 1
    values_by_type: list[tuple[type, Any]] = [
        (Boolean, True),
        (BigInteger, 2**40),
        (Integer, 7),
        (LargeBinary, bytes(range(256))),
        (JSON, {"a": [1, "ü", None]}),
    ]
    return next((value for type_, value in values_by_type if isinstance(column.type, type_)), "ü\n")


def all_rows(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables, in an order that does not depend on the database engine.

    Without the time of the last backup, which an archive cannot contain itself, and that of the last health check.
    """

    def work(tx: Connection) -> dict[str, list[tuple[Any, ...]]]:
        tables = schema.metadata.sorted_tables
        rows = {table.name: sorted((tuple(row) for row in tx.execute(select(table))), key=repr) for table in tables}
        rows["installation"] = [row for row in rows["installation"] if row[0] not in ("last backup", "write probe")]
        return rows

    return database.read(work)
