"""The lists of a statistics page with many labels: all countries, and the others in one row."""

import re

import pytest
from sqlalchemy import insert

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from waypost.clicks.geo import countries
from waypost.clicks.ingest.aggregate import DAY, QUARTER
from waypost.core import clock
from waypost.db.schema import click_labels, click_times

pytestmark = ON_BOTH_DATABASES

_COUNTRIES = [name for name in countries.NAMES.values() if name != "Unknown"][:60]
_REFERRERS = [f"site{number}.example" for number in range(70)]
_CLICKS = 700


@pytest.fixture
def clicks(ana: Person) -> None:
    """700 clicks today, from 60 countries and with 70 referrers, 10 of each referrer."""
    own = {"kind": "account", "item": ana.account, "account": ana.account}
    counts = {"uniques": 0, "bots": 0, "previews": 0, "others": 0, "late": 0}
    today, now = clock.now() // DAY, clock.now() // QUARTER * QUARTER
    labels = [
        *({"dimension": "country", "label": name, "n": 11} for name in _COUNTRIES),
        {"dimension": "country", "label": "Unknown", "n": _CLICKS - 11 * len(_COUNTRIES)},
        *({"dimension": "referrer", "label": name, "n": 10} for name in _REFERRERS),
    ]
    rows = [{**own, **label, "day": today} for label in labels]
    ana.write(lambda tx: tx.execute(insert(click_times), {**own, **counts, "at": now, "clicks": _CLICKS}))
    ana.write(lambda tx: tx.execute(insert(click_labels), rows))


def test_every_country_is_on_the_map_and_in_the_list(ana: Person, dashboard: Browser, clicks: None) -> None:
    page = dashboard.get("/statistics").text
    assert f"Show all {len(_COUNTRIES) + 1}" in page
    assert all(f"<bdi>{name}</bdi>" in page.replace("&#39;", "'") for name in _COUNTRIES)


def test_labels_that_are_left_out_count_in_shares_and_as_others(ana: Person, dashboard: Browser, clicks: None) -> None:
    page = dashboard.get("/statistics").text
    section = page[page.index('id="list-referrers"') :]
    section = section[: section.index("</section>")]
    assert "Show the first 50" in section
    rows = re.findall(r"<bdi>(.*?)</bdi>.*?(\d+) <small>(.*?)</small>", section, re.DOTALL)
    assert len(rows) == 51
    assert rows[0][1:] == ("10", "1%")
    assert rows[-1] == ("All others", "200", "29%")


def test_api_reports_all_countries_and_fifty_of_other_labels(ana: Person, clicks: None) -> None:
    dimensions = ana.get("/stats")["data"]["dimensions"]
    assert (len(dimensions["countries"]), len(dimensions["referrers"])) == (len(_COUNTRIES) + 1, 50)
