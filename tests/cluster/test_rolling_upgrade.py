"""Upgrade of two nodes one after the other, behind nginx and Caddy: visitors notice nothing.

HAProxy answers 503 from the stop of a node until its next health check: drain the node first.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from tests.support.load import add_ana, until
from tests.support.load_balancers import BALANCERS, HOST
from tests.support.nodes import database_copy
from tests.support.server import Server, free_port, serving
from tests.support.upgrades import NEW_VERSION, Releases, Traffic, version_of
from waypost import __version__
from waypost.db.database import Database

_PAUSE_SECONDS = 5  # longer than the balancers avoid a node that was down; docs/upgrading.md tells 10

_MONITOR = {"X-Forwarded-For": "127.0.0.1"}  # the nodes trust a proxy on this machine


@dataclass
class _Node:
    """A node that can be restarted on its port, with the version that is installed then."""

    start: Callable[[], ExitStack]
    port: int
    running: ExitStack = field(default_factory=ExitStack)

    def restart(self) -> None:
        """Stop the node as a process manager does, and start it."""
        self.running.close()
        self.running = self.start()


@contextmanager
def _two_nodes(folder: Path, database_url: str, releases: Releases) -> Iterator[tuple[list[_Node], dict[int, Server]]]:
    servers: dict[int, Server] = {}

    def start(name: str, port: int) -> ExitStack:
        settings = {"base_url": f"http://{HOST}", "trusted_proxies": "127.0.0.1"}
        prefix = () if releases.is_old else releases.command_prefix  # the version of the tests is forked
        with ExitStack() as stack:
            node = serving(folder / name, database_url=database_url, port=port, command_prefix=prefix, **settings)
            servers[port] = stack.enter_context(node)
            return stack.pop_all()

    ports = [free_port(), free_port()]
    nodes = [_Node(partial(start, name, port), port) for name, port in zip("ab", ports, strict=True)]
    try:
        for node in nodes:
            node.restart()
        yield nodes, servers
    finally:
        for node in nodes:
            node.running.close()


@pytest.mark.parametrize("balancer", ["nginx", "caddy"])
def test_rolling_restart_upgrades_nodes_without_failed_visit(postgres: str, tmp_path: Path, balancer: str) -> None:
    releases = Releases(tmp_path)
    releases.install_old()
    (tmp_path / "balancer").mkdir()
    with (
        database_copy(postgres, "template") as url,
        closing(Database(url)) as database,
        _two_nodes(tmp_path, url, releases) as (nodes, servers),
        BALANCERS[balancer]((nodes[0].port, nodes[1].port), tmp_path / "balancer") as client,
    ):
        key = database.write(add_ana)
        body = {"url": "https://example.com/", "custom": "spring"}
        created = client.post("/api/url/add", headers={"Authorization": f"Bearer {key}"}, json=body)
        assert created.status_code == 200, created.text
        until(lambda: all(client.get("/spring").status_code == 302 for _ in range(4)))
        assert client.base_url.port is not None
        traffic = Traffic(client.base_url.port, key, "spring", HOST)
        releases.install_new()
        with traffic.running():
            traffic.wait_for_progress()
            for node in nodes:
                assert version_of(servers[node.port], **_MONITOR) == __version__
                node.restart()
                assert version_of(servers[node.port], **_MONITOR) == NEW_VERSION
                time.sleep(_PAUSE_SECONDS)  # the other node, of the old version, uses the migrated database
                traffic.wait_for_progress()
        assert traffic.failures == []
        created_links = {client.get(f"/{alias}").status_code for alias in traffic.created}
        assert created_links == {302}
