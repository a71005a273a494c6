"""What the dashboard shows of targets that do not answer any more; visitors are led there all the same."""

import re
from typing import Any

import pytest
from sqlalchemy import insert, update

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from waypost.db.database import Database
from waypost.db.schema import accounts, link_checks
from waypost.settings import Settings

NOW = 1_800_000_000
DAY = 86_400
DEAD = {"status": 404, "failing_since": NOW - 3 * DAY, "failures": 4, "dead": True}


@pytest.fixture
def settings(settings: Settings, days: int) -> Settings:
    """As those of everybody, where somebody looks."""
    return settings.model_copy(update={"dead_links_days": days})


@pytest.fixture
def days() -> int:
    """How often."""
    return 7


def _add(person: Person, database: Database, alias: str, **seen: Any) -> int:
    """A link of whose target this was seen."""
    link = int(person.call("POST", "/url/add", {"url": f"https://{alias}.example/", "custom": alias}).json()["id"])
    if seen:
        row = {"account": person.account, "link": link, "due": NOW, "checked": NOW, "failures": 0, "dead": False}
        database.write(lambda tx: tx.execute(insert(link_checks), {"status": 0, "failing_since": None, **row, **seen}))
    return link


def _listed(page: Any) -> list[str]:
    return re.findall(r'class="name"[^>]*>([^<]+)<', page.text)


def test_the_list_marks_dead_targets_and_shows_only_those_on_demand(
    inside: Browser, ana: Person, ben: Person, database: Database
) -> None:
    _add(ana, database, "works", status=200)
    _add(ana, database, "fails", status=404, failing_since=NOW, failures=1)
    _add(ana, database, "gone", **DEAD)
    _add(ana, database, "silent", **{**DEAD, "status": 0})
    _add(ben, database, "bens", **DEAD)
    _add(ana, database, "unseen")
    every = inside.get("/links")
    assert _listed(every) == ["unseen", "silent", "gone", "fails", "works"]
    assert every.text.count("Dead target<") == 2
    for asked in ("status=dead", "status=dead&order=click"):
        assert _listed(inside.get(f"/links?{asked}")) == ["silent", "gone"]
    assert _listed(inside.get("/links?status=dead&q=gone")) == ["gone"]
    assert _listed(inside.get("/links?status=dead&campaign=1")) == []
    assert '<option value="dead" selected>' in inside.get("/links?status=dead").text
    assert "2 of your links lead to a dead target." in inside.get("").text


def test_a_dead_link_still_leads_to_its_target(service: Any, ana: Person, database: Database) -> None:
    _add(ana, database, "gone", **DEAD)
    answer = service.get("/gone")
    assert (answer.status_code, answer.headers["location"]) == (302, "https://gone.example/")


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({"status": 200}, "The target answers."),
        ({"status": 0}, "The target cannot be looked at."),
        ({"status": 404, "failing_since": NOW, "failures": 1}, "The target answers with 404, since"),
        ({**DEAD, "status": 0}, "The target does not answer, since"),
    ],
)
def test_the_editor_says_what_was_seen(
    inside: Browser, ana: Person, database: Database, seen: dict[str, Any], words: str
) -> None:
    link = _add(ana, database, "seen", **seen)
    page = inside.get(f"/links/{link}").text
    assert words in page
    assert "Looked at" in page
    assert "Looked at" not in inside.get(f"/links/{_add(ana, database, 'unseen')}").text


def test_whoever_runs_the_service_sees_how_many_are_dead(inside: Browser, ana: Person, database: Database) -> None:
    _add(ana, database, "gone", **DEAD)
    database.write(lambda tx: tx.execute(update(accounts).where(accounts.c.id == ana.account).values(owner=True)))
    assert "Looked at every 7 days. Dead: 1" in inside.get("/admin/health").text


@pytest.mark.parametrize("days", [0])
def test_where_nobody_looks_nothing_is_said(inside: Browser, ana: Person, database: Database) -> None:
    link = _add(ana, database, "gone", **DEAD)
    database.write(lambda tx: tx.execute(update(accounts).where(accounts.c.id == ana.account).values(owner=True)))
    pages = [inside.get(path).text for path in ("", "/links", f"/links/{link}")]
    assert not any("ead target" in page or "Looked at" in page for page in pages)
    assert "Nobody looks whether they work" in inside.get("/admin/health").text
