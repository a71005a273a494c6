"""One of two nodes is killed, or stands still for a while: the other goes on, and nothing that was told is lost.

Every visitor is a client of one node, so that each answer is one click.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, update

from tests.support.load import ALIASES, LIMIT, Load, check, until
from tests.support.nodes import Nodes, two_nodes
from tests.support.server import Server
from waypost.db.database import Database
from waypost.db.schema import installation


@pytest.fixture
def nodes(postgres: str, tmp_path: Path) -> Iterator[Nodes]:
    """A pair with the links that visitors come to."""
    with two_nodes(tmp_path, postgres) as pair:
        for alias in ALIASES:
            pair.add(alias)
        pair.add("limited", clicklimit=LIMIT)
        yield pair
        assert "Traceback" not in pair.first.output() + pair.second.output()


@contextmanager
def _on_both(load: Load, nodes: Nodes) -> Iterator[None]:
    with load.on(nodes.first, nodes.key), load.on(nodes.second, nodes.key):
        load.wait_for_progress()
        yield
        load.wait_for_progress()


def _visit(node: Server, alias: str) -> int:
    return node.call("GET", f"/{alias}", follow_redirects=False, headers={"User-Agent": "curl/8"}).status_code


def _check(nodes: Nodes, one: Server, other: Server, load: Load) -> None:
    """Each node counts what it has written itself before it tells a number, if its ingester is there yet."""
    for node in (one, other):
        until(lambda: _has_counted(nodes, node))  # noqa: B023
    check(other, nodes.key, load)


def _has_counted(nodes: Nodes, node: Server) -> bool:
    answer = node.call("GET", "/api/urls", key=nodes.key, params={"short": "limited"})
    assert answer.status_code in (200, 503), answer.text
    return answer.status_code == 200


def test_a_node_that_is_killed_costs_no_click_no_write_and_no_limit(nodes: Nodes) -> None:
    load = Load(refuses=True)  # what the dead node had locked is free a moment later
    with _on_both(load, nodes):
        os.killpg(nodes.second.process.pid, signal.SIGKILL)
        nodes.second.process.wait()
    with nodes.second_again() as again:  # what the first life had not counted is counted in the next
        with load.on(nodes.first, nodes.key), load.on(again, nodes.key):
            load.wait_for_progress()
        _check(nodes, nodes.first, again, load)
        _check(nodes, again, nodes.first, load)
    assert load.answered["limited"] >= LIMIT - load.doubtful


def test_a_node_that_stood_still_knows_what_changed_meanwhile(nodes: Nodes) -> None:
    link = nodes.add("changing")
    load = Load(refuses=True)  # the first may wait in vain for what the second has locked
    assert _visit(nodes.second, "changing") == 302
    for status, code in (("disabled", 403), ("public", 302)):
        with _on_both(load, nodes):
            os.killpg(nodes.second.process.pid, signal.SIGSTOP)
            try:
                load.wait_for_progress()  # the other goes on
                until(lambda: _change(nodes, link, status))  # noqa: B023
                until(lambda: _visit(nodes.first, "changing") == code)  # noqa: B023
            finally:
                os.killpg(nodes.second.process.pid, signal.SIGCONT)
            until(lambda: _visit(nodes.second, "changing") == code)  # noqa: B023
    assert load.doubtful == 0
    _check(nodes, nodes.first, nodes.second, load)
    assert load.answered["limited"] == LIMIT


def _change(nodes: Nodes, link: int, status: str) -> bool:
    answer = nodes.first.call("PUT", f"/api/url/{link}/update", key=nodes.key, json={"status": status})
    assert answer.status_code in (200, 503), answer.text
    return answer.status_code == 200


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_what_stands_still_in_the_midst_of_a_change_holds_nobody_up_for_long(
    database: Database, database_url: str
) -> None:
    """And does its work once it goes on, since the server has undone what there was of it."""
    tries = 0
    begun, go_on = threading.Event(), threading.Event()

    def still(tx: Connection) -> None:
        nonlocal tries
        tries += 1
        tx.execute(update(installation).values(value=b"still"))
        begun.set()
        go_on.wait()

    thread = threading.Thread(target=database.write, args=(still,))
    thread.start()
    other = Database(database_url)
    try:
        begun.wait()
        other.write(lambda tx: tx.execute(update(installation).values(value=b"other")))
    finally:
        go_on.set()
        thread.join()
        other.close()
    assert tries == 2
    values = database.read(lambda tx: set(tx.execute(select(installation.c.value)).scalars()))
    assert values == {b"still"}
