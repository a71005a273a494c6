"""A running service with two accounts for the tests of the client."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection
from waypost_client import AsyncWaypost, Waypost

from tests.support.server import serving
from waypost.auth import api_keys
from waypost.db.database import Database
from waypost.items.accounts import ops


@dataclass(frozen=True)
class Service:
    """A running service, and the API keys of its two accounts."""

    url: str
    ana: str
    ben: str


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Service]:
    """A service for a module."""
    folder = tmp_path_factory.mktemp("node")
    shutil.copy(sqlite_template, folder / "waypost.db")
    with closing(Database(f"sqlite:///{folder / 'waypost.db'}")) as database:
        ana, ben = (database.write(lambda tx, name=name: _add_account(tx, name)) for name in ("ana", "ben"))  # type: ignore[misc]
    with serving(folder, domain_check="off") as server:
        yield Service(server.url, ana, ben)


def _add_account(tx: Connection, name: str) -> str:
    account = ops.add(tx, email=f"{name}@example.com", username=name, password="*", rate_limit=1_000_000)
    return api_keys.add(tx, account.id, name="first key", scope="account")


class Caller:
    """Calls the methods of either client in the same way, and records their names in `called`."""

    def __init__(self, client: Waypost | AsyncWaypost, run: Callable[[Any], Any]) -> None:
        self._client = client
        self._run = run
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function that calls the method; the items of an iterator are a list."""
        method = getattr(self._client, name)

        def call(*arguments: Any, **fields: Any) -> Any:
            self.called.add(name)
            return self._run(method(*arguments, **fields))

        return call


@contextmanager
def opened(kind: str, url: str, key: str, **options: Any) -> Iterator[Caller]:
    """Open the client of a kind: `sync` or `async`."""
    if kind == "sync":
        with Waypost(url, key, **options) as client:
            yield Caller(client, lambda result: list(result) if hasattr(result, "__next__") else result)
        return
    with asyncio.Runner() as runner:
        asynchronous = AsyncWaypost(url, key, **options)
        try:
            yield Caller(asynchronous, lambda result: runner.run(_awaited(result)))
        finally:
            runner.run(asynchronous.aclose())


async def _awaited(result: Any) -> Any:
    return [item async for item in result] if hasattr(result, "__aiter__") else await result
