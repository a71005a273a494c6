"""Unique names under concurrent requests to several worker processes: exactly one request wins."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import Connection

from tests.support.databases import ON_BOTH_DATABASES
from tests.support.server import Server, at_once, serving
from waypost.auth import api_keys
from waypost.core import credentials
from waypost.db.database import Database
from waypost.items.accounts import ops

pytestmark = ON_BOTH_DATABASES  # races for an alias
REQUESTS = 50


def _keys(database: Database) -> list[str]:
    """Return the API keys of two accounts, alternating, one per request."""
    password = credentials.hash_password("their old password")

    def work(tx: Connection) -> list[str]:
        keys = []
        for name in ("ana", "ben"):
            account = ops.add(tx, email=f"{name}@example.com", username=name, password=password, rate_limit=1_000_000)
            keys.append(api_keys.add(tx, account.id, name="first key"))
        return keys

    return database.write(work) * (REQUESTS // 2)


def _post_concurrently(server: Server, path: str, keys: list[str], body: Callable[[int], Any]) -> list[httpx2.Response]:
    def post(number: int, key: str) -> httpx2.Response:
        return server.call("POST", path, key=key, json=body(number))

    return at_once([lambda n=n, key=key: post(n, key) for n, key in enumerate(keys)])  # type: ignore[misc]


def _winners(answers: list[httpx2.Response], refusal: dict[str, Any], count: int = 1) -> list[dict[str, Any]]:
    """Return the bodies of the successful responses; all others must be the given refusal."""
    assert Counter(response.status_code for response in answers) == {200: count, 400: REQUESTS - count}
    for response in answers:
        if response.status_code == 400:
            assert response.json() == {"error": 1, "code": "taken", **refusal}
    return [response.json() for response in answers if response.status_code == 200]


def test_one_of_fifty_concurrent_requests_gets_the_alias(database: Database, database_url: str, tmp_path: Path) -> None:
    keys = _keys(database)
    ana, ben = keys[:2]
    with serving(tmp_path / "node", database_url=database_url, workers=2) as server:
        answers = _post_concurrently(
            server,
            "/api/url/add",
            keys,
            lambda n: {"url": f"https://example.com/{n}", "custom": "spring"},
        )
        taken = "That alias is taken. Please choose another one."
        (winner,) = _winners(answers, {"message": taken, "field": "custom"})
        links = [link for key in (ana, ben) for link in _listed(server, key, "urls")]
        assert [(link["id"], link["alias"]) for link in links] == [(winner["id"], "spring")]
        assert server.call("GET", "/spring").headers["location"] == links[0]["longurl"]

        answers = _post_concurrently(
            server, "/api/channel/add", keys, lambda n: {"name": "Friends", "description": str(n)}
        )
        taken = "You already have a channel with this name."
        winners = _winners(answers, {"message": taken, "field": "name"}, count=2)  # unique per account
        for key in (ana, ben):
            (channel,) = _listed(server, key, "channels")
            assert channel["id"] in {winner["id"] for winner in winners}
        assert "Traceback" not in server.output()


def _listed(server: Server, key: str, noun: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = server.call("GET", f"/api/{noun}", key=key).json()["data"][noun]
    return listed
