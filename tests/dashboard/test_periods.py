"""Periods of statistics pages: presets, chosen days, and the comparison with the period before."""

import re
from datetime import date, datetime, time, timedelta
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
import time_machine
from sqlalchemy import insert

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.visits import CHROME, DESTINATION, visit
from waypost.clicks.stats.reports import Span
from waypost.clicks.stats.subjects import Subject
from waypost.core import clock
from waypost.dashboard import statistics
from waypost.dashboard.periods import Period
from waypost.db.schema import click_times

_NOW = 1_795_521_600  # 2026-11-24 12:00:00 UTC
_UTC = ZoneInfo("UTC")


@pytest.fixture
def fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noon of 2026-11-24."""
    monkeypatch.setattr(clock, "now", lambda: _NOW)


def _set_hour_of_today(monkeypatch: pytest.MonkeyPatch, hour: int) -> date:
    """Set the clock to half past this hour of today, UTC. Return the day."""
    midnight = clock.now() // 86_400 * 86_400
    monkeypatch.setattr(clock, "now", lambda: midnight + hour * 3600 + 1800)
    return clock.local(midnight, _UTC).date()


def _days(page: str) -> tuple[str, str]:
    first, last = re.findall(r'type="date"\s+name="(?:from|to)"\s+value="([^"]+)"', page)
    return first, last


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("", 29, 0),
        ("?period=today", 0, 0),
        ("?period=24h", 1, 0),
        ("?period=yesterday", 1, 1),
        ("?period=7", 6, 0),
        ("?days=7", 6, 0),
        ("?period=90", 89, 0),
        ("?period=nonsense", 29, 0),
        ("?period=all", 0, 0),
    ],
)
def test_presets_end_today_or_yesterday(
    dashboard: Browser, monkeypatch: pytest.MonkeyPatch, query: str, first: int, last: int
) -> None:
    today = _set_hour_of_today(monkeypatch, 12)
    assert _days(dashboard.get(query).text) == tuple((today - timedelta(days=n)).isoformat() for n in (first, last))


@pytest.mark.parametrize(("hour", "first"), [(0, 1), (22, 1), (23, 0)])
def test_24_hours_end_with_this_hour(
    dashboard: Browser, monkeypatch: pytest.MonkeyPatch, hour: int, first: int
) -> None:
    today = _set_hour_of_today(monkeypatch, hour)
    days = ((today - timedelta(days=first)).isoformat(), today.isoformat())
    assert _days(dashboard.get("?period=24h").text) == days


def test_month_and_year_begin_with_their_first_day(dashboard: Browser) -> None:
    today = clock.local(clock.now(), _UTC).date()
    assert _days(dashboard.get("?period=month").text)[0] == today.replace(day=1).isoformat()
    assert _days(dashboard.get("?period=year").text)[0] == today.replace(month=1, day=1).isoformat()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("from=2026-11-02&to=2026-11-01", "The first day must not be after the last one."),
        ("from=soon", "from must be a day, YYYY-MM-DD."),
        ("to=0001-01-01", "must be a day"),
        (f"from={quote('2026-11-01 ')}&to=9999-99-99", "must be a day"),
        ("from=2000-01-01&to=2020-01-01&interval=hour", "interval is too short for this span"),
    ],
)
def test_invalid_days_are_reported_at_their_fields(dashboard: Browser, query: str, message: str) -> None:
    response = dashboard.get(f"?{query}")
    assert response.status_code == 200
    assert message in response.text
    assert 'aria-describedby="period-error"' in response.text


@pytest.mark.usefixtures("fixed_clock")
def test_running_period_is_compared_until_the_same_time() -> None:
    week = Period(Span(date(2026, 11, 18), date(2026, 11, 24), "day", _UTC))
    assert week.unfinished_point is not None
    assert week.previous == Span(date(2026, 11, 11), date(2026, 11, 17), "day", _UTC)
    first, after = week.previous_seconds()
    assert (clock.text(first), clock.text(after)) == ("2026-11-11 00:00:00", "2026-11-17 12:00:00")
    past = Period(Span(date(2026, 11, 1), date(2026, 11, 2), "day", _UTC))
    assert past.unfinished_point is None
    assert clock.text(past.previous_seconds()[1]) == "2026-11-01 00:00:00"


@pytest.mark.parametrize(
    ("first", "last", "before"),
    [
        (date(2026, 3, 1), date(2026, 3, 31), (date(2026, 2, 1), date(2026, 2, 28))),
        (date(2026, 2, 1), date(2026, 2, 28), (date(2026, 1, 1), date(2026, 1, 31))),
        (date(2026, 1, 1), date(2026, 1, 31), (date(2025, 12, 1), date(2025, 12, 31))),
        (date(2026, 3, 1), date(2026, 3, 30), (date(2026, 1, 30), date(2026, 2, 28))),
        (date(2026, 3, 1), date(2026, 4, 30), (date(2025, 12, 30), date(2026, 2, 28))),
    ],
)
def test_calendar_month_is_compared_with_the_whole_month_before(
    first: date, last: date, before: tuple[date, date]
) -> None:
    previous = Span(*before, "day", _UTC)
    with time_machine.travel(datetime.combine(last, time(), _UTC) + timedelta(days=1, hours=7)):
        period = Period(Span(first, last, "day", _UTC))
        assert (period.previous, period.previous_seconds()) == (previous, previous.seconds())


@pytest.mark.usefixtures("fixed_clock")
def test_hours_to_come_have_no_clicks_to_compare(ana: Person) -> None:
    """The line of the period before ends at the present hour instead of falling to 0."""
    link = ana.add("url", url=DESTINATION)
    yesterday = clock.now() // 86_400 * 86_400 - 86_400
    rows = [
        {"account": ana.account, "kind": "link", "item": link, "at": yesterday + hour * 3600, "clicks": hour}
        for hour in (3, 11, 20)
    ]
    ana.write(lambda tx: tx.execute(insert(click_times), rows))
    today = Period(Span(date(2026, 11, 24), date(2026, 11, 24), "hour", _UTC))
    compared = ana.database.read(lambda tx: statistics.compare(tx, Subject(ana.account, "link", link), today))
    assert compared.clicks == [0, 0, 0, 3, *[0] * 7, 11]


def test_tiles_show_change_since_the_period_before(ana: Person, dashboard: Browser) -> None:
    link = ana.add("url", url=DESTINATION)
    today = clock.now() // 86_400 * 86_400
    rows = [
        {"account": ana.account, "kind": "link", "item": link, "at": today - days * 86_400, "clicks": clicks}
        for days, clicks in ((0, 3), (40, 2), (100, 7))
    ]
    ana.write(lambda tx: tx.execute(insert(click_times), rows))
    page = dashboard.get(f"/links/{link}/stats").text
    assert re.findall(r">([^\w<]\d+%)<", page) == ["+50%"]
    assert "2 in the period before" in page


def test_shares_and_names_of_labels_are_shown(ana: Person, dashboard: Browser) -> None:
    link = ana.add("url", url=DESTINATION, custom="spring")
    for language, count in (("de", 2), ("en", 1)):
        for _ in range(count):
            visit(dashboard.client, "spring", agent=CHROME, headers={"Accept-Language": language})
    page = dashboard.get(f"/links/{link}/stats").text
    assert re.findall(r"(German|English)</bdi></a>.*?<small>([^<]+)</small>", page, re.DOTALL) == [
        ("German", "67%"),
        ("English", "33%"),
    ]
    assert f"/dashboard/links/{link}/stats?language=de" in page
    assert "Short link" in page


def test_current_point_of_the_chart_is_marked_and_named_in_the_legend(
    ana: Person, dashboard: Browser, fixed_clock: None
) -> None:
    own = {"kind": "account", "item": ana.account, "account": ana.account}
    counts = dict.fromkeys(("uniques", "bots", "previews", "others", "late"), 0)
    hours = (1, 13, 25, 37, 49)
    rows = [{**own, **counts, "at": _NOW - hour * 3600, "clicks": 2} for hour in hours]
    ana.write(lambda tx: tx.execute(insert(click_times), rows))
    for query, point in (("7", "6"), ("today", "12"), ("30&interval=week", "4"), ("yesterday", None)):
        page = dashboard.get(f"/statistics?period={query}").text
        marked = re.search(r'data-unfinished="so far" data-unfinished-point="(\d+)"', page)
        assert (marked and marked[1]) == point, query
        assert ("Still being counted" in page) == (point is not None), query
    assert "the dashed line ends before it" in dashboard.get("/statistics?period=today").text


@pytest.mark.parametrize(
    ("region", "preset", "days"),
    [
        ("de-DE", "last-week", ("2026-11-16", "2026-11-22")),
        ("en-US", "last-week", ("2026-11-15", "2026-11-21")),
        ("de-DE", "last-month", ("2026-10-01", "2026-10-31")),
        ("de-DE", "month", ("2026-11-01", "2026-11-24")),
    ],
)
def test_last_week_and_month_are_whole_ones_of_the_region(
    dashboard: Browser, fixed_clock: None, region: str, preset: str, days: tuple[str, str]
) -> None:
    page = dashboard.client.get(f"/dashboard/statistics?period={preset}", headers={"Accept-Language": region}).text
    assert _days(page) == days


@pytest.mark.parametrize(
    ("compare", "text", "clicks"),
    [
        ("", "in the period before", 3),
        ("year", "a year before", 5),
        ("none", "", 0),
        ("nonsense", "in the period before", 3),
    ],
)
def test_period_is_compared_with_the_one_before_the_year_before_or_nothing(
    ana: Person, dashboard: Browser, fixed_clock: None, compare: str, text: str, clicks: int
) -> None:
    own = {"kind": "account", "item": ana.account, "account": ana.account}
    counts = dict.fromkeys(("uniques", "bots", "previews", "others", "late"), 0)
    now = _NOW - 3600
    rows = [{**own, **counts, "at": now - days * 86_400, "clicks": n} for days, n in ((0, 9), (7, 3), (365, 5))]
    ana.write(lambda tx: tx.execute(insert(click_times), rows))
    page = dashboard.get(f"/statistics?period=7&compare={compare}").text
    shown = re.findall(r'title="(\d+) ([^"]*)">\+', page)
    assert shown == ([(str(clicks), text)] if text else [])
    assert 'name="compare"' in page
    assert "Nothing was counted a year before" not in page
    if text:
        assert f"Clicks {text}" in page


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (date(2026, 11, 1), date(2026, 11, 30), (date(2025, 11, 1), date(2025, 11, 30))),
        (date(2028, 2, 29), date(2028, 3, 1), (date(2027, 2, 28), date(2027, 3, 1))),
    ],
)
def test_year_before_has_the_same_days(start: date, end: date, expected: tuple[date, date]) -> None:
    previous = Period(Span(start, end, "day", _UTC), compared="year").previous
    assert (previous.start, previous.end) == expected
