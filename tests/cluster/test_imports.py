"""Two nodes with one PostgreSQL: imports run once for an account, and any node and worker cancels them."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile_import_servers import HostileServer, hostile_server, silent
from tests.support.import_services import TOKEN
from tests.support.load import add_ana, until
from tests.support.nodes import Nodes, two_nodes
from tests.support.server import Server, at_once, serving
from waypost.db.database import Database
from waypost.db.upgrade import upgrade


@pytest.fixture
def hostile() -> Iterator[HostileServer]:
    """A server of an import that never answers."""
    with hostile_server(silent) as server:
        yield server


@pytest.fixture
def nodes(postgres: str, tmp_path: Path, hostile: HostileServer) -> Iterator[Nodes]:
    """Two nodes, the first with two workers, whose accounts may import from the hostile server."""
    with two_nodes(tmp_path, postgres, import_hosts=hostile.address) as pair:
        yield pair
        assert "Traceback" not in pair.first.output() + pair.second.output()


def _call(server: Server, key: str, method: str, path: str, **body: Any) -> int:
    return server.call(method, f"/api{path}", key=key, json=body or None).status_code


def _require_canceled_by(servers: list[Server], key: str, hostile: HostileServer) -> None:
    """Start an import on the first server, and cancel it on each server in turn; many connections reach all workers."""
    body = {"service": "shlink", "url": hostile.url, "token": TOKEN}
    for server in servers:
        seen = len(hostile.requests)
        assert _call(servers[0], key, "POST", "/import/add", **body) == 200
        until(partial(_is_asked, hostile, seen))
        assert _call(servers[-1], key, "POST", "/import/add", **body) == 409
        assert _call(server, key, "DELETE", "/import/delete") == 200
        assert {_call(other, key, "GET", "/import") for other in servers} == {404}
        until(lambda: not hostile.open_requests)


def _is_asked(hostile: HostileServer, seen: int) -> bool:
    return len(hostile.requests) > seen


def test_import_is_canceled_on_every_node(nodes: Nodes, hostile: HostileServer) -> None:
    _require_canceled_by([nodes.first, nodes.second], nodes.key, hostile)


def test_simultaneous_imports_on_two_nodes_start_once(nodes: Nodes, hostile: HostileServer) -> None:
    body = {"service": "shlink", "url": hostile.url, "token": TOKEN}
    pair = (nodes.first, nodes.second)
    calls = [lambda n=n: _call(pair[n % 2], nodes.key, "POST", "/import/add", **body) for n in range(8)]
    assert sorted(at_once(calls)) == [200, *[409] * 7]
    assert _call(nodes.second, nodes.key, "DELETE", "/import/delete") == 200
    until(lambda: not hostile.open_requests)


def test_import_is_canceled_by_every_worker_of_a_node(tmp_path: Path, hostile: HostileServer) -> None:
    with closing(Database(f"sqlite:///{tmp_path / 'waypost.db'}")) as database:
        upgrade(database)
        key = database.write(add_ana)
    with serving(tmp_path, workers=3, import_hosts=hostile.address) as server:
        for _ in range(4):
            _require_canceled_by([server], key, hostile)
