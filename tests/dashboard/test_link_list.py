"""The link list of the dashboard: search, order, filters and pages."""

import re
from functools import partial
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, insert, update

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.visits import CHROME, DESTINATION, visit
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.schema import links

pytestmark = ON_BOTH_DATABASES


def _titles(page: Any) -> list[str]:
    return [unescape(title) for title in re.findall(r'class="name"[^>]*>(.*?)</a>', page.text)]


def test_list_supports_search_order_filters_and_pages(ana: Person, dashboard: Browser) -> None:
    campaign = ana.add("campaign", name="Spring")
    channel = ana.add("channel", name="Letter")
    for n in range(30):
        fields: dict[str, Any] = {"campaign": campaign} if n < 3 else {"channel": channel} if n < 5 else {}
        fields |= {"status": "disabled"} if n == 4 else {}
        ana.post("/url/add", {"url": DESTINATION, "title": f"Link {n}", "custom": f"name-{n}", **fields})
    visit(dashboard.client, "name-7", agent=CHROME)
    assert _titles(dashboard.get("/links"))[0] == "Link 29"
    assert _titles(dashboard.get("/links?page=2")) == [f"Link {n}" for n in range(4, -1, -1)]
    assert "1\u201325 of 30" in dashboard.get("/links").text
    assert _titles(dashboard.get("/links?order=click"))[0] == "Link 7"
    assert _titles(dashboard.get("/links?q=link+1&order=date"))[-1] == "Link 1"
    assert _titles(dashboard.get(f"/links?campaign={campaign}")) == ["Link 2", "Link 1", "Link 0"]
    assert _titles(dashboard.get(f"/links?campaign={campaign}&q=1")) == ["Link 1"]
    assert _titles(dashboard.get(f"/links?channel={channel}")) == ["Link 4", "Link 3"]
    assert _titles(dashboard.get(f"/links?channel={channel}&status=disabled&order=click")) == ["Link 4"]
    assert "No links found" in dashboard.get("/links?q=nothing-like-this").text
    assert "No links found" in dashboard.get("/links?campaign=999").text


def test_list_filters_by_domain_state_and_day(ana: Person, ben: Person, dashboard: Browser, settings: Settings) -> None:
    ana.add("domain", domain="https://go.brand.example")
    ben.add("domain", domain="https://go.other.example")
    splash = ana.add("splash", name="Wait", title="Wait")
    rules = [{"location": "Germany", "link": DESTINATION}]
    states: dict[str, dict[str, Any]] = {
        "password": {"password": "x"},
        "splash": {"type": str(splash)},
        "frame": {"type": "frame"},
        "targeting": {"geotarget": rules},
        "limit": {"clicklimit": 1, "custom": "once"},
        "expired": {"expiry": "2999-01-01"},
    }
    ids = {name: ana.add("url", url=DESTINATION, title=name, **fields) for name, fields in states.items()}
    ana.add("url", url=DESTINATION, title="branded", domain="go.brand.example")
    ben.add("url", url=DESTINATION, title="other", domain="go.other.example", password="x")
    assert _titles(dashboard.get("/links?status=expired")) == _titles(dashboard.get("/links?status=limit")) == []
    visit(dashboard.client, "once", agent=CHROME)
    ana.write(lambda tx: tx.execute(update(links).where(links.c.id == ids["expired"]).values(expiry=1)))
    for name in states:
        assert _titles(dashboard.get(f"/links?status={name}")) == [name]
        assert _titles(dashboard.get(f"/links?status={name}&q=http")) == [name]
    assert _titles(dashboard.get("/links?domain=go.brand.example")) == ["branded"]
    assert _titles(dashboard.get("/links?domain=go.brand.example&status=password")) == []
    assert _titles(dashboard.get("/links?domain=go.other.example")) == []
    assert len(_titles(dashboard.get(f"/links?domain={settings.own_host}&order=click"))) == len(states)
    # 2023-03-04 in Auckland began at 11:00 UTC on the day before.
    dashboard.client.cookies.set("waypost_zone", "Pacific/Auckland")
    for name, created in (("frame", 1677841199), ("splash", 1677841200), ("limit", 1677927600)):
        ana.write(partial(_set_created, link=ids[name], second=created))
    assert _titles(dashboard.get("/links?from=2023-03-04&to=2023-03-04")) == ["splash"]
    assert set(_titles(dashboard.get("/links?to=2023-03-04"))) == {"splash", "frame"}
    for wrong in ("0000-00-00", "9999-12-31", "0001-01-01", "soon", "2023-02-30"):
        assert dashboard.get(f"/links?from={wrong}&to={wrong}").status_code == 200


def test_list_is_filtered_by_periods_of_the_statistics(ana: Person, dashboard: Browser) -> None:
    day = 86400
    for name, age in (("new", 0), ("recent", 3 * day), ("old", 40 * day)):
        link = ana.add("url", url=DESTINATION, title=name)
        ana.write(partial(_set_created, link=link, second=clock.now() - age))
    assert set(_titles(dashboard.get("/links?period=7"))) == {"new", "recent"}
    assert set(_titles(dashboard.get("/links?period=90&from=2020-01-01&to=2020-01-02"))) == {"new", "recent", "old"}
    assert set(_titles(dashboard.get("/links?period=unknown"))) == {"new", "recent", "old"}
    assert set(_titles(dashboard.get("/links?period=all"))) == {"new", "recent", "old"}
    assert set(_titles(dashboard.get("/links?period=&from=2020-01-01&to=2020-01-02"))) == {"new", "recent", "old"}
    assert _titles(dashboard.get("/links?period=days&from=2020-01-01&to=2020-01-02")) == []
    assert _titles(dashboard.get("/links?from=2020-01-01&to=2020-01-02")) == []
    with_days = dashboard.get("/links?period=7&from=2020-01-01&order=click").text
    assert 'href="/dashboard/links?order=click"' in with_days, "the chip of the period removes the days too"
    page = dashboard.get("/links?period=7").text
    assert list(_chips(page)) == ["Created: 7 days"]
    assert re.search(r'<option value="7" selected>\s*7 days', page)
    assert re.search(r"data-filter-count\s*>1<", page)


def _set_created(tx: Connection, link: int, second: int) -> None:
    tx.execute(update(links).where(links.c.id == link).values(created=second))


def test_filters_are_kept_in_links_and_can_be_cleared(ana: Person, dashboard: Browser) -> None:
    for n in range(30):
        ana.add("url", url=DESTINATION, title=f"Link {n}")
    page = dashboard.get("/links?q=link&status=public&order=click&from=2020-01-01").text
    assert 'href="/dashboard/links?q=link&amp;status=public&amp;order=click&amp;from=2020-01-01&amp;page=2"' in page
    assert re.search(r'<a href="/dashboard/links\?order=click">\s*Clear filters</a>', page)
    assert 'name="from" value="2020-01-01"' in page
    assert "Clear filters" not in dashboard.get("/links?order=click&page=2").text


def _chips(page: str) -> dict[str, str]:
    """Return the chosen filters of a list, with the address of the list without each."""
    chips = re.findall(r'<a class="button secondary small" href="([^"]*)">(.*?)<svg', page, re.DOTALL)
    return {unescape(" ".join(re.sub("<[^>]*>", "", text).split())): unescape(address) for address, text in chips}


def test_chosen_filters_are_chips_that_remove_them(ana: Person, dashboard: Browser, settings: Settings) -> None:
    campaign, channel = ana.add("campaign", name="Spring <b>"), ana.add("channel", name="Letter")
    link = ana.add("url", url=DESTINATION, campaign=campaign, channel=channel)
    groups = f"campaign={campaign}&channel={channel}"
    page = dashboard.get(f"/links?status=public&{groups}&domain={settings.own_host}&from=2020-01-01&to=2999-01-31").text
    assert f'value="{link}"' in page
    chips = _chips(page)
    assert list(chips) == [
        "Status: Public",
        "Campaign: Spring <b>",
        "Channel: Letter",
        f"Domain: {settings.base.partition('://')[2]}",
        "Created: 1 Jan 2020 \u2013 31 Jan 2999",
    ]
    assert "status=" not in chips["Status: Public"]
    assert f"channel={channel}&" in chips["Campaign: Spring <b>"]
    assert "campaign=" not in chips["Campaign: Spring <b>"]
    assert re.search(r"data-filter-count\s*>5<", page)
    assert list(_chips(dashboard.get("/links?campaign=999&status=unknown&from=soon").text)) == [
        "Campaign: Deleted item"
    ]
    assert _chips(dashboard.get("/links?q=target").text) == {}


def test_dates_of_this_year_omit_it(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=DESTINATION, expiry="2999-12-31")
    year = clock.local(clock.now(), ZoneInfo("UTC")).year
    page = dashboard.get(f"/links?from={year}-01-01").text
    assert list(_chips(page)) == ["Created from: 1 Jan"]
    assert list(_chips(dashboard.get(f"/links?to={year}-12-31").text)) == ["Created until: 31 Dec"]
    (chip,) = _chips(dashboard.get(f"/links?from={year}-01-01&to={year}-12-31").text).items()
    assert chip == ("Created: 1 Jan \u2013 31 Dec", "/dashboard/links")
    created = re.search(rf'<td class="date"><time [^>]*title="[^"]*{year}[^"]*">([^<]*)</time>', page)
    assert created
    assert str(year) not in created[1]
    assert re.search(r'title="Expires 31 Dec 2999">\s*Until 31 Dec 2999<', page)


def test_filters_are_in_a_sheet(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=DESTINATION)
    page = dashboard.get("/links").text
    sheet = re.search(r'<div class="sheet filter-sheet" id="filter-sheet" popover>(.*?)</div>', page, re.DOTALL)
    assert sheet is not None
    for field in ("status", "period", "from", "to", "order"):
        assert page.count(f'name="{field}"') == sheet[1].count(f'name="{field}"') == 1, field


def _heads(page: str) -> list[str]:
    """Return the heads of the columns of a list between those of the selection and of the actions."""
    heads = re.findall(r"<th[ >].*?</th>", page, re.DOTALL)
    return [re.sub("<[^>]*>", "", head).strip() for head in heads][1:-1]


def test_columns_are_chosen_for_the_browser(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url="https://shop.example/cups", title="Cups", password="x")
    page = dashboard.get("/links").text
    assert _heads(page) == ["Link", "Tags", "Clicks", "Created"]
    assert 'class="destination"' in page
    assert len(re.findall(r'name="column" value="\w+" checked', page)) == 4
    assert dashboard.submit("/links/columns", at="/links", column=["clicks", "nonsense"]).status_code == 303
    page = dashboard.get("/links").text
    assert _heads(page) == ["Link", "Clicks"]
    assert 'class="destination"' not in page
    assert "Password</span>" not in page
    assert re.findall(r'name="column" value="(\w+)" checked', page) == ["clicks"]
    dashboard.submit("/links/columns", at="/links", column=["destination", "tags", "clicks", "created"])
    assert _heads(dashboard.get("/links").text) == ["Link", "Tags", "Clicks", "Created"]


def test_table_names_its_order_and_each_button(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=DESTINATION, custom="one")
    by_date, by_clicks = dashboard.get("/links").text, dashboard.get("/links?order=click").text
    for page, column in ((by_date, "Created"), (by_clicks, "Clicks")):
        heads = re.findall(r"<th([^>]*)>\s*(.*?)</th>", page, re.DOTALL)
        assert [column in head for attributes, head in heads if 'aria-sort="descending"' in attributes] == [True]
    assert re.search(r">Copy [^<]*/one</span>", by_date)
    assert 'aria-label="Select all links on this page"' in by_date
    assert '<table class="resource-table" aria-labelledby="page-title">' in by_date


@ON_SQLITE
def test_search_with_many_matches_shows_first_thousand(ana: Person, dashboard: Browser) -> None:
    rows = [
        {
            "account": ana.account,
            "alias": f"n{n}",
            "url": DESTINATION,
            "title": f"Link {n}",
            "search": f"link {n}",
            "clicks": n % 7,
        }
        for n in range(1050)
    ]
    ana.write(lambda tx: tx.execute(insert(links), [{**row, "created": 0} for row in rows]))
    first = dashboard.get("/links?q=link")
    assert "25 of more than 1,000" in first.text
    assert _titles(first)[:2] == ["Link 1049", "Link 1048"]
    last = dashboard.get("/links?q=link&page=40")
    assert _titles(last)[-1] == "Link 50"
    assert 'rel="next"' not in last.text
    assert _titles(dashboard.get("/links?q=link&page=41")) == []
    assert _titles(dashboard.get("/links?q=link&order=click"))[:2] == _most_clicked(1050)
    assert "1\u201311 of 11" in dashboard.get("/links?q=link+104").text


def _most_clicked(count: int) -> list[str]:
    """Return the titles of the two most clicked links, the newest first among equals."""
    ranked = sorted(range(count), key=lambda n: (n % 7, n), reverse=True)
    return [f"Link {n}" for n in ranked[:2]]
