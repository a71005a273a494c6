"""A killed or stopped node: the other one continues, and no acknowledged click or write is lost.

Every client uses one node, so that each response is one click.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, update

from tests.support.databases import ON_POSTGRESQL
from tests.support.load import LIMIT, Load, check, until
from tests.support.nodes import Nodes, two_nodes_for_load
from tests.support.server import Server
from tests.support.threads import join
from waypost.db.database import Database
from waypost.db.schema import installation


@pytest.fixture
def nodes(postgres: str, tmp_path: Path) -> Iterator[Nodes]:
    with two_nodes_for_load(tmp_path, postgres) as pair:
        yield pair


@contextmanager
def _load_on_both(load: Load, nodes: Nodes) -> Iterator[None]:
    with load.on(nodes.first, nodes.key), load.on(nodes.second, nodes.key):
        load.wait_for_progress()
        yield
        load.wait_for_progress()


def _visit(node: Server, alias: str) -> int:
    return node.call("GET", f"/{alias}", follow_redirects=False, headers={"User-Agent": "curl/8"}).status_code


def _check(nodes: Nodes, first: Server, second: Server, load: Load) -> None:
    """Check the counts. Each node counts its own journal before it responds, once its ingester runs."""
    for node in (first, second):
        until(lambda: _has_counted(nodes, node))  # noqa: B023
    check(second, nodes.key, load)


def _has_counted(nodes: Nodes, node: Server) -> bool:
    response = node.call("GET", "/api/urls", key=nodes.key, params={"short": "limited"})
    assert response.status_code in (200, 503), response.text
    return response.status_code == 200


def test_killed_node_loses_no_click_write_or_limit(nodes: Nodes) -> None:
    load = Load(refuses=True)  # locks of the killed node last a moment
    with _load_on_both(load, nodes):
        os.killpg(nodes.second.process.pid, signal.SIGKILL)
        nodes.second.process.wait(30)
    with nodes.restarted_second() as restarted:  # counts what the killed process had not counted
        with load.on(nodes.first, nodes.key), load.on(restarted, nodes.key):
            load.wait_for_progress()
        _check(nodes, nodes.first, restarted, load)
        _check(nodes, restarted, nodes.first, load)
    assert load.redirected["limited"] >= LIMIT - load.unconfirmed


def test_resumed_node_knows_changes_of_other_node(nodes: Nodes) -> None:
    link = nodes.add("changing")
    load = Load(refuses=True)  # requests may time out on locks of the stopped node
    assert _visit(nodes.second, "changing") == 302
    for status, code in (("disabled", 403), ("public", 302)):
        with _load_on_both(load, nodes):
            os.killpg(nodes.second.process.pid, signal.SIGSTOP)
            try:
                load.wait_for_progress()  # the other node continues
                until(lambda: _change(nodes, link, status))  # noqa: B023
                until(lambda: _visit(nodes.first, "changing") == code)  # noqa: B023
            finally:
                os.killpg(nodes.second.process.pid, signal.SIGCONT)
            until(lambda: _visit(nodes.second, "changing") == code)  # noqa: B023
    assert load.unconfirmed == 0
    _check(nodes, nodes.first, nodes.second, load)
    assert load.redirected["limited"] == LIMIT


def _change(nodes: Nodes, link: int, status: str) -> bool:
    response = nodes.first.call("PUT", f"/api/url/{link}/update", key=nodes.key, json={"status": status})
    assert response.status_code in (200, 503), response.text
    return response.status_code == 200


@ON_POSTGRESQL
def test_stalled_transaction_is_ended_and_retried(database: Database, database_url: str) -> None:
    """The server ends the transaction, so others can write; the process repeats it when it resumes."""
    attempts = 0
    started, resume = threading.Event(), threading.Event()

    def stall(tx: Connection) -> None:
        nonlocal attempts
        attempts += 1
        tx.execute(update(installation).values(value=b"stalled"))
        started.set()
        assert resume.wait(30)

    thread = threading.Thread(target=database.write, args=(stall,))
    thread.start()
    other = Database(database_url)
    try:
        assert started.wait(30)
        other.write(lambda tx: tx.execute(update(installation).values(value=b"other")))
    finally:
        resume.set()
        join(thread)
        other.close()
    assert attempts == 2
    stored = database.read(lambda tx: set(tx.execute(select(installation.c.value)).scalars()))
    assert stored == {b"stalled"}
