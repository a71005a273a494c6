"""The page of single visits: filters, pages, new visits and CSV."""

import csv
import re

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.visits import FIREFOX, GOOGLEBOT, IPHONE, visit
from waypost.clicks.stats import stored_visits
from waypost.core.settings import Settings

pytestmark = ON_BOTH_DATABASES


def _visit(service: AsgiClient, alias: str, agent: str = FIREFOX, referrer: str = "") -> None:
    headers = {"Referer": referrer, "Accept-Language": "pt"}
    assert visit(service, alias, agent=agent, headers=headers).status_code == 302


@pytest.fixture
def spring(ana: Person, service: AsgiClient) -> int:
    """Of Ana's link `spring`, whose visits are by Firefox, Safari and a bot; `autumn` has one by Firefox."""
    spring = ana.add("url", url="https://example.com/spring", custom="spring", title="Spring <sale>")
    ana.add("url", url="https://example.com/autumn", custom="autumn")
    _visit(service, "spring", referrer="https://news.example/")
    _visit(service, "spring", IPHONE)
    _visit(service, "spring", GOOGLEBOT)
    _visit(service, "autumn")
    return spring


def _rows(dashboard: Browser, query: str = "") -> list[str]:
    """The rows of the page as text."""
    response = dashboard.get(f"/visits{query}")
    assert response.status_code == 200
    rows = re.findall(r"<tr data-id.*?</tr>", response.text, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]


def _names(dashboard: Browser, query: str) -> list[str]:
    return [("Spring" if "Spring" in row else "autumn") for row in _rows(dashboard, query)]


def test_clicks_are_listed_newest_first(dashboard: Browser, spring: int) -> None:
    rows = _rows(dashboard)
    assert ["autumn" in row for row in rows] == [True, False, False]
    assert "Spring &lt;sale&gt;" in rows[2]
    for text in ("news.example", "Firefox", "Windows", "Desktop", "Portuguese", "New visitor"):
        assert text in rows[2]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?sort=all", ["autumn", "Spring", "Spring", "Spring"]),
        ("?sort=bot", ["Spring"]),
        ("?sort=nonsense", ["autumn", "Spring", "Spring"]),
        ("?browser=Firefox", ["autumn", "Spring"]),
        ("?browser=Firefox&referrer=news.example", ["Spring"]),
        ("?browser=nonsense", []),
        ("?kind=link", ["autumn", "Spring", "Spring"]),
        ("?kind=file", []),
        ("?kind=nonsense", ["autumn", "Spring", "Spring"]),
        ("?before=1", []),
        ("?before=x&after=x", ["autumn", "Spring", "Spring"]),
        ("?browser=%00%27", []),
    ],
)
def test_filters_select_visits(dashboard: Browser, spring: int, query: str, names: list[str]) -> None:
    assert _names(dashboard, query) == names


def test_item_filter_selects_visits_of_one_item(dashboard: Browser, spring: int) -> None:
    assert _names(dashboard, f"?kind=link&item={spring}") == ["Spring", "Spring"]
    page = dashboard.get(f"/links/{spring}/stats").text
    assert f'href="/dashboard/visits?kind=link&amp;item={spring}"' in page


def test_visit_of_rotator_is_listed_once(ana: Person, dashboard: Browser, service: AsgiClient, spring: int) -> None:
    campaign = ana.add("campaign", name="Turns", slug="turns")
    ana.update("url", spring, campaign=campaign)
    _visit(service, "r/turns")
    assert len(_rows(dashboard)) == 4
    (row,) = _rows(dashboard, "?kind=campaign")
    assert "Turns" in row


def test_pages_list_every_visit_once(
    dashboard: Browser, service: AsgiClient, spring: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(6):
        _visit(service, "autumn")
    monkeypatch.setattr(stored_visits, "PAGE_SIZE", 4)
    rows, path, pages = [], "/visits?sort=all", 0
    while path:
        page = dashboard.get(path).text
        rows += re.findall(r'data-id="(\d+)"', page)
        match = re.search(r'href="/dashboard([^"]*)" rel="next"', page)
        path, pages = (match[1].replace("&amp;", "&"), pages + 1) if match else ("", pages + 1)
    assert (len(rows), pages) == (10, 3)
    assert rows == sorted(rows, key=int, reverse=True)


def test_search_continues_after_as_many_visits_as_a_page_reads(
    dashboard: Browser, service: AsgiClient, spring: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        _visit(service, "autumn")
    monkeypatch.setattr(stored_visits, "MAX_SCANNED", 4)
    page = dashboard.get("/visits?browser=Safari").text
    assert "None of the latest visits match" in page
    match = re.search(r'href="/dashboard([^"]*)" rel="next"', page)
    assert match is not None
    second = dashboard.get(match[1].replace("&amp;", "&")).text
    match = re.search(r'href="/dashboard([^"]*)" rel="next"', second)
    assert match is not None
    assert "Safari" in dashboard.get(match[1].replace("&amp;", "&")).text


def test_csv_has_the_visits_of_the_filter(dashboard: Browser, spring: int) -> None:
    response = dashboard.get("/visits?browser=Firefox&format=csv")
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(response.text.splitlines()))
    assert [(row["kind"], row["referrer"]) for row in rows] == [("link", "news.example"), ("link", "Direct")]


def test_visits_of_other_accounts_are_not_listed(ben: Person, browser: Browser, spring: int) -> None:
    browser.sign_in("ben")
    assert _rows(browser, "?sort=all") == []
    page = browser.get(f"/visits?kind=link&item={spring}").text
    assert "Spring" not in page
    assert "Deleted item" in page
    assert len(browser.get("/visits?format=csv").text.splitlines()) == 1


def test_deleted_item_keeps_its_visits(ana: Person, dashboard: Browser, spring: int) -> None:
    ana.remove("url", spring)
    rows = _rows(dashboard)
    assert len(rows) in (1, 3)
    assert all("Deleted item" in row for row in rows[1:])


def test_click_on_block_of_bio_page_is_listed_by_its_title(
    ana: Person, dashboard: Browser, service: AsgiClient
) -> None:
    blocks = [{"type": "link", "title": "My shop", "url": "https://shop.example/"}]
    bio = ana.add("bio", name="Ana", alias="ana-page", blocks=blocks)
    match = re.search(r"/ana-page/(\d+)", visit(service, "ana-page").text)
    assert match is not None
    block = int(match[1])
    _visit(service, f"ana-page/{block}")
    (row,) = _rows(dashboard, f"?kind=block&item={block}")
    assert "My shop" in row
    ana.update("bio", bio, blocks=[])
    assert "Deleted item" in _rows(dashboard)[0]


def test_page_says_when_single_visits_are_not_kept(
    dashboard: Browser, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.__dict__, "events_days", 0)
    assert "keeps no single visits" in dashboard.get("/visits").text
