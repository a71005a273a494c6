"""Statistics that are filtered by labels and items, the 24-hour period, the map, the week, and the events."""

import csv
import re
from collections.abc import Mapping

import pytest
import time_machine
from sqlalchemy import Connection, delete, insert, update

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.visits import FIREFOX, GOOGLEBOT, IPHONE, new_link, visit
from waypost.clicks.blocks import compaction
from waypost.clicks.ingest.aggregate import DAY
from waypost.clicks.stats.verify import differences
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.schema import click_times, events, import_origins, import_plans, import_rows, leases, links

pytestmark = ON_BOTH_DATABASES


def _visit(service: AsgiClient, alias: str, agent: str = FIREFOX, referrer: str = "", language: str = "pt") -> None:
    headers = {"Referer": referrer, "Accept-Language": language}
    assert visit(service, alias, agent=agent, headers=headers).status_code == 302


@pytest.fixture
def spring(ana: Person, service: AsgiClient) -> int:
    """Ana's link `spring` with three clicks, two of them by Firefox, and one of a bot; `autumn` has one."""
    spring = new_link(ana, "spring", title="Spring <sale>")
    new_link(ana, "autumn")
    _visit(service, "spring", referrer="https://news.example/")
    _visit(service, "spring", language="de")
    _visit(service, "spring", IPHONE)
    _visit(service, "spring", GOOGLEBOT)
    _visit(service, "autumn")
    return spring


def _tiles(page: str) -> tuple[int, ...]:
    """Return clicks, visitors and bots of the page."""
    return tuple(int(n) for n in re.findall(r"<dd>\s*(\d+)\s*</dd>", page)[:3])


def _list(page: str, name: str) -> Mapping[str, int]:
    """Return the rows of a list."""
    section = re.search(rf'<h2 id="list-{name}">.*?</section>', page, re.DOTALL)
    rows = re.findall(r"<bdi>(.*?)</bdi>.*?(\d+) <small>", section[0] if section else "", re.DOTALL)
    return {label: int(n) for label, n in rows}


@pytest.mark.parametrize(
    ("query", "tiles", "browsers"),
    [
        ("", (3, 2, 1), {"Firefox": 2, "Safari": 1}),
        ("?browser=Firefox", (2, 1, 0), {"Firefox": 2}),
        ("?browser=Firefox&referrer=news.example", (1, 1, 0), {"Firefox": 1}),
        ("?browser=Firefox&language=de", (1, 0, 0), {"Firefox": 1}),
        ("?device=Mobile&os=iOS&source=link", (1, 1, 0), {"Safari": 1}),
        ("?country=Unknown&period=24h", (3, 2, 1), {"Firefox": 2, "Safari": 1}),
        ("?browser=nonsense", (0, 0, 0), {}),
        ("?browser=%00%27&visited=link-x", (0, 0, 0), {}),
        ("?visited=link-99999", (3, 2, 1), {"Firefox": 2, "Safari": 1}),
    ],
)
def test_filter_applies_to_tiles_chart_and_lists(
    dashboard: Browser, spring: int, query: str, tiles: tuple[int, ...], browsers: Mapping[str, int]
) -> None:
    page = dashboard.get(f"/links/{spring}/stats{query}").text
    assert _tiles(page) == tiles
    assert _list(page, "browsers") == browsers
    points = re.findall(r'<th scope="row"><time[^<]+</time></th>\s*<td>(\d+)</td>', page)
    assert sum(map(int, points)) == tiles[0]


def test_filter_parts_are_links_that_remove_them(dashboard: Browser, spring: int) -> None:
    page = dashboard.get(f"/links/{spring}/stats?period=7&browser=Firefox&language=pt").text
    path = f"/dashboard/links/{spring}/stats"
    assert f'href="{path}?period=7&amp;language=pt"' in page
    assert f'href="{path}?period=7&amp;browser=Firefox"' in page
    assert f'href="{path}?period=7">Clear filters' in page
    assert "Portuguese" in page
    assert f'href="/dashboard/visits?kind=link&amp;item={spring}&amp;' in page
    assert '<input type="hidden" name="browser" value="Firefox">' in page
    assert f'href="{path}?period=7&amp;browser=Firefox&amp;language=pt&amp;referrer=news.example"' in page


def test_account_is_filtered_by_item(dashboard: Browser, spring: int) -> None:
    page = dashboard.get("/statistics").text
    assert _tiles(page) == (4, 3, 1)
    assert _list(page, "visited") == {"Spring &lt;sale&gt;": 3, "autumn": 1}
    assert f"/dashboard/statistics?visited=link-{spring}" in page
    filtered = dashboard.get(f"/statistics?visited=link-{spring}&browser=Firefox").text
    assert _tiles(filtered) == (2, 1, 0)
    assert "Item: <bdi>Spring &lt;sale&gt;</bdi>" in filtered


def test_items_and_visits_of_other_accounts_are_not_shown(ben: Person, browser: Browser, spring: int) -> None:
    browser.sign_in("ben")
    page = browser.get(f"/statistics?visited=link-{spring}").text
    assert _tiles(page) == (0, 0, 0)
    assert "Spring" not in page
    assert "Deleted item" in page
    assert browser.get(f"/links/{spring}/stats?browser=Firefox").status_code == 404


def test_filtered_csv_has_the_filtered_numbers(dashboard: Browser, spring: int) -> None:
    text = dashboard.get(f"/links/{spring}/stats?browser=Safari&format=csv").text
    rows = list(csv.reader(text.splitlines()))
    assert ["Browsers", "Safari", "1"] in rows
    assert not [row for row in rows if row[1] == "Firefox"]


def test_unfiltered_and_filtered_numbers_are_equal(ana: Person, dashboard: Browser, spring: int) -> None:
    """A filter that every visit matches changes nothing."""
    whole = dashboard.get("/statistics?period=7").text
    for query in ("country=Unknown", "country=Unknown&source=link"):
        page = dashboard.get(f"/statistics?period=7&{query}").text
        assert _tiles(page) == _tiles(whole)
        for name in ("browsers", "os", "devices", "languages", "referrers", "visited"):
            assert _list(page, name) == _list(whole, name), name
    assert ana.database.read(differences) == []


def test_numbers_stay_after_compaction(
    ana: Person, dashboard: Browser, spring: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SMALL", 2)
    before = dashboard.get("/statistics?browser=Firefox").text
    ana.write(lambda tx: tx.execute(delete(leases)))
    compaction.compact(ana.database, events_days=30, now=clock.now())
    after = dashboard.get("/statistics?browser=Firefox").text
    assert (_tiles(after), _list(after, "visited")) == (_tiles(before), _list(before, "visited"))
    assert _tiles(after)[0] == 3


def test_page_says_when_period_begins_before_single_visits(
    dashboard: Browser, settings: Settings, spring: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = dashboard.get(f"/links/{spring}/stats?browser=Firefox&period=7").text
    assert "The period begins earlier" not in kept
    assert "visits since" not in kept, "nothing is missing in this period"
    assert 'title="Visitors are those whose first click of a day matches the filter."' in kept
    assert "Visitors are those" not in dashboard.get(f"/links/{spring}/stats?period=7").text
    page = dashboard.get(f"/links/{spring}/stats?browser=Firefox&period=90").text
    assert "The period begins earlier, so the filter finds only a part of its visits." in page
    monkeypatch.setitem(settings.__dict__, "events_days", 0)
    page = dashboard.get(f"/links/{spring}/stats?browser=Safari").text
    assert "keeps no single visits, so statistics cannot be filtered" in page
    assert _tiles(page) == (3, 2, 1)
    assert f"/dashboard/links/{spring}/stats?browser=Firefox" not in page
    assert "filter-popover" not in page
    assert "Select a row" not in page


def test_filtered_period_before_is_compared_only_if_its_visits_are_kept(
    ana: Person, dashboard: Browser, spring: int
) -> None:
    dashboard.get("/statistics")  # counts the visits
    is_german, moved = events.c.language == "de", events.c.at_ms - 8 * DAY * 1000
    ana.write(lambda tx: tx.execute(update(events).where(is_german).values(at_ms=moved)))
    week = dashboard.get(f"/links/{spring}/stats?browser=Firefox&period=7").text
    assert _tiles(week) == (1, 1, 0)
    assert "1 in the period before" in week
    assert "No comparison" not in week
    path = f"/links/{spring}/stats?browser=Firefox&period=30"
    month = dashboard.get(path).text
    assert "in the period before</span>" not in month
    assert "No comparison with the period before: with a filter, it needs single visits" in month
    assert "No comparison with a year before" in dashboard.get(f"{path}&compare=year").text
    assert "No comparison" not in dashboard.get(f"{path}&compare=none").text


def test_page_says_that_nothing_was_counted_a_year_before(dashboard: Browser, spring: int) -> None:
    empty = "Nothing was counted a year before."
    for path in (f"/links/{spring}/stats?", "/statistics?", "?"):
        assert empty in dashboard.get(f"{path}compare=year").text, path
        assert empty not in dashboard.get(path).text, path
        assert empty not in dashboard.get(f"{path}compare=none").text, path


def test_rare_parts_of_the_filter_are_folded_until_one_is_chosen(dashboard: Browser, spring: int) -> None:
    def fold(query: str) -> str:
        page = dashboard.get(f"/links/{spring}/stats?{query}").text
        fold_of_page = re.search(r'<details class="more-choices"(.*?)>(.*?)</details>', page, re.DOTALL)
        assert fold_of_page
        assert re.findall(r'<select name="(\w+)">', fold_of_page[2]) == ["browser", "os", "language", "source"]
        return fold_of_page[1].strip()

    assert fold("device=Mobile") == ""
    assert fold("browser=Firefox") == "open"


def test_statistics_of_item_and_account_can_be_filtered_in_a_form(dashboard: Browser, spring: int) -> None:
    for path in (f"/links/{spring}/stats", "/statistics"):
        page = dashboard.get(f"{path}?browser=Firefox&period=7").text
        filter_form = re.search(r'<form class="popover filter-popover".*?</form>', page, re.DOTALL)
        assert filter_form
        choices = dict(re.findall(r'<select name="(\w+)">(.*?)</select>', filter_form[0], re.DOTALL))
        assert {"referrer", "device", "browser", "os", "language", "source"} <= choices.keys()
        assert re.search(r'value="Firefox"\s+selected', choices["browser"])
        assert re.findall(r'value="(?!")(\w+)"', choices["language"]) == ["pt", "de"]
        assert 'name="period" value="7"' in filter_form[0]
        assert "Select a row to filter the statistics by it." in page


def test_last_24_hours_are_counted_by_hour(ana: Person, dashboard: Browser, spring: int) -> None:
    now = clock.now()
    times = [now - 3600 * hours for hours in (2, 22, 25, 40)]
    rows = [
        {"account": ana.account, "kind": "link", "item": spring, "at_ms": at * 1000, "sort": "click", "country": "Peru"}
        for at in times
    ]
    ana.write(lambda tx: tx.execute(insert(events), rows))
    page = dashboard.get(f"/links/{spring}/stats?period=24h").text
    assert _tiles(page)[0] == 5
    assert _list(page, "countries") == {"Unknown": 3, "Peru": 2}
    point = r'<th scope="row"><time datetime="\d{4}-\d\d-\d\d \d\d:00">\d+ \w+ \d{4}, \d\d:00</time></th>'
    assert len(re.findall(point, page)) == 24


def test_countries_have_flags_and_are_drawn_on_the_map(ana: Person, dashboard: Browser, spring: int) -> None:
    country = {"Peru": 30, "Singapore": 1, "Unknown": 9}
    for name, n in country.items():
        row = {"account": ana.account, "kind": "link", "item": spring, "sort": "click", "country": name}
        ana.write(lambda tx: tx.execute(insert(events), [{**row, "at_ms": clock.now_ms()}] * n))  # noqa: B023  # called at once
    page = dashboard.get(f"/links/{spring}/stats?period=24h").text
    (path,) = re.findall(r'src="(/dashboard/static/flag-PE-\w+\.svg)"', page)
    flag = dashboard.client.get(path)
    assert (flag.status_code, flag.headers["content-type"]) == (200, "image/svg+xml")
    assert re.search(r'<a href="[^"]*country=Peru" aria-label="Peru: 30 \(70%\)">', page)
    assert re.search(r'world-\w+\.svg#SG" class="share-2"', page)
    assert 'aria-label="Unknown' not in page
    (world,) = set(re.findall(r"(/dashboard/static/world-\w+\.svg)#", page))
    assert 'id="PE"' in dashboard.client.get(world).text


def test_week_is_in_the_time_zone_of_the_viewer(ana: Person, dashboard: Browser, spring: int) -> None:
    monday = clock.now() // (7 * DAY) * 7 * DAY - 3 * DAY  # 1970-01-01 was a Thursday
    row = {"account": ana.account, "kind": "link", "item": spring, "at": monday + 23 * 3600, "clicks": 7}
    ana.write(lambda tx: tx.execute(insert(click_times), row))
    page = dashboard.get(f"/links/{spring}/stats").text
    assert 'title="Monday, 23:00: 7"' in page
    dashboard.client.cookies.set("waypost_zone", "Asia/Tokyo")
    assert 'title="Tuesday, 08:00: 7"' in dashboard.get(f"/links/{spring}/stats").text


def _import(tx: Connection, account: int, link: int) -> None:
    """Store an applied import of the link."""
    plan = {"account": account, "source": "bitly", "conflicts": "skip", "state": "applied", "created": clock.now()}
    new_plan = insert(import_plans).returning(import_plans.c.id)
    number = tx.execute(new_plan, {**plan, "ignored": [], "added": {}}).scalar()
    row = {"account": account, "plan": number, "kind": "link", "fate": "create", "source_id": "x", "digest": ""}
    tx.execute(insert(import_rows), {**row, "fields": {}})
    origin = {"account": account, "source": "bitly", "source_id": "x", "link": link, "digest": ""}
    tx.execute(insert(import_origins), origin)


def test_events_are_listed_below_the_chart(ana: Person, dashboard: Browser, spring: int) -> None:
    ana.write(lambda tx: tx.execute(update(links).where(links.c.id == spring).values(created=clock.now() - 3 * DAY)))
    campaign = ana.add("campaign", name="Easter <b>")
    ana.update("url", spring, campaign=campaign)
    ana.update("url", spring, title="Spring")
    ana.write(lambda tx: _import(tx, ana.account, spring))
    page = dashboard.get(f"/links/{spring}/stats?period=7").text
    rows = re.findall(r'<li data-point="(\d+)">.*?<span>(.*?)</span>', page, re.DOTALL)
    texts = [(int(point), " ".join(text.split())) for point, text in rows]
    assert texts == [
        (3, "Link created"),
        (6, "Links edited: 2 times"),
        (6, "Import from Bitly"),
        (6, "Campaign started: Easter &lt;b&gt;"),
    ]
    page = dashboard.get("/statistics?period=today").text
    assert "Campaign started: Easter" in page
    assert re.search(r"<span>\s*Link created", page)


def test_edits_of_a_point_are_one_mark_with_their_number(ana: Person, dashboard: Browser, spring: int) -> None:
    for title in ("a", "b", "c", "c"):  # the last one changes nothing
        ana.update("url", spring, title=title)
    ana.update("channel", ana.add("channel", name="x"), name="y")  # it has no statistics
    for path in (f"/links/{spring}/stats?period=7", "/statistics?period=7"):
        assert re.findall(r"Links? edited[^<]*", dashboard.get(path).text) == ["Links edited: 3 times"], path


def test_edits_outside_of_the_period_are_not_marked(ana: Person, dashboard: Browser, spring: int) -> None:
    with time_machine.travel(clock.now() - 40 * DAY):
        ana.update("url", spring, title="a")
    for path in (f"/links/{spring}/stats", "/statistics"):
        assert "Link edited" not in dashboard.get(f"{path}?period=7").text
        assert "Link edited" in dashboard.get(f"{path}?period=90").text


def test_top_links_of_overview_are_those_of_the_period(
    ana: Person, dashboard: Browser, settings: Settings, spring: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    winter = new_link(ana, "winter")
    ana.write(lambda tx: tx.execute(update(links).where(links.c.id == winter).values(clicks=99)))

    def top(query: str = "") -> list[tuple[str, int]]:
        section = re.search(r"<h2>Top links.*?</section>", dashboard.get(query).text, re.DOTALL)
        assert section
        rows = re.findall(r'/stats"><bdi>(.*?)</bdi></a>.*?<strong class="num">(\d+)<', section[0], re.DOTALL)
        return [(name, int(n)) for name, n in rows]

    assert top() == top("?period=7") == [("Spring &lt;sale&gt;", 3), ("autumn", 1)]
    assert top("?period=yesterday") == []
    all_time = [("winter", 99), ("Spring &lt;sale&gt;", 3), ("autumn", 1)]
    assert top("?period=all") == all_time
    assert "<h2>Top links, all time</h2>" in dashboard.get("?period=all").text
    assert "Since " in dashboard.get("?period=90").text
    monkeypatch.setitem(settings.__dict__, "events_days", 0)
    assert top("?period=yesterday") == all_time, "without single visits there is no other number"


def test_period_without_visits_has_no_empty_axis(dashboard: Browser, spring: int) -> None:
    page = dashboard.get(f"/links/{spring}/stats?from=2020-01-01&to=2020-01-31").text
    assert "Nothing was counted in this period." in page
    assert "data-chart" not in page
    assert "Show as table" not in page
    assert "data-chart" in dashboard.get(f"/links/{spring}/stats").text
