"""Limits of an account above those of its keys: keys, requests of all keys together, and items of its plan."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import time_machine
from sqlalchemy import Connection, update

from tests.conftest import Person
from tests.contract.resource import Resource
from tests.contract.resources import RESOURCES
from tests.support.assertions import refused
from tests.support.cli import ANA, RunCommand
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.server import Server, at_once, serving
from waypost.auth import api_keys
from waypost.auth.api_keys import ACCOUNT_FACTOR, MAX_KEYS
from waypost.core.errors import Kind, Problem
from waypost.db.schema import accounts, plans
from waypost.items.accounts import ops

pytestmark = ON_BOTH_DATABASES  # limits under concurrency
NOON = 1_900_000_000


@pytest.fixture
def travel() -> Iterator[time_machine.Traveller]:
    """A clock that the test moves."""
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


def _set_rate_limit(person: Person, limit: int) -> None:
    person.write(
        lambda tx: tx.execute(update(accounts).where(accounts.c.id == person.account).values(rate_limit=limit))
    )


def _set_item_limit(person: Person, limit: int | None) -> None:
    person.write(lambda tx: tx.execute(update(plans).values(item_limit=limit)))


def _add_key(person: Person) -> Person:
    key = person.write(lambda tx: api_keys.add(tx, person.account, name="another"))
    return Person(person.account, person.username, key, person.client, person.database)


def _statuses(people: list[Person], calls: int) -> Counter[int]:
    return Counter(person.call("GET", "/account").status_code for person in people for _ in range(calls))


def test_account_has_at_most_25_keys(ana: Person, ben: Person) -> None:
    for _ in range(MAX_KEYS - 1):
        _add_key(ana)
    with pytest.raises(Problem, match=r"An account can have 25 API keys\. Revoke one") as caught:
        _add_key(ana)
    assert (caught.value.kind, caught.value.field) == (Kind.INVALID, "name")
    _add_key(ben)
    first = ana.database.read(lambda tx: api_keys.of(tx, ana.account))[0]
    ana.write(lambda tx: api_keys.revoke(tx, ana.account, first.id))
    _add_key(ana)


def test_parallel_requests_create_at_most_25_keys(ana: Person) -> None:
    start = threading.Barrier(8)

    def create(_: int) -> int:
        start.wait(30)
        created = 0
        for _ in range(6):
            try:
                _add_key(ana)
            except Problem:
                continue
            created += 1
        return created

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(create, range(8))) == MAX_KEYS - 1
    assert len(ana.database.read(lambda tx: api_keys.of(tx, ana.account))) == MAX_KEYS


def test_keys_of_account_share_ten_times_the_limit(ana: Person, ben: Person, travel: Any) -> None:
    _set_rate_limit(ana, 3)
    people = [_add_key(ana) for _ in range(MAX_KEYS - 1)]
    assert _statuses(people, 4) == {200: 3 * ACCOUNT_FACTOR, 429: 4 * (MAX_KEYS - 1) - 3 * ACCOUNT_FACTOR}
    response = people[-1].call("GET", "/account")
    assert refused(response, 429) == (
        "Over the limit of 30 requests a minute for all API keys of this account. Please wait 60 seconds."
    )
    assert response.headers["x-ratelimit-limit"] == "30"
    assert response.headers["retry-after"] == "60"
    assert ben.call("GET", "/account").status_code == 200
    travel.move_to(NOON + 60)
    assert _statuses(people, 1) == {200: MAX_KEYS - 1}


def test_new_keys_are_no_new_limit(ana: Person, travel: Any) -> None:
    _set_rate_limit(ana, 3)
    counts: Counter[int] = Counter()
    for _ in range(3 * ACCOUNT_FACTOR):
        person = _add_key(ana)
        counts += _statuses([person], 3)
        newest = ana.database.read(lambda tx: api_keys.of(tx, ana.account))[0].id
        ana.write(lambda tx, newest=newest: api_keys.revoke(tx, ana.account, newest))  # type: ignore[misc]
    assert counts[200] == 3 * ACCOUNT_FACTOR
    travel.move_to(NOON + 61)
    assert _statuses([_add_key(ana)], 3) == {200: 3}


@pytest.mark.parametrize("resource", RESOURCES, ids=str)
def test_items_are_limited_by_plan(resource: Resource, ana: Person, ben: Person) -> None:
    def create(person: Person, n: int) -> Any:
        return person.call("POST", f"{resource.path}/add", resource.body(n + 1))

    items = [create(ana, n).json()["id"] for n in range(2)]
    _set_item_limit(ana, 2)
    message = refused(create(ana, 2), 400)
    assert message.startswith("Your plan allows 2 ")
    assert message.endswith(". Delete some first, or ask the administrator for another plan.")
    assert create(ben, 3).json()["error"] == 0
    ana.delete(f"{resource.path}/{items[0]}/delete")
    assert create(ana, 4).json()["error"] == 0
    refused(create(ana, 5), 400)
    _set_item_limit(ana, None)
    assert create(ana, 6).json()["error"] == 0


def test_parallel_requests_create_items_up_to_the_limit(ana: Person) -> None:
    _set_item_limit(ana, 5)

    def create(n: int) -> int:
        return int(ana.call("POST", "/url/add", {"url": f"https://example.com/{n}"}).status_code)

    with ThreadPoolExecutor(8) as threads:
        assert Counter(threads.map(create, range(24))) == {200: 5, 400: 19}
    assert ana.get("/urls")["data"]["result"] == 5


def test_upload_above_item_limit_is_rejected_and_not_charged(ana: Person) -> None:
    _set_item_limit(ana, 1)
    assert ana.call("POST", "/files/upload/a.txt", content=b"content").status_code == 200
    assert "Your plan allows 1 file." in refused(ana.call("POST", "/files/upload/b.txt", content=b"content"), 400)

    def stored(tx: Connection) -> int:
        return int(tx.execute(accounts.select().where(accounts.c.id == ana.account)).mappings().one()["stored"])

    assert ana.database.read(stored) == len(b"content")


def _plan(run: RunCommand) -> tuple[int | None, int | None]:
    free = run("plan", "list", "--json").json[0]
    return free["storage_limit"], free["item_limit"]


def test_open_registration_limits_the_free_plan(run_migrated: RunCommand, working_folder: Any) -> None:
    run_migrated(*ANA)
    folder = working_folder / "data"
    with serving(folder, domain_check="off"):
        assert _plan(run_migrated) == (None, None)
    with serving(folder, domain_check="off", registration="on"):
        assert _plan(run_migrated) == (ops.REGISTERED_STORAGE_LIMIT, ops.REGISTERED_ITEM_LIMIT)
    assert run_migrated("plan", "change", "free", "--item-limit", 7, "--storage-limit", 8).out == "Plan free changed.\n"
    with serving(folder, domain_check="off", registration="on"):
        assert _plan(run_migrated) == (8, 7)
    assert run_migrated("plan", "change", "free").code == 2
    assert "none called 'gold'" in run_migrated("plan", "change", "gold", "--item-limit", 1).err


def test_account_limit_is_exact_over_two_workers(run_migrated: RunCommand, working_folder: Any) -> None:
    run_migrated(*ANA, "--rate-limit", "3")
    keys = [run_migrated("account", "key", "add", "ana", "--json").json["apikey"] for _ in range(MAX_KEYS - 1)]

    def calls(server: Server, key: str) -> list[int]:
        return [server.call("GET", "/api/account", key=key).status_code for _ in range(4)]

    with serving(working_folder / "data", domain_check="off", workers=2) as server:
        answered = at_once([lambda key=key: calls(server, key) for key in keys])  # type: ignore[misc]
    assert Counter(status for statuses in answered for status in statuses)[200] == 3 * ACCOUNT_FACTOR
