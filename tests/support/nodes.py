"""Two nodes with one PostgreSQL, each with its own folder and processes, as behind a load balancer."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from tests.support.load import ALIASES, LIMIT, add_ana
from tests.support.server import Server, serving
from waypost.db.database import Database

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Nodes:
    """Two nodes and an API key."""

    first: Server
    second: Server
    database_url: str
    key: str
    settings: dict[str, Any]

    def add(self, alias: str, **fields: object) -> int:
        """Create a link on the first node; return its id."""
        body = {"url": f"https://example.com/{alias}", "custom": alias, **fields}
        response = self.first.call("POST", "/api/url/add", key=self.key, json=body)
        assert response.status_code == 200, response.text
        return int(response.json()["id"])

    @contextmanager
    def restarted_second(self) -> Iterator[Server]:
        """Restart the second node after it was killed, with the same folder and port."""
        port = urlsplit(self.second.url).port
        assert port is not None
        folder = self.second.log.parent
        with serving(folder, database_url=self.database_url, port=port, **self.settings) as server:
            yield server


@contextmanager
def database_copy(server: str, template: str) -> Iterator[str]:
    """Copy a database on a PostgreSQL server; yields the URL of the copy."""
    name = f"copy_{next(_numbers)}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        yield f"{server}/{name}"
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def two_nodes(folder: Path, server: str, **settings: Any) -> Iterator[Nodes]:
    """Run two nodes, the first with two workers, on a copy of the server's database `template`.

    They share a folder of files, as they would share a bucket.
    """
    with database_copy(server, "template") as url:
        database = Database(url)
        key = database.write(add_ana)
        database.close()
        for name in ("first/files", "second"):
            (folder / name).mkdir(parents=True)
        (folder / "second" / "files").symlink_to(folder / "first" / "files")
        common = {"base_url": "http://go.localhost:8000", **settings}
        with (
            serving(folder / "first", database_url=url, workers=2, **common) as first,
            serving(folder / "second", database_url=url, **common) as second,
        ):
            yield Nodes(first, second, url, key, common)


@contextmanager
def two_nodes_for_load(folder: Path, server: str) -> Iterator[Nodes]:
    """Run two nodes with the links that `Load` requests. Fails if one of them logs a traceback."""
    with two_nodes(folder, server) as pair:
        for alias in ALIASES:
            pair.add(alias)
        pair.add("limited", clicklimit=LIMIT)
        yield pair
        assert "Traceback" not in pair.first.output() + pair.second.output()
