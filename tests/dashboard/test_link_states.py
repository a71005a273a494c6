"""Tags and chips in the list of links: state, campaign and channels of each row, read in one batch."""

import re
from html import unescape
from typing import Any

from sqlalchemy import update

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.statements import counted_statements
from tests.support.visits import CHROME, DESTINATION, visit
from waypost.db.schema import links


def _tags(dashboard: Browser, title: str) -> list[str]:
    """Return the texts of the tags in the row with this title, without the number of those that do not fit a line."""
    row = next(row for row in dashboard.get("/links").text.split("<tr>") if f">{title}</a>" in row)
    tags = re.findall(r'class="tag(?! more)[^>]*>(.*?)</(?:span|a)>', row, re.DOTALL)
    return [unescape(re.sub("<[^>]+>", "", tag)).strip() for tag in tags]


def test_row_without_special_state_has_no_tags(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=DESTINATION, title="Plain")
    assert _tags(dashboard, "Plain") == []


def test_row_shows_every_state(ana: Person, dashboard: Browser) -> None:
    splash = ana.add("splash", name="Wait", title="Wait")
    states: dict[str, dict[str, Any]] = {
        "Disabled": {"status": "disabled"},
        "Private": {"status": "private"},
        "Until 31 Dec 2999": {"expiry": "2999-12-31"},
        "Click limit: 0 of 1,000": {"clicklimit": 1000},
        "Password": {"password": "secret"},
        "Frame": {"type": "frame"},
        "Splash page": {"type": str(splash)},
        "Targeting": {"geotarget": [{"location": "Germany", "link": DESTINATION}]},
    }
    for n, (tag, fields) in enumerate(states.items()):
        ana.add("url", url=DESTINATION, title=f"State {n}", **fields)
        assert _tags(dashboard, f"State {n}") == [tag]
    both = ana.add("url", url=DESTINATION, title="Both", status="disabled", password="x")
    assert _tags(dashboard, "Both") == ["Disabled", "Password"]
    ana.write(lambda tx: tx.execute(update(links).where(links.c.id == both).values(expiry=1)))
    assert _tags(dashboard, "Both") == ["Disabled", "Expired", "Password"]


def test_row_shows_reached_click_limit(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=DESTINATION, title="Once", custom="once", clicklimit=1)
    visit(dashboard.client, "once", agent=CHROME)
    assert _tags(dashboard, "Once") == ["Click limit reached"]


def test_row_shows_campaign_and_channels_that_filter_the_list(ana: Person, dashboard: Browser) -> None:
    campaign = ana.add("campaign", name="Spring <1>")
    channels = [ana.add("channel", name=f"Channel {n}", color="#112233") for n in range(5)]
    ana.add("url", url=DESTINATION, title="Both", campaign=campaign, channel=channels)
    assert _tags(dashboard, "Both") == ["Spring <1>", "Channel 0", "Channel 1", "Channel 2", "+2"]
    page = dashboard.get("/links?status=public&page=1").text
    assert f'href="/dashboard/links?status=public&amp;campaign={campaign}"' in page
    assert f'href="/dashboard/links?status=public&amp;channel={channels[0]}"' in page
    assert 'fill="#112233"' in page


def test_number_of_statements_does_not_depend_on_number_of_rows(ana: Person, dashboard: Browser) -> None:
    counts = []
    for total in (1, 20):
        for n in range(total):
            campaign, channel = ana.add("campaign", name=f"{total} {n}"), ana.add("channel", name=f"{total} {n}")
            ana.add("url", url=DESTINATION, campaign=campaign, channel=[channel], password="x")
        with counted_statements("links", "channels", "campaigns", "link_checks") as statements:
            assert dashboard.get("/links").status_code == 200
        counts.append(len(statements))
    assert counts[0] == counts[1]
