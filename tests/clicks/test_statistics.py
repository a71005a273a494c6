"""Statistics: the documented block, reports over time, and exports of single visits."""

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

import time_machine
from sqlalchemy import insert

from tests.conftest import Person
from tests.contract.shapes import STATISTICS, differs
from tests.support.asgi_client import AsgiClient
from tests.support.assertions import refused
from tests.support.databases import ON_SQLITE
from tests.support.visits import CHROME, CURL, FIREFOX, GOOGLEBOT, IPHONE, SLACK, click_totals, clicks, new_link, visit
from waypost.db.schema import events

NOON = 1_800_014_400  # 2027-01-15 12:00:00 UTC
VISITS = (
    (CHROME, "https://t.co/abc", "de-DE"),
    (CHROME, "https://www.facebook.com/", "de"),
    (FIREFOX, "https://l.instagram.com/?u=x", "fr"),
    (IPHONE, "", ""),
    (CURL, "https://news.example.co.uk/a", ""),
)


def _record_visit(service: AsgiClient, alias: str) -> None:
    for agent, referrer, language in VISITS:
        visit(service, alias, agent=agent, headers={"Referer": referrer, "Accept-Language": language})
    for agent in (GOOGLEBOT, SLACK):
        visit(service, alias, agent=agent, headers={"Referer": "https://bots.example/"})
    visit(service, alias, "HEAD", headers={"Referer": "https://heads.example/"})


def test_link_has_documented_statistics_block(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring")
    empty = ana.get(f"/url/{link}")["data"]
    assert not differs(empty, STATISTICS)
    assert (empty["clicks"], empty["topBrowsers"], empty["socialCount"]["social_a"]) == (0, {}, 0)
    _record_visit(service, "spring")
    data = ana.get("/urls", short="spring")["data"]
    assert (data.pop("result"), [item["id"] for item in data.pop("urls")]) == (1, [link])
    assert not differs(data, STATISTICS)
    assert data == {
        "clicks": 5,
        "uniqueClicks": 4,
        "topCountries": {"Unknown": "5"},
        "topReferrers": {
            "Direct": "1",
            "example.co.uk": "1",
            "facebook.com": "1",
            "instagram.com": "1",
            "x.com": "1",
        },
        "topBrowsers": {"Chrome": "2", "Firefox": "1", "Safari": "1", "curl": "1"},
        "topOs": {"Linux": "2", "Unknown": "1", "Windows": "1", "iOS": "1"},
        "socialCount": {"social_a": 1, "social_b": 1, "social_c": 1},
    }
    assert list(data["topBrowsers"].values()) == ["2", "1", "1", "1"]  # most frequent first


def test_report_shows_all_dimensions_and_uncounted_visits(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring")
    _record_visit(service, "spring")
    data = ana.get(f"/url/{link}/stats")["data"]
    assert data["total"] == {"clicks": 5, "uniqueClicks": 4, "bots": 1, "previews": 1, "others": 1, "late": 0}
    dimensions = data["dimensions"]
    assert sorted(dimensions) == [
        *("browsers", "countries", "devices", "languages", "networks", "os", "referrers", "sources"),
    ]
    assert dimensions["languages"] == {"Unknown": 2, "de": 2, "fr": 1}
    assert dimensions["devices"] == {"Desktop": 3, "Mobile": 1, "Other": 1}
    assert dimensions["networks"] == {"social_a": 1, "social_b": 1, "social_c": 1}
    assert dimensions["sources"] == {"link": 5}
    for labels in dimensions.values():
        assert not {"bots.example", "heads.example", "Googlebot"} & labels.keys()


# In Berlin the clocks go from 02:00 to 03:00 on 2027-03-28 at 01:00 UTC, and back on 2027-10-31 at 01:00 UTC.
MOMENTS = ("2027-03-27 23:30", "2027-03-28 00:59", "2027-03-28 01:00", "2027-03-28 21:59", "2027-03-28 22:00")
AUTUMN = ("2027-10-31 00:30", "2027-10-31 01:30")
SPRING_DAY = {"from": "2027-03-28", "to": "2027-03-28"}
TWO_DAYS = {"from": "2027-03-28", "to": "2027-03-29"}
AUTUMN_DAY = {"from": "2027-10-31", "to": "2027-10-31"}


def test_report_uses_requested_time_zone(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring")
    for moment in (*MOMENTS, *AUTUMN):
        with time_machine.travel(datetime.fromisoformat(moment).replace(tzinfo=UTC), tick=True):
            visit(service, "spring")
            assert clicks(ana, link)[0] > 0
    for interval, zone, span, points, item in (
        ("hour", "Europe/Berlin", SPRING_DAY, 23, {"28 00:00": 1, "28 01:00": 1, "28 03:00": 1, "28 23:00": 1}),
        ("hour", "Europe/Berlin", AUTUMN_DAY, 24, {"10-31 02:00": 2}),
        ("hour", "UTC", SPRING_DAY, 24, {"28 00:00": 1, "28 01:00": 1, "28 21:00": 1, "28 22:00": 1}),
        ("hour", "Asia/Kathmandu", TWO_DAYS, 48, {"28 05:00": 1, "28 06:00": 2, "29 03:00": 2}),
        ("hour", "Australia/Lord_Howe", SPRING_DAY, 24, {"28 10:00": 1, "28 11:00": 1, "28 12:00": 1}),
        ("day", "Europe/Berlin", TWO_DAYS, 2, {"28 00:00": 4, "29 00:00": 1}),
        ("day", "UTC", TWO_DAYS, 2, {"28 00:00": 4}),
        ("day", "America/New_York", TWO_DAYS, 2, {"28 00:00": 2}),
        ("day", "Asia/Kathmandu", TWO_DAYS, 2, {"28 00:00": 3, "29 00:00": 2}),
        ("week", "Europe/Berlin", TWO_DAYS, 2, {"22 00:00": 4, "29 00:00": 1}),
        ("month", "Europe/Berlin", {"from": "2027-03-01", "to": "2027-10-31"}, 8, {"01 00:00": 5, "10-01 00:00": 2}),
    ):  # fmt: skip
        data = ana.get(f"/url/{link}/stats", interval=interval, timezone=zone, **span)["data"]
        series = {point["at"]: point["clicks"] for point in data["series"]}
        assert len(series) == points == len(data["series"])
        assert list(series) == sorted(series)
        expected = {f"2027-{at if at[2] == '-' else f'03-{at}'}:00": n for at, n in item.items()}
        assert {at: n for at, n in series.items() if n} == expected
        assert data["total"]["clicks"] == sum(item.values())
        assert (data["start"], data["end"], data["interval"], data["timezone"]) == (*span.values(), interval, zone)


def test_report_covers_last_thirty_days_by_default(ana: Person, service: AsgiClient) -> None:
    with time_machine.travel(NOON, tick=True) as clock:
        link = new_link(ana, "spring")
        visit(service, "spring")
        for path in (f"/url/{link}/stats", "/stats"):
            data = ana.get(path)["data"]
            assert (data["start"], data["end"], data["interval"]) == ("2026-12-17", "2027-01-15", "day")
            assert (len(data["series"]), data["series"][-1]["clicks"], data["total"]["clicks"]) == (30, 1, 1)
        clock.move_to(NOON + 30 * 86_400)
        assert ana.get(f"/url/{link}/stats")["data"]["total"]["clicks"] == 0
        assert ana.get(f"/url/{link}/stats", **{"from": "2027-01-15"})["data"]["total"]["clicks"] == 1


@ON_SQLITE
def test_invalid_report_parameter_is_named(ana: Person) -> None:
    link = new_link(ana, "spring")
    for field, query in (
        ("from", {"from": "yesterday"}),
        ("from", {"from": "2027-02-30"}),
        ("from", {"from": "2027-1-1"}),
        ("from", {"from": "2027-01-01 00:00:00"}),
        ("from", {"from": ""}),
        ("from", {"from": "1999-12-31", "to": "2000-01-01"}),
        ("from", {"from": "2027-01-02", "to": "2027-01-01"}),
        ("to", {"to": "2200-01-02"}),
        ("to", {"to": "9999-99-99"}),
        ("to", {"to": "2027-01-01\0"}),
        ("interval", {"interval": "minute"}),
        ("interval", {"interval": ""}),
        ("interval", {"from": "2020-01-01", "to": "2026-01-01", "interval": "hour"}),
        ("timezone", {"timezone": "Mars/Olympus"}),
        ("timezone", {"timezone": ""}),
        ("timezone", {"timezone": "../../../etc/passwd"}),
        ("timezone", {"timezone": "/etc/localtime"}),
        ("timezone", {"timezone": "Europe"}),
        ("timezone", {"timezone": "UTC\0"}),
        ("timezone", {"timezone": "x" * 10_000}),
    ):
        for path in (f"/url/{link}/stats", "/stats", "/stats/export"):
            refused(ana.call("GET", path, params=query), 400, field)
    refused(ana.call("GET", "/stats/export", params={"format": "xml"}), 400, "format")


def test_visits_of_other_account_are_not_shown(ana: Person, ben: Person, service: AsgiClient) -> None:
    link, his = new_link(ana, "spring"), new_link(ben, "summer")
    for _ in range(3):
        visit(service, "spring")
    visit(service, "summer")
    foreign, unknown = (ben.call("GET", f"/url/{item}/stats") for item in (link, 999_999))
    assert (foreign.status_code, foreign.text) == (unknown.status_code, unknown.text)
    for response in (foreign, unknown, ben.call("GET", f"/url/{'9' * 30}/stats"), ben.call("GET", "/url/x/stats")):
        refused(response, 404)
    assert (click_totals(ana, ""), click_totals(ben, "")) == (
        {"clicks": 3, "uniqueClicks": 1},
        {"clicks": 1, "uniqueClicks": 1},
    )
    assert (click_totals(ana, f"/url/{link}"), click_totals(ben, f"/url/{his}")) == (
        click_totals(ana, ""),
        click_totals(ben, ""),
    )
    assert len(_jsonl(ana)) == 3
    assert [row["item"] for row in _jsonl(ben)] == [his]
    for path in ("/stats", "/stats/export", f"/url/{link}/stats"):
        assert service.get(f"/api{path}").status_code == 401


def _jsonl(person: Person, **span: str) -> list[dict[str, Any]]:
    response = person.call("GET", "/stats/export", params={"format": "jsonl", **span})
    assert (response.status_code, response.headers["content-type"]) == (200, "application/x-ndjson")
    return [json.loads(line) for line in response.text.splitlines()]


def _csv(person: Person, **span: str) -> list[dict[str, str]]:
    response = person.call("GET", "/stats/export", params=span)
    assert (response.status_code, response.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert response.headers["content-disposition"].startswith('attachment; filename="visits-')
    return list(csv.DictReader(io.StringIO(response.text)))


def test_visits_are_exported_oldest_first(ana: Person, service: AsgiClient) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        link = new_link(ana, "spring")
        _record_visit(service, "spring")
        clicks(ana, link)
        clock.shift(86_400)
        visit(service, "spring")
        rows = _jsonl(ana)
        assert [row["sort"] for row in rows] == [*["click"] * 5, "bot", "preview", "other", "click"]
        assert [row["first"] for row in rows] == [True, False, True, True, True, False, False, False, True]
        assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
        assert {**rows[1], "id": 0} == {
            "id": 0,
            "date": "2027-01-15 12:00:00",
            "kind": "link",
            "item": link,
            "sort": "click",
            "first": False,
            "country": "Unknown",
            "referrer": "facebook.com",
            "browser": "Chrome",
            "os": "Linux",
            "device": "Desktop",
            "language": "de",
            "source": "link",
        }
        table = _csv(ana)
        assert [{name: str(value) for name, value in row.items()} for row in rows] == table
        day = {"from": "2027-01-16", "to": "2027-01-16"}
        for item in (_jsonl(ana, **day), _csv(ana, **day)):
            assert [row["date"] for row in item] == ["2027-01-16 12:00:00"]
        assert _jsonl(ana, **day, timezone="Asia/Tokyo") == _jsonl(ana, **day)
        assert _csv(ana, **{"from": "2027-01-14", "to": "2027-01-14"}) == []


@ON_SQLITE
def test_csv_export_escapes_formulas(ana: Person, service: AsgiClient) -> None:
    labels = ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", 'a"b', "a,b", "a\nb", "é"]
    common = {"account": ana.account, "kind": "link", "item": 1, "at_ms": NOON * 1000, "sort": "click", "first": True}
    ana.write(lambda tx: tx.execute(insert(events), [{**common, "referrer": label} for label in labels]))
    span = {"from": "2027-01-15", "to": "2027-01-15"}
    assert [row["referrer"] for row in _csv(ana, **span)] == [
        *("'=1+1", "'+1", "'-1", "'@x", "\t'=1", "\r'=1"),
        *labels[6:],
    ]
    assert [row["referrer"] for row in _jsonl(ana, **span)] == labels


@ON_SQLITE
def test_export_includes_more_than_one_page(ana: Person, service: AsgiClient) -> None:
    common = {"account": ana.account, "kind": "link", "item": 1, "sort": "click", "first": True}
    many = [{**common, "at_ms": NOON * 1000 + n} for n in range(10_001)]
    ana.write(lambda tx: tx.execute(insert(events), many))
    rows = _jsonl(ana, **{"from": "2027-01-15", "to": "2027-01-15"})
    assert len({row["id"] for row in rows}) == len(rows) == 10_001
