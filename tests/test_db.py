"""The database, open and closed."""

import threading
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from waypost.db import Database


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
