"""After a kill under load, every answered click is counted and every acknowledged write exists."""

import itertools
import os
import random
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.load import ALIASES, Load, add_ana, check, new_link, until
from tests.support.server import Server, processes, serving
from waypost.db.database import Database


def _kill(server: Server, what: str) -> None:
    """SIGKILL to one worker, to the ingester, to the parent alone, or to all there is."""
    if what == "everything":
        os.killpg(server.process.pid, signal.SIGKILL)
    elif what == "parent":
        server.process.kill()
    else:
        place = ("worker", "ingester").index(what)
        until(lambda: processes(server)[place])
        random.choice(processes(server)[place]).kill()
        return
    server.process.wait(30)
    until(lambda: not _listens(server))  # so that it can be started again


def _listens(server: Server) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlsplit(server.url).port)) == 0


def _rounds(kills: int) -> list[list[str]]:
    """Return kills by round. Each round ends with one that stops the server."""
    single = itertools.cycle(("worker", "ingester", "worker"))
    ends = itertools.cycle(("everything", "parent"))
    lives: list[list[str]] = []
    while kills > 0:
        lives.append([*itertools.islice(single, min(4, kills) - 1), next(ends)])
        kills -= len(lives[-1])
    return lives


@pytest.mark.parametrize(
    ("database_url", "rounds", "api_workers"),
    [
        ("sqlite", _rounds(20), 0),
        ("sqlite", _rounds(6), 2),
        ("postgresql", _rounds(6), 0),
        ("postgresql", _rounds(6), 2),
    ],
    indirect=["database_url"],
)
def test_killed_server_loses_no_answered_click_or_write(
    database: Database, database_url: str, tmp_path: Path, rounds: list[list[str]], api_workers: int
) -> None:
    key = database.write(add_ana)
    folder, load = tmp_path / "node", Load()
    for number, kills in enumerate(rounds):
        with serving(folder, database_url=database_url, workers=2, api_workers=api_workers) as server:
            for alias in (*ALIASES, "limited") if not number else ():
                assert server.call("POST", "/api/url/add", key=key, content=new_link(alias)).status_code == 200
            with load.on(server, key):
                for what in kills:
                    load.wait_for_progress()
                    _kill(server, what)
    with serving(folder, database_url=database_url, workers=2) as server:
        check(server, key, load)
        with load.on(server, key):
            load.wait_for_progress()
        check(server, key, load)
        assert "Traceback" not in server.output()
    assert not list((folder / "journal").glob("*.log"))
