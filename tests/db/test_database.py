"""The database, open and closed."""

import threading
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from tests.conftest import Person
from waypost.campaigns import ops as campaigns
from waypost.db import crud
from waypost.db.database import Database
from waypost.db.schema import links
from waypost.errors import Kind, Problem


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_closed_database_holds_no_connection_even_if_one_was_in_use(database_url: str) -> None:
    database = Database(database_url)
    opened: list[Any] = []
    event.listen(database._writer, "connect", lambda connection, _record: opened.append(connection))
    begun, closed = threading.Event(), threading.Event()

    def work(tx: Connection) -> int:
        begun.set()
        assert closed.wait(30)
        return int(tx.execute(text("SELECT 1")).scalar_one())

    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(database.read(work)))
    thread.start()
    assert begun.wait(30)
    database.close()
    closed.set()
    thread.join()
    assert found == [1]
    assert [connection.closed for connection in opened] == [True]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_who_refers_to_what_is_deleted_at_this_moment_is_told_that_it_is_gone(ana: Person, database: Database) -> None:
    campaign = ana.post("/campaign/add", {"name": "Spring"})["id"]
    tries = []

    def work(tx: Connection) -> None:
        tries.append(campaigns.own(tx, ana.account, campaign))
        if len(tries) == 1:
            database.write(lambda other: campaigns.remove(other, ana.account, campaign))
        values = {"host": "", "alias": "spring", "url": "https://example.com/", "campaign": campaign}
        crud.add(tx, links, ana.account, values)

    with pytest.raises(Problem) as refused:
        database.write(work)
    assert (refused.value.kind, len(tries)) == (Kind.NOT_FOUND, 1)
