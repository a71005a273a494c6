"""The time zone of the dashboard: that of the form, the account or the browser, in fields, pages and imports."""

import re
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from waypost.dashboard import i18n

pytestmark = ON_SQLITE
TARGET = "https://target.example.com/"


def _set_browser_zone(dashboard: Browser, name: str) -> None:
    dashboard.client.cookies.set("waypost_zone", name.replace("/", "%2F"), path="/dashboard")


def _expiry(ana: Person) -> Any:
    return ana.details("url", ana.get("/urls")["data"]["urls"][0]["id"])["expiry"]


def test_zone_of_account_replaces_that_of_browser(ana: Person, dashboard: Browser) -> None:
    _set_browser_zone(dashboard, "Europe/Berlin")
    assert "As in the browser: Europe/Berlin" in dashboard.get("/account").text
    assert dashboard.submit_for_message("/account/timezone", "/account", timezone="Asia/Kolkata") == "Saved."
    assert '<option value="Asia/Kolkata" selected>' in dashboard.get("/account").text
    assert "Time zone: Asia/Kolkata." in dashboard.get("/links/new").text
    assert 'data-zone="Asia/Kolkata"' in dashboard.get("/account").text
    dashboard.submit("/links/new", url=TARGET, expiry="2999-06-30T12:00")
    assert _expiry(ana) == "2999-06-30 06:30:00"
    refused = dashboard.submit("/account/timezone", "/account", timezone="Mars/Olympus")
    assert refused.status_code == 400
    assert dashboard.submit_for_message("/account/timezone", "/account", timezone="") == "Saved."
    assert "Time zone: Europe/Berlin." in dashboard.get("/links/new").text


def test_form_is_read_in_zone_that_it_named(ana: Person, dashboard: Browser) -> None:
    _set_browser_zone(dashboard, "Europe/Berlin")
    page = dashboard.get("/links/new").text
    shown = re.search(r'name="time_zone" value="([^"]+)"', page)
    assert shown is not None
    _set_browser_zone(dashboard, "America/Los_Angeles")
    fields = {"url": TARGET, "expiry": "2999-06-30T12:00", "time_zone": shown[1]}
    dashboard.submit("/links/new", **fields)
    assert _expiry(ana) == "2999-06-30 10:00:00"
    invalid = dashboard.submit("/links/new", **{**fields, "clicklimit": "many"})
    assert ("Time zone: Europe/Berlin." in invalid.text, 'value="2999-06-30T12:00"' in invalid.text) == (True, True)


@pytest.mark.parametrize(
    "path", ["/links/new", "/files/new", "/account/keys", "/bios/new", "/qr/new?type=event", "/statistics"]
)
def test_pages_with_times_name_the_zone(dashboard: Browser, path: str) -> None:
    _set_browser_zone(dashboard, "Asia/Kolkata")
    text = dashboard.get(path).text
    assert "Asia/Kolkata" in text
    assert ("datetime-local" in text) == ('name="time_zone" value="Asia/Kolkata"' in text)


def test_shown_times_name_the_zone(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=TARGET)
    _set_browser_zone(dashboard, "Asia/Kolkata")
    titles = re.findall(r"<time [^>]*title=\"([^\"]*)\"", dashboard.get("/links").text)
    assert titles
    assert all(title.endswith("Asia/Kolkata") for title in titles)


def test_unknown_zone_is_utc_and_logged_once(dashboard: Browser) -> None:
    with capture_logs() as logs:
        for _ in range(3):
            _set_browser_zone(dashboard, "Nowhere/Else")
            assert "Time zone: UTC." in dashboard.get("/links/new").text
            i18n.find_zone.cache_clear()
    zones = [line["zone"] for line in logs if line["event"] == "unknown time zone; times are shown in UTC"]
    assert zones == ["Nowhere/Else"]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "%2e%2e%2fetc", "%00", "x" * 5000, "%ff%fe", "Europe", "zone.tab"]
)
def test_hostile_zone_is_utc(dashboard: Browser, name: str) -> None:
    dashboard.client.cookies.set("waypost_zone", name, path="/dashboard")
    assert "Time zone: UTC." in dashboard.get("/links/new").text
    assert dashboard.submit("/links/new", url=TARGET, expiry="2999-06-30T12:00", time_zone=name).status_code == 303


@pytest.mark.parametrize(
    ("typed", "stored", "shown"),
    [
        ("2998-03-11T01:30", "2998-03-11 09:30:00", "2998-03-11T01:30"),
        ("2998-11-04T12:00", "2998-11-04 20:00:00", "2998-11-04T12:00"),
    ],
)
def test_times_at_changes_of_the_clock_are_kept(
    ana: Person, dashboard: Browser, typed: str, stored: str, shown: str
) -> None:
    _set_browser_zone(dashboard, "America/Los_Angeles")
    dashboard.submit("/links/new", url=TARGET, expiry=typed)
    assert _expiry(ana) == stored
    link = ana.get("/urls")["data"]["urls"][0]["id"]
    assert f'value="{shown}"' in dashboard.get(f"/links/{link}").text
