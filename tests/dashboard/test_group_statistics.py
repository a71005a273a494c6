"""Statistics of a campaign, a channel, a branded domain and a UTM value: sums of their items, and filters by them."""

import csv
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert, text

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.statements import recorded_statements
from tests.support.visits import DESTINATION, FIREFOX, GOOGLEBOT, IPHONE, new_link, visit
from waypost.clicks.ingest.aggregate import DAY
from waypost.clicks.stats import reports, span_labels
from waypost.clicks.stats.subjects import ItemGroup, Subject, find_members
from waypost.core import clock
from waypost.db.schema import click_times

pytestmark = ON_BOTH_DATABASES
_NONE = "\N{EN DASH}"
"""The change without clicks in the period before."""
_OTHER_CLICKS = (
    "INSERT INTO click_times SELECT 'link', item, n * 3600, :account, 1, 1, 0, 0, 0, 0"
    " FROM generate_series(100, 299) AS item, generate_series(1, 100) AS n",
    "INSERT INTO click_labels SELECT 'link', item, n, 'browser', 'Firefox', :account, 1"
    " FROM generate_series(100, 299) AS item, generate_series(1, 100) AS n",
)


@pytest.fixture
def ids(ana: Person, service: AsgiClient) -> dict[str, int]:
    """Ids by name: a campaign of two links with rotator, a channel, and links outside of both.

    `mail` has 4 clicks (one through the rotator, one by a phone) and a bot, `social` 2 (one through the rotator),
    `other` one.
    """
    ids = {
        "mail": new_link(ana, "mail", title="Mail", url=f"{DESTINATION}?utm_source=letter&utm_medium=e-mail"),
        "social": new_link(ana, "social", title="Social", url=f"{DESTINATION}?utm_source=my%20feed#utm_source=letter"),
        "other": new_link(ana, "other", parameters=[{"name": "utm_source", "value": "my feed"}]),
        "campaign": ana.add("campaign", name="Spring", slug="spring", rotation="ordered"),
        "channel": ana.add("channel", name="Shop"),
    }
    for name in ("mail", "social"):
        ana.post(f"/campaign/{ids['campaign']}/assign/{ids[name]}")
    for name in ("mail", "other"):
        ana.post(f"/channel/{ids['channel']}/assign/links/{ids[name]}")
    for alias, agent in (
        *(("mail", FIREFOX), ("mail", FIREFOX), ("mail", IPHONE), ("mail", GOOGLEBOT), ("social", FIREFOX)),
        *(("other", FIREFOX), ("r/spring", FIREFOX), ("r/spring", FIREFOX)),
    ):
        assert visit(service, alias, agent=agent).status_code == 302
    return ids


def _tiles(page: str) -> Mapping[str, int]:
    rows = re.findall(r"<dt>(.*?)</dt>\s*<dd>\s*([\d,]+)\s*</dd>", page, re.DOTALL)
    return {label: int(n.replace(",", "")) for label, n in rows}


def _list(page: str, name: str) -> Mapping[str, int]:
    section = re.search(rf'<h2 id="list-{name}">.*?</section>', page, re.DOTALL)
    rows = re.findall(r"<bdi>(.*?)</bdi>.*?(\d+) <small>", section[0] if section else "", re.DOTALL)
    return {label: int(n) for label, n in rows}


def _items(page: str) -> Mapping[str, int]:
    return _list(page, "visited")


def _links(page: str) -> list[tuple[str, ...]]:
    """Return name, clicks with share, clicks through the rotator with share, and expected share of each link."""
    table = re.search(r'<table class="by-link".*?</table>', page, re.DOTALL)
    assert table is not None
    without_phones = re.sub(r'<span class="on-phones.*?</span>', "", table[0], flags=re.DOTALL)
    rows = re.findall(r"<tr>.*?</tr>", without_phones, re.DOTALL)[1:]
    texts = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]
    return [tuple(text.removesuffix(" Statistics of").split(" Statistics of")[0].split()) for text in texts]


def test_campaign_is_the_sum_of_its_links_with_the_rotator_apart(dashboard: Browser, ids: dict[str, int]) -> None:
    page = dashboard.get(f"/campaigns/{ids['campaign']}/stats").text
    assert _tiles(page) == {"Clicks": 6, "Visitors": 3, "Through the rotator": 2, "Bots": 1, "Previews": 0}
    assert _links(page) == [
        ("Mail", "4", "67%", _NONE, "1", "50%", "50%"),
        ("Social", "2", "33%", _NONE, "1", "50%", "50%"),
    ]
    points = re.findall(r'<th scope="row"><time[^<]+</time></th>\s*<td>(\d+)</td>', page)
    assert sum(map(int, points)) == 6


def test_list_of_campaigns_has_the_sum_of_the_links_and_the_rotator(dashboard: Browser, ids: dict[str, int]) -> None:
    page = dashboard.get("/campaigns").text
    row = re.findall(r"<tr>.*?</tr>", page, re.DOTALL)[1]
    cells = [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)]
    assert cells[2:5] == ["2", "6 6 clicks", "2"]


def test_links_of_a_campaign_have_their_latest_clicks_with_their_share(
    ana: Person, dashboard: Browser, ids: dict[str, int]
) -> None:
    for days in (29, 40):
        at = (clock.now() // DAY - days) * DAY
        row = {"account": ana.account, "kind": "link", "item": ids["social"], "at": at, "clicks": 2, "uniques": 2}
        row |= {"bots": 0, "previews": 0, "others": 0, "late": 0}
        ana.write(lambda tx, row=row: tx.execute(insert(click_times).values(row)))  # type: ignore[misc]
    page = dashboard.get(f"/campaigns/{ids['campaign']}").text
    cells = re.findall(r'<td class="num recent">(.*?)</td>', page, re.DOTALL)
    texts = [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in cells]
    assert texts == ["4 4 in 30 days 50%", "4 4 in 30 days 50%"]


@pytest.mark.parametrize("path", ["", "/{campaign}"])
def test_pages_of_campaigns_execute_a_fixed_number_of_statements(
    ana: Person, dashboard: Browser, ids: dict[str, int], path: str
) -> None:
    path = f"/campaigns{path.format(**ids)}"
    dashboard.get(path)
    with recorded_statements() as before:
        assert dashboard.get(path).status_code == 200
    for number in range(5):
        link = new_link(ana, f"more-{number}")
        ana.post(f"/campaign/{ids['campaign']}/assign/{link}")
        ana.add("campaign", name=f"More {number}")
    with recorded_statements() as statements:
        assert dashboard.get(path).status_code == 200
    assert len(statements) <= len(before) <= 20, "\n".join(statements)


def test_expected_share_of_a_link_follows_its_weight(ana: Person, dashboard: Browser, ids: dict[str, int]) -> None:
    ana.update("campaign", ids["campaign"], name="Spring", rotation="weighted")
    ana.post(f"/campaign/{ids['campaign']}/assign/{ids['mail']}", {"weight": 3})
    page = dashboard.get(f"/campaigns/{ids['campaign']}/stats").text
    assert [row[-1] for row in _links(page)] == ["75%", "25%"]


def test_campaign_without_rotator_shows_clicks_only(ana: Person, dashboard: Browser, ids: dict[str, int]) -> None:
    ana.update("campaign", ids["campaign"], name="Spring", slug=None)
    page = dashboard.get(f"/campaigns/{ids['campaign']}/stats").text
    assert "Through the rotator" not in page
    assert [row[:3] for row in _links(page)] == [("Mail", "4", "67%"), ("Social", "2", "33%")]


@pytest.mark.parametrize(
    ("query", "clicks", "links"),
    [
        ("browser=Safari", 1, [("Mail", "1", "100%", _NONE, "0", "50%"), ("Social", "0", "0%", _NONE, "0", "50%")]),
        (
            "browser=Firefox",
            5,
            [("Mail", "3", "60%", _NONE, "1", "50%", "50%"), ("Social", "2", "40%", _NONE, "1", "50%", "50%")],
        ),
        ("source=link", 6, [("Mail", "4", "67%", _NONE), ("Social", "2", "33%", _NONE)]),
        ("channel={channel}", 4, [("Mail", "4", "100%", _NONE, "1", "100%")]),
        ("visited=link-{social}", 2, [("Social", "2", "100%", _NONE, "1", "100%")]),
        ("utm_source=my feed", 2, [("Social", "2", "100%", _NONE, "1", "100%")]),
    ],
)
def test_filters_limit_a_campaign(
    dashboard: Browser, ids: dict[str, int], query: str, clicks: int, links: list[tuple[str, ...]]
) -> None:
    page = dashboard.get(f"/campaigns/{ids['campaign']}/stats?{query.format(**ids)}").text
    assert _tiles(page)["Clicks"] == clicks
    assert _links(page) == links


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("campaign={campaign}", {"Mail": 4, "Social": 2}),
        ("channel={channel}", {"Mail": 4, "other": 1}),
        ("campaign={campaign}&channel={channel}", {"Mail": 4}),
        ("utm_source=letter", {"Mail": 4}),
        ("utm_source=my feed", {"Social": 2, "other": 1}),
        ("utm_source=my feed&browser=Firefox", {"Social": 2, "other": 1}),
        ("utm_source=letter&device=Mobile", {"Mail": 1}),
        ("utm_medium=e-mail&utm_source=letter", {"Mail": 4}),
        ("utm_source=LETTER", {}),
        ("campaign={campaign}&period=24h", {"Mail": 4, "Social": 2}),
        ("campaign=99999", {}),
        ("domain=99999&utm_source=%00", {}),
    ],
)
def test_account_is_filtered_by_groups(
    dashboard: Browser, ids: dict[str, int], query: str, items: Mapping[str, int]
) -> None:
    page = dashboard.get(f"/statistics?{query.format(**ids)}").text
    assert _items(page) == items
    assert _tiles(page)["Clicks"] == sum(items.values())


def test_clicks_by_utm_value_are_filters(dashboard: Browser, ids: dict[str, int]) -> None:
    for path, sources in (
        ("/statistics", {"letter": 4, "my feed": 3}),
        (f"/campaigns/{ids['campaign']}/stats", {"letter": 4, "my feed": 2}),
        (f"/channels/{ids['channel']}/stats?device=Desktop", {"letter": 3, "my feed": 1}),
    ):
        page = dashboard.get(path).text
        assert _list(page, "utm_source") == sources
        assert re.search(r'href="/dashboard/[^"]*utm_source=my\+feed"', page)
    assert _list(dashboard.get("/statistics").text, "utm_medium") == {"e-mail": 4}
    export = dashboard.get("/statistics?format=csv").text
    assert '"UTM source","my feed","3"' in export


def test_channel_and_domain_have_the_same_page(
    ana: Person, dashboard: Browser, service: AsgiClient, ids: dict[str, int]
) -> None:
    page = dashboard.get(f"/channels/{ids['channel']}/stats").text
    assert (_tiles(page)["Clicks"], _items(page)) == (5, {"Mail": 4, "other": 1})
    domain = ana.add("domain", domain="https://brand.localhost")
    new_link(ana, "own", domain="https://brand.localhost")
    assert visit(service, "https://brand.localhost/own", agent=FIREFOX).status_code == 302
    page = dashboard.get(f"/domains/{domain}/stats").text
    assert (_tiles(page)["Clicks"], _items(page)) == (1, {"own": 1})
    assert "visits to unknown aliases" in dashboard.get(f"/domains/{domain}/unknown").text


def test_filter_offers_groups_and_keeps_the_rest_of_the_query(dashboard: Browser, ids: dict[str, int]) -> None:
    page = dashboard.get(f"/statistics?period=7&utm_source=letter&campaign={ids['campaign']}").text
    assert f'<option value="{ids["campaign"]}" selected>Spring</option>' in page
    assert '<option value="my feed">my feed</option>' in page
    assert '<input type="hidden" name="period" value="7">' in page
    assert "UTM source: <bdi>letter</bdi>" in page
    assert "Campaign: <bdi>Spring</bdi>" in page
    assert f'href="/dashboard/statistics?period=7&amp;campaign={ids["campaign"]}"' in page


def test_groups_of_another_account_are_unknown(ben: Person, browser: Browser, ids: dict[str, int]) -> None:
    browser.sign_in("ben")
    for kind in ("campaign", "channel"):
        page = browser.get(f"/statistics?{kind}={ids[kind]}").text
        assert _tiles(page)["Clicks"] == 0
        assert not re.search("Spring|Shop|Mail", page)
        assert browser.get(f"/{kind}s/{ids[kind]}/stats").status_code == 404


def test_csv_of_a_campaign_has_its_links(dashboard: Browser, ids: dict[str, int]) -> None:
    export = dashboard.get(f"/campaigns/{ids['campaign']}/stats?format=csv&channel={ids['channel']}")
    rows = list(csv.reader(export.text.splitlines()))
    assert ["Items", "Mail", "4"] in rows
    assert "Spring" in export.headers["content-disposition"]
    assert "Shop" in export.headers["content-disposition"]


def test_page_of_a_group_executes_a_fixed_number_of_statements(
    ana: Person, dashboard: Browser, ids: dict[str, int]
) -> None:
    def statements() -> int:
        with recorded_statements() as recorded:
            assert dashboard.get(f"/campaigns/{ids['campaign']}/stats").status_code == 200
        return len(recorded)

    statements()
    before = statements()
    for number in range(5):
        link = new_link(ana, f"more-{number}", url=f"{DESTINATION}?utm_source=s{number}")
        ana.post(f"/campaign/{ids['campaign']}/assign/{link}")
    assert statements() <= before <= 40


def test_totals_of_members_are_found_by_the_primary_key(ana: Person, ids: dict[str, int]) -> None:
    plans: list[str] = []

    def read(tx: Connection) -> None:
        def explain(_tx: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
            prefix = "EXPLAIN QUERY PLAN" if tx.dialect.name == "sqlite" else "EXPLAIN"
            if not statement.startswith("EXPLAIN"):
                rows = tx.exec_driver_sql(f"{prefix} {statement}", parameters)
                plans.append("\n".join(str(tuple(row)) for row in rows))

        if tx.dialect.name == "postgresql":  # prefers other ways for a few rows
            for statement in _OTHER_CLICKS:
                tx.execute(text(statement), {"account": ana.account})
            tx.execute(text("ANALYZE click_times, click_labels"))
        event.listen(tx, "before_cursor_execute", explain)
        for members in ({"link": {1, 2}}, {"link": {1, 2}, "bio": {3}}):
            subject = Subject(ana.account, "channel", 7, members)
            reports.times_of(tx, subject, 0, 2_000_000_000)
            reports.clicks_by_item(tx, subject, 0, 2_000_000_000)
            span_labels.of_days(tx, subject, 0, 30_000)

    ana.write(read)
    key = {"sqlite": r"PRIMARY KEY \(kind=\? AND item=\?", "postgresql": r"Index Cond: .*kind.*item"}
    pattern = key["sqlite" if any("SEARCH" in plan for plan in plans) else "postgresql"]
    assert len(plans) == 6
    assert all(re.search(pattern, plan) for plan in plans), plans


def test_value_is_found_however_its_link_writes_it(ana: Person) -> None:
    value = 'Caf\xe9 "100%_a\\b'
    links = [
        new_link(ana, "escaped", url=f"{DESTINATION}?utm_source=Caf%C3%A9%20%22100%25_%61%5Cb"),
        new_link(ana, "plus", url=f"{DESTINATION}?utm_source=Caf%C3%A9+%22100%25_a%5cb"),
        new_link(ana, "own", parameters=[{"name": "utm_source", "value": value}]),
    ]
    new_link(ana, "other", url=f"{DESTINATION}?utm_source=Cafe")
    plain = new_link(ana, "plain", url=f"{DESTINATION}?utm_source=plain_a")
    new_link(ana, "wildcard", url=f"{DESTINATION}?utm_source=plainXa")
    for searched, ids in ((value, set(links)), ("plain_a", {plain}), ("plain", set[int]())):
        group = ItemGroup(utm={"utm_source": searched})
        assert ana.database.read(partial(find_members, account=ana.account, group=group)) == {"link": ids}
