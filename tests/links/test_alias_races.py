"""A name that must be unique goes to exactly one, whoever asks at the same moment in whichever process."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import Connection

from tests.support.server import Server, at_once, serving
from waypost import credentials
from waypost.accounts import ops
from waypost.auth import api_keys
from waypost.db.database import Database

PEOPLE = 50


def _keys(database: Database) -> list[str]:
    """One key each of two people in turn, for fifty requests."""
    password = credentials.hash_password("their old password")

    def work(tx: Connection) -> list[str]:
        made = []
        for name in ("ana", "ben"):
            account = ops.add(tx, email=f"{name}@example.com", username=name, password=password, rate_limit=1_000_000)
            made.append(api_keys.add(tx, account.id, name="first key"))
        return made

    return database.write(work) * (PEOPLE // 2)


def _posts(server: Server, path: str, callers: list[str], body: Callable[[int], Any]) -> list[httpx2.Response]:
    def post(number: int, key: str) -> httpx2.Response:
        return server.call("POST", path, key=key, json=body(number))

    return at_once([lambda n=n, key=key: post(n, key) for n, key in enumerate(callers)])  # type: ignore[misc]


def _one_won(answers: list[httpx2.Response], refusal: dict[str, Any], winners: int = 1) -> list[dict[str, Any]]:
    """What the winners were answered; everybody else must have been refused in these words."""
    assert Counter(answer.status_code for answer in answers) == {200: winners, 400: PEOPLE - winners}
    for answer in answers:
        if answer.status_code == 400:
            assert answer.json() == {"error": 1, "code": "taken", **refusal}
    return [answer.json() for answer in answers if answer.status_code == 200]


def test_of_fifty_at_once_exactly_one_gets_the_name(database: Database, database_url: str, tmp_path: Path) -> None:
    callers = _keys(database)
    ana, ben = callers[:2]
    with serving(tmp_path / "node", database_url=database_url, workers=2) as server:
        answers = _posts(
            server,
            "/api/url/add",
            callers,
            lambda n: {"url": f"https://example.com/{n}", "custom": "spring"},
        )
        taken = "That alias is taken. Please choose another one."
        (won,) = _one_won(answers, {"message": taken, "field": "custom"})
        links = [link for key in (ana, ben) for link in _listed(server, key, "urls")]
        assert [(link["id"], link["alias"]) for link in links] == [(won["id"], "spring")]
        assert server.call("GET", "/spring").headers["location"] == links[0]["longurl"]

        answers = _posts(server, "/api/channel/add", callers, lambda n: {"name": "Friends", "description": str(n)})
        taken = "You already have a channel with this name."
        won_by_two = _one_won(answers, {"message": taken, "field": "name"}, winners=2)  # a name is one account's own
        for key in (ana, ben):
            (channel,) = _listed(server, key, "channels")
            assert channel["id"] in {one["id"] for one in won_by_two}
        assert "Traceback" not in server.output()


def _listed(server: Server, key: str, noun: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = server.call("GET", f"/api/{noun}", key=key).json()["data"][noun]
    return listed
