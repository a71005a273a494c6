"""The result of a poll, which visitors see after their vote."""

from tests.conftest import Person
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.html import Page
from tests.support.overlays import open_overlay, send_answers
from waypost.items.overlays.public import poll_results

pytestmark = ON_BOTH_DATABASES  # grouped answers in JSON


def test_vote_is_answered_with_the_result_of_the_poll(ana: Person) -> None:
    _, _, page = open_overlay(ana, "poll")
    for choice in ("Blue", "Red"):
        send_answers(ana, page, choice=choice)
    last = Page(send_answers(ana, page, choice="Blue"))
    assert [item.text.strip() for item in last.all("li")] == ["Red33%", "Blue67%"]


def test_votes_for_former_options_are_not_part_of_the_result() -> None:
    assert poll_results(["Red", "Blue"], {"Green": 7, "Blue": 1}) == [("Red", 0), ("Blue", 100)]
    assert poll_results(["Red", "Blue"], {"Green": 7}) == [("Red", 0), ("Blue", 0)]
