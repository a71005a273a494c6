"""Transactions: closing a database, and retries after a conflict."""

import threading
from typing import Any

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.pool import Pool

from tests.conftest import Person
from tests.support.databases import ON_POSTGRESQL
from tests.support.threads import join
from waypost.core.errors import Kind, Problem
from waypost.db import crud
from waypost.db.database import Database
from waypost.db.schema import links
from waypost.items.campaigns import ops as campaigns


@ON_POSTGRESQL
def test_close_while_connection_is_in_use_closes_it_on_return(database_url: str) -> None:
    connections: list[Any] = []

    def remember(connection: Any, _record: Any) -> None:
        connections.append(connection)

    event.listen(Pool, "connect", remember)
    database = Database(database_url)
    started, closed = threading.Event(), threading.Event()

    def work(tx: Connection) -> int:
        started.set()
        assert closed.wait(30)
        return int(tx.execute(text("SELECT 1")).scalar_one())

    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(database.read(work)))
    thread.start()
    assert started.wait(30)
    database.close()
    closed.set()
    join(thread)
    event.remove(Pool, "connect", remember)
    assert results == [1]
    assert [connection.closed for connection in connections] == [True]


@ON_POSTGRESQL
def test_reference_to_row_deleted_concurrently_raises_not_found(ana: Person, database: Database) -> None:
    campaign = ana.add("campaign", name="Spring")
    attempts = []

    def work(tx: Connection) -> None:
        attempts.append(campaigns.get_owned(tx, ana.account, campaign))
        if len(attempts) == 1:
            database.write(lambda other: campaigns.remove(other, ana.account, campaign))
        link = {"host": "", "alias": "spring", "url": "https://example.com/", "campaign": campaign}
        crud.add(tx, links, ana.account, link)

    with pytest.raises(Problem) as caught:
        database.write(work)
    assert (caught.value.kind, len(attempts)) == (Kind.NOT_FOUND, 1)


@ON_POSTGRESQL
def test_connection_used_for_all_kinds_of_transactions_has_the_properties_of_each(database: Database) -> None:
    def properties(tx: Connection) -> tuple[str, str]:
        names = ("transaction_isolation", "transaction_read_only")
        isolation, read_only = (tx.execute(text(f"SHOW {name}")).scalar_one() for name in names)
        return isolation, read_only

    for _ in range(2):
        assert database.write(properties) == ("read committed", "off")
        assert database.read(properties) == ("repeatable read", "on")
        assert database.read(properties, autocommit=True) == ("read committed", "off")
        assert database.read(properties) == ("repeatable read", "on")
        assert database.write(properties, autocommit=True) == ("read committed", "off")
