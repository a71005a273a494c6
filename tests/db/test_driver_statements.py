"""Statements that the driver executes: results and errors as with SQLAlchemy, on both databases."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, RowMapping, Select, bindparam, delete, func, insert, null, select, text, update
from sqlalchemy.exc import IntegrityError

from tests.support.databases import ON_POSTGRESQL
from waypost.core.errors import Kind, Problem
from waypost.db import crud
from waypost.db.database import Database
from waypost.db.schema import accounts, links, plans
from waypost.db.statements import DriverChange, DriverSelect, TypedSelect
from waypost.db.upgrade import upgrade
from waypost.items.accounts import ops as account_ops

_COLUMNS = ("name", "status", "rate_limit", "upload_limit")
_ADD = DriverChange(
    insert(plans).values({**{name: bindparam(name) for name in _COLUMNS}, "name_key": null()}).returning(plans.c.name)
)
_CHANGE = DriverChange(update(plans).where(plans.c.name == bindparam("called")).values(rate_limit=bindparam("limit")))
_REMOVE = DriverChange(delete(plans).where(plans.c.name == bindparam("called")))
_LIMITS = DriverSelect(select(plans.c.rate_limit).where(plans.c.name == bindparam("called")))
_VALUES = {"name": "Large", "status": "pro", "rate_limit": 60, "upload_limit": 1}


@pytest.fixture
def migrated(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as database:
        upgrade(database)
        yield database


def test_changes_return_rows_and_their_number(migrated: Database) -> None:
    assert [tuple(row) for row in migrated.write(lambda tx: _ADD.execute(tx, **_VALUES).fetchall())] == [("Large",)]
    assert migrated.write(lambda tx: _CHANGE.execute(tx, called="Large", limit=90).rowcount) == 1
    assert migrated.write(lambda tx: _CHANGE.execute(tx, called="None", limit=90).rowcount) == 0
    assert migrated.read(lambda tx: _LIMITS.fetch_all(tx, called="Large")) == [(90,)]
    assert migrated.write(lambda tx: _REMOVE.execute(tx, called="Large").rowcount) == 1


def test_violated_constraint_is_an_error_of_sqlalchemy_and_rolls_back(migrated: Database) -> None:
    migrated.write(lambda tx: _ADD.execute(tx, **_VALUES).fetchall())
    with pytest.raises(IntegrityError):
        migrated.write(lambda tx: (_CHANGE.execute(tx, called="Large", limit=90), _ADD.execute(tx, **_VALUES)))
    assert migrated.read(lambda tx: _LIMITS.fetch_all(tx, called="Large")) == [(60,)]


def _one(query: Select[Any], tx: Connection) -> RowMapping:
    return tx.execute(query).mappings().one()


def test_typed_values_equal_those_of_sqlalchemy(migrated: Database) -> None:
    address = {"host": "", "alias": "spring", "url": "https://example.com/"}
    values = {**address, "geotarget": [{"location": "France", "link": "https://example.com/fr"}], "deeplink": {}}

    def add(tx: Connection) -> None:
        owner = account_ops.add(tx, email="ana@example.com", username="ana", password="")
        crud.add(tx, links, owner.id, {**values, "search": ""})

    migrated.write(add)
    for query in (select(links), select(accounts)):
        expected = migrated.read(partial(_one, query))
        assert migrated.read(TypedSelect(query).fetch_first) == dict(expected)
        assert migrated.read(TypedSelect(query).fetch_all) == [tuple(expected.values())]
    assert migrated.read(TypedSelect(select(links).where(links.c.alias == "autumn")).fetch_first) is None
    assert migrated.read(TypedSelect(select(accounts.c.owner)).fetch_all) == [(True,)]


@ON_POSTGRESQL
@pytest.mark.parametrize("autocommit", [True, False])
def test_statement_that_the_server_cancels_is_unavailable(migrated: Database, *, autocommit: bool) -> None:
    slow = DriverSelect(select(func.pg_sleep(30)))

    def work(tx: Connection) -> None:
        tx.execute(text("SET statement_timeout = '50ms'"))
        slow.fetch_all(tx)

    with pytest.raises(Problem) as caught:
        migrated.read(work, autocommit=autocommit)
    assert caught.value.kind is Kind.UNAVAILABLE


def test_nul_in_a_value_is_refused(migrated: Database) -> None:
    with pytest.raises(Problem, match="NUL"):
        migrated.write(lambda tx: _CHANGE.execute(tx, called="a\0b", limit=90))
