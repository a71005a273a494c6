"""Days of a time zone: the totals and the labels of a report cover the same seconds."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from sqlalchemy import Connection, delete

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.visits import CHROME, CURL, FIREFOX, IPHONE, new_link, visit
from waypost.clicks.stats.span_labels import _share
from waypost.db.schema import events, visit_blocks

# In Berlin, the clocks go back on 2027-10-31 at 01:00 UTC, in Los Angeles on 2027-11-07 at 09:00 UTC.
_VISITS = (
    ("2027-10-30 06:59", CHROME, "Chrome", "facebook.com"),
    ("2027-10-30 07:00", FIREFOX, "Firefox", "x.com"),
    ("2027-10-30 18:29", IPHONE, "Safari", "a.example"),
    ("2027-10-30 18:30", CURL, "curl", "b.example"),
    ("2027-10-30 21:59", CHROME, "Chrome", "x.com"),
    ("2027-10-30 22:00", IPHONE, "Safari", "facebook.com"),
    ("2027-10-31 01:30", FIREFOX, "Firefox", "a.example"),
    ("2027-10-31 22:59", CURL, "curl", "x.com"),
    ("2027-10-31 23:00", CHROME, "Chrome", "b.example"),
    ("2027-11-01 06:59", FIREFOX, "Firefox", "facebook.com"),
)
_ZONES = ("UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "Asia/Kathmandu", "Pacific/Auckland")
_SPANS = (("2027-10-30", "2027-10-30"), ("2027-10-31", "2027-10-31"), ("2027-10-30", "2027-10-31"))
_NETWORKS = {"facebook.com": "social_a", "x.com": "social_b"}


def _record(service: AsgiClient, ana: Person) -> int:
    link = new_link(ana, "spring")
    for moment, agent, _, site in _VISITS:
        with time_machine.travel(datetime.fromisoformat(moment).replace(tzinfo=UTC), tick=True):
            visit(service, "spring", agent=agent, headers={"Referer": f"https://{site}/"})
            ana.get(f"/url/{link}")  # counts the visit
    return link


def _expected(first: str, last: str, zone: str) -> list[tuple[str, str]]:
    """Return browser and site of the visits of these days."""
    moments = [(datetime.fromisoformat(row[0]).replace(tzinfo=UTC), row) for row in _VISITS]
    days = [(moment.astimezone(ZoneInfo(zone)).date().isoformat(), row) for moment, row in moments]
    return [(row[2], row[3]) for day, row in days if first <= day <= last]


def _reports(ana: Person, link: int) -> Iterator[tuple[Any, list[tuple[str, str]]]]:
    for path in (f"/url/{link}/stats", "/stats"):
        for zone in _ZONES:
            for first, last in _SPANS:
                report = ana.get(path, **{"from": first, "to": last}, timezone=zone)["data"]
                yield report, _expected(first, last, zone)


def test_labels_cover_the_seconds_of_the_totals(ana: Person, service: AsgiClient) -> None:
    link = _record(service, ana)
    for report, visits in _reports(ana, link):
        assert report["total"]["clicks"] == len(visits), report
        labels = report["dimensions"]
        assert labels["browsers"] == Counter(browser for browser, _ in visits)
        assert labels["referrers"] == Counter(site for _, site in visits)
        assert labels["networks"] == Counter(_NETWORKS[site] for _, site in visits if site in _NETWORKS)
        assert list(labels["browsers"].values()) == sorted(labels["browsers"].values(), reverse=True)


def test_labels_add_up_to_the_total_without_single_visits(ana: Person, service: AsgiClient) -> None:
    link = _record(service, ana)

    def forget_visits(tx: Connection) -> None:
        tx.execute(delete(events))
        tx.execute(delete(visit_blocks))

    ana.write(forget_visits)
    for report, visits in _reports(ana, link):
        for name in ("browsers", "referrers", "devices", "languages", "sources", "countries"):
            assert sum(report["dimensions"][name].values()) == report["total"]["clicks"] == len(visits)


def test_default_period_ends_today_in_the_zone(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring")
    for moment, zone, today in (
        ("2027-11-28 13:35", "Pacific/Auckland", "2027-11-29"),
        ("2027-11-28 03:35", "America/Los_Angeles", "2027-11-27"),
        ("2027-11-28 18:30", "Asia/Kolkata", "2027-11-29"),
        ("2027-11-28 18:29", "Asia/Kolkata", "2027-11-28"),
    ):
        with time_machine.travel(datetime.fromisoformat(moment).replace(tzinfo=UTC), tick=True):
            visit(service, "spring")
            report = ana.get(f"/url/{link}/stats", timezone=zone)["data"]
        start = (date.fromisoformat(today) - timedelta(days=29)).isoformat()
        assert (report["start"], report["end"]) == (start, today)
        assert report["series"][-1]["clicks"] > 0
        assert sum(report["dimensions"]["browsers"].values()) == report["total"]["clicks"]


@pytest.mark.parametrize(
    ("labels", "inside", "of_day", "shares"),
    [
        ({"a": 3, "b": 1}, 2, 4, {"a": 2}),
        ({"a": 5}, 4, 5, {"a": 4}),
        ({"a": 1, "b": 1, "c": 1}, 2, 3, {"a": 1, "b": 1}),
        ({"a": 2}, 3, 6, {"a": 1}),
        ({}, 1, 2, {}),
    ],
)
def test_share_of_labels_has_the_right_sum(
    labels: dict[str, int], inside: int, of_day: int, shares: dict[str, int]
) -> None:
    assert _share(labels, inside, of_day) == shares
