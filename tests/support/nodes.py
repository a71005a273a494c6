"""Two nodes over one PostgreSQL, each with a folder and processes of its own, as behind a balancer."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from tests.support.load import add_ana
from tests.support.server import Server, serving
from waypost.db.database import Database

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Nodes:
    """Two nodes, and the key of an account."""

    first: Server
    second: Server
    database_url: str
    key: str
    settings: dict[str, Any]

    def add(self, alias: str, **fields: object) -> int:
        """Make a link on the first node; its id."""
        body = {"url": f"https://example.com/{alias}", "custom": alias, **fields}
        answer = self.first.call("POST", "/api/url/add", key=self.key, json=body)
        assert answer.status_code == 200, answer.text
        return int(answer.json()["id"])

    @contextmanager
    def second_again(self) -> Iterator[Server]:
        """The second node, started anew after it was killed: the same folder, the same port."""
        port = urlsplit(self.second.url).port
        assert port is not None
        folder = self.second.log.parent
        with serving(folder, database_url=self.database_url, port=port, **self.settings) as server:
            yield server


@contextmanager
def copied(server: str, template: str) -> Iterator[str]:
    """The URL of a copy of a database on a PostgreSQL server."""
    name = f"copy_{next(_numbers)}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        yield f"{server}/{name}"
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def two_nodes(folder: Path, server: str, **settings: Any) -> Iterator[Nodes]:
    """Two of them, one with two workers, over a new database on a PostgreSQL server that has a `template`.

    They have one folder of files, as they would have one bucket.
    """
    with copied(server, "template") as url:
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
