"""Deletions: dry runs, confirmation tokens, all or nothing."""

from collections.abc import Sequence

import pytest
import time_machine

from tests.conftest import Person
from tests.support.mcp_agent import Agent
from waypost.core import clock
from waypost.integrations.mcp.bulk import CONFIRMATION_SECONDS


def _links(person: Person, count: int) -> list[int]:
    items = [{"action": "create", "noun": "url", "fields": {"url": f"https://example.com/{n}"}} for n in range(count)]
    return [result["id"] for result in person.post("/bulk", {"items": items})["results"]]


def _left(person: Person) -> int:
    return int(person.get("/urls")["data"]["result"])


def test_dry_run_names_items_and_deletes_nothing(agent: Agent, ana: Person) -> None:
    link = ana.add("url", url="https://example.com/", title="Boots")
    answer = agent.call("delete_items", kind="link", ids=[link], dry_run=True)
    assert answer == {"deleted": False, "items": [{"id": link, "name": "Boots"}], "confirm": None}
    assert _left(ana) == 1


def test_ten_items_are_deleted_without_token(agent: Agent, ana: Person) -> None:
    ids = _links(ana, 10)
    assert agent.call("delete_items", kind="link", ids=[*ids, ids[0]])["deleted"]
    assert _left(ana) == 0


def test_eleven_items_are_deleted_with_the_token_of_a_dry_run_only(agent: Agent, ana: Person) -> None:
    ids = _links(ana, 11)
    problem = agent.problem("delete_items", kind="link", ids=ids)
    assert problem.startswith("confirm must be the token of a dry run with the same kind and ids")
    assert "(field: confirm; code: invalid)" in problem
    token = agent.call("delete_items", kind="link", ids=ids, dry_run=True)["confirm"]
    assert _left(ana) == 11
    assert agent.call("delete_items", kind="link", ids=ids[::-1], confirm=token)["deleted"]
    assert _left(ana) == 0


@pytest.mark.parametrize("others", [[*range(1, 13)], [*range(2, 13)]], ids=["more", "other"])
def test_token_confirms_exactly_the_ids_of_its_dry_run(agent: Agent, ana: Person, others: Sequence[int]) -> None:
    assert _links(ana, 12) == [*range(1, 13)]
    token = agent.call("delete_items", kind="link", ids=[*range(1, 12)], dry_run=True)["confirm"]
    assert "field: confirm" in agent.problem("delete_items", kind="link", ids=others, confirm=token)
    assert _left(ana) == 12


def test_token_of_another_account_kind_or_purpose_is_refused(
    agent: Agent, stranger: Agent, ana: Person, ben: Person
) -> None:
    ids = _links(ana, 11)
    channels = [ana.add("channel", name=f"{number}") for number in range(11)]
    assert ids == channels
    token = agent.call("delete_items", kind="channel", ids=channels, dry_run=True)["confirm"]
    for wrong in (token, f"{token}x", "x", ".", ""):
        assert "field: confirm" in agent.problem("delete_items", kind="link", ids=ids, confirm=wrong)
    assert "field: ids" in stranger.problem("delete_items", kind="link", ids=ids, confirm=token)
    assert _left(ana) == 11


def test_token_expires_after_ten_minutes(agent: Agent, ana: Person) -> None:
    ids = _links(ana, 11)
    token = agent.call("delete_items", kind="link", ids=ids, dry_run=True)["confirm"]
    with time_machine.travel(clock.now() + CONFIRMATION_SECONDS + 1, tick=False):
        assert "field: confirm" in agent.problem("delete_items", kind="link", ids=ids, confirm=token)
    with time_machine.travel(clock.now() + CONFIRMATION_SECONDS - 5, tick=False):
        assert agent.call("delete_items", kind="link", ids=ids, confirm=token)["deleted"]


@pytest.mark.parametrize("dry_run", [True, False])
def test_foreign_or_unknown_id_deletes_nothing(
    agent: Agent,
    ana: Person,
    ben: Person,
    dry_run: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    own, foreign = ana.add("url", url="https://example.com/"), ben.add("url", url="https://example.com/")
    problem = agent.problem("delete_items", kind="link", ids=[own, foreign, 999], dry_run=dry_run)
    assert problem.startswith(f"ids must be ids of your items of the kind link; these are not: {foreign}, 999.")
    assert (_left(ana), _left(ben)) == (1, 1)
    assert "ids must have at most 1000" in agent.problem("delete_items", kind="link", ids=[*range(1, 1002)])
