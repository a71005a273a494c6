"""Links move between accounts while two nodes redirect and count: every answered click counts once."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select

from tests.support.load import ALIASES, LIMIT, Load, check, until
from tests.support.nodes import Nodes, two_nodes_for_load
from tests.support.server import processes
from waypost.auth import api_keys
from waypost.clicks.ingest import read_barrier
from waypost.clicks.stats import verify
from waypost.db.database import Database
from waypost.db.schema import click_labels, click_times, events, links
from waypost.items.accounts import ops

_MOVED = (*ALIASES, "limited")
_COMMAND = """
import sys
from waypost.cli.main import main
from waypost.admin import link_moves
link_moves._LINKS = 1  # so that it can be killed between two batches
sys.argv = ["waypost", "account", "move-links", *sys.argv[1:], "--yes"]
main()
"""


@pytest.fixture
def nodes(postgres: str, tmp_path: Path) -> Iterator[Nodes]:
    with two_nodes_for_load(tmp_path, postgres) as pair:
        yield pair


def _add_ben(tx: Connection) -> str:
    ben = ops.add(tx, email="ben@example.com", username="ben", password="*", rate_limit=1_000_000)
    return api_keys.add(tx, ben.id, name="first key")


def _start(nodes: Nodes, source: str, target: str) -> subprocess.Popen[bytes]:
    settings = {"DATA_DIR": nodes.first.log.parent, "DATABASE_URL": nodes.database_url, **nodes.settings}
    environment = {f"WAYPOST_{name.upper()}": str(value) for name, value in settings.items()}
    command = [sys.executable, "-c", _COMMAND, source, target, *_MOVED]
    return subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def _run(nodes: Nodes, source: str, target: str) -> None:
    output, _ = (process := _start(nodes, source, target)).communicate()
    assert process.returncode == 0, output.decode()


def _owned(database: Database, account: int) -> int:
    query = select(func.count()).where(links.c.account == account, links.c.alias.in_(_MOVED))
    return database.read(lambda tx: tx.execute(query).scalar_one())


def _accounts_of_statistics(tx: Connection) -> set[int]:
    """Return the accounts in the statistics of links that were moved."""
    moved = select(links.c.id).where(links.c.alias.in_(_MOVED))
    owners: set[int] = set()
    for table in (events, click_times, click_labels):
        is_moved = (table.c.kind == "link", table.c.item.in_(moved))
        owners |= set(tx.execute(select(table.c.account).where(*is_moved).distinct()).scalars())
    return owners


def test_moves_with_kills_count_every_click_once(nodes: Nodes) -> None:
    load = Load()
    with closing(Database(nodes.database_url)) as database:
        key = database.write(_add_ben)
        with load.on(nodes.first, nodes.key), load.on(nodes.second, nodes.key):
            load.wait_for_progress()
            killed = _start(nodes, "ana", "ben")
            until(lambda: _owned(database, 2) or killed.poll() is not None)
            killed.kill()
            killed.communicate()
            load.wait_for_progress()
            for node in (nodes.first, nodes.second):
                for ingester in processes(node)[1]:
                    os.kill(ingester.pid, signal.SIGKILL)
            _run(nodes, "ana", "ben")  # resumes
            assert _owned(database, 2) == len(_MOVED)
            load.wait_for_progress()
            _run(nodes, "ben", "ana")
            load.wait_for_progress()
            _run(nodes, "ana", "ben")
            load.wait_for_progress()
        for node in (nodes.first, nodes.second):
            journal = node.log.parent / "journal"
            until(lambda: read_barrier.uncounted_bytes(journal, database) == 0)  # noqa: B023
        check(nodes.second, key, load)
        assert load.unconfirmed == 0
        assert load.redirected["limited"] == LIMIT
        assert database.read(verify.differences) == []
        assert database.read(_accounts_of_statistics) == {2}
