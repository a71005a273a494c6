"""Dead links in the dashboard: list, editor, health page. Visitors are still redirected."""

import re
from typing import Any

import pytest
from sqlalchemy import insert, update

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import accounts, link_checks

NOW = 1_800_000_000
DAY = 86_400
DEAD = {"status": 404, "failing_since": NOW - 3 * DAY, "failures": 4, "dead": True}


@pytest.fixture
def settings(settings: Settings, days: int) -> Settings:
    """Settings with dead-link checks."""
    return settings.model_copy(update={"dead_links_days": days})


@pytest.fixture
def days() -> int:
    """The interval of the checks in days."""
    return 7


def _add(person: Person, database: Database, alias: str, **result: Any) -> int:
    """Create a link, with this check result if there is one, and return its id."""
    link = int(person.call("POST", "/url/add", {"url": f"https://{alias}.example/", "custom": alias}).json()["id"])
    if result:
        row = {"account": person.account, "link": link, "due": NOW, "checked": NOW, "failures": 0, "dead": False}
        database.write(
            lambda tx: tx.execute(insert(link_checks), {"status": 0, "failing_since": None, **row, **result})
        )
    return link


def _listed(page: Any) -> list[str]:
    return re.findall(r'class="name"[^>]*>([^<]+)<', page.text)


def test_link_list_marks_and_filters_dead_links(
    dashboard: Browser, ana: Person, ben: Person, database: Database
) -> None:
    _add(ana, database, "works", status=200)
    _add(ana, database, "fails", status=404, failing_since=NOW, failures=1)
    _add(ana, database, "gone", **DEAD)
    _add(ana, database, "silent", **{**DEAD, "status": 0})
    _add(ben, database, "bens", **DEAD)
    _add(ana, database, "unseen")
    page = dashboard.get("/links")
    assert _listed(page) == ["unseen", "silent", "gone", "fails", "works"]
    assert page.text.count("Dead link<") == 2
    for query in ("status=dead", "status=dead&order=click"):
        assert _listed(dashboard.get(f"/links?{query}")) == ["silent", "gone"]
    assert _listed(dashboard.get("/links?status=dead&q=gone")) == ["gone"]
    assert _listed(dashboard.get("/links?status=dead&campaign=1")) == []
    assert '<option value="dead" selected>' in dashboard.get("/links?status=dead").text
    assert "2 links have a dead destination." in dashboard.get("").text


def test_dead_link_still_redirects(service: Any, ana: Person, database: Database) -> None:
    _add(ana, database, "gone", **DEAD)
    response = service.get("/gone")
    assert (response.status_code, response.headers["location"]) == (302, "https://gone.example/")


@pytest.mark.parametrize(
    ("check_result", "message"),
    [
        ({"status": 200}, "The destination responds."),
        ({"status": 0}, "The destination cannot be checked."),
        ({"status": 404, "failing_since": NOW, "failures": 1}, "The destination has responded with status 404 since"),
        ({**DEAD, "status": 0}, "The destination has not responded since"),
    ],
)
def test_link_editor_shows_check_result(
    dashboard: Browser, ana: Person, database: Database, check_result: dict[str, Any], message: str
) -> None:
    link = _add(ana, database, "checked", **check_result)
    page = dashboard.get(f"/links/{link}").text
    assert message in page
    assert "Last check" in page
    assert "Last check" not in dashboard.get(f"/links/{_add(ana, database, 'unseen')}").text


def test_health_page_shows_number_of_dead_links(dashboard: Browser, ana: Person, database: Database) -> None:
    _add(ana, database, "gone", **DEAD)
    database.write(lambda tx: tx.execute(update(accounts).where(accounts.c.id == ana.account).values(owner=True)))
    assert "Checked every 7 days. Dead: 1" in dashboard.get("/admin/health").text


@pytest.mark.parametrize("days", [0])
def test_pages_show_no_check_results_if_checks_are_off(dashboard: Browser, ana: Person, database: Database) -> None:
    link = _add(ana, database, "gone", **DEAD)
    database.write(lambda tx: tx.execute(update(accounts).where(accounts.c.id == ana.account).values(owner=True)))
    pages = [dashboard.get(path).text for path in ("", "/links", f"/links/{link}")]
    assert not any("ead link" in page or "Last check" in page for page in pages)
    assert "Dead-link checks are off" in dashboard.get("/admin/health").text
