"""Which visits are clicks, whose they are, and how a limit on them holds (decisions 43, 47 and 48)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import time_machine

from tests.conftest import Person
from tests.support.asgi_client import Inside
from tests.support.server import at_once
from tests.support.visits import (
    ANDROID,
    CHROME,
    CURL,
    FIREFOX,
    GOOGLEBOT,
    IPHONE,
    PAGE,
    SLACK,
    TARGET,
    behind_a_proxy,
    clicks,
    new_link,
    sums,
    visit,
)

ONLY_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
NOON = 1_800_014_400  # 2027-01-15 12:00:00 UTC
OVER = "https://example.com/over"


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("method", "agent", "headers", "counted"),
    [
        ("GET", CHROME, {}, {"clicks": 1, "uniqueClicks": 1}),
        ("GET", IPHONE, {}, {"clicks": 1, "uniqueClicks": 1}),
        ("GET", CURL, {}, {"clicks": 1, "uniqueClicks": 1}),
        ("GET", "", {}, {"clicks": 1, "uniqueClicks": 1}),
        ("HEAD", CHROME, {}, {"others": 1}),
        ("HEAD", CURL, {}, {"others": 1}),
        ("GET", CHROME, {"Sec-Purpose": "prefetch;prerender"}, {"others": 1}),
        ("GET", CHROME, {"Purpose": "prefetch"}, {"others": 1}),
        ("GET", FIREFOX, {"X-Moz": "prefetch"}, {"others": 1}),
        ("GET", CHROME, {"X-Purpose": "preview"}, {"others": 1}),
        ("GET", CHROME, {"Sec-Purpose": "", "Purpose": "prefetch"}, {"others": 1}),
        ("GET", CHROME, {"Sec-Purpose": "navigate"}, {"clicks": 1, "uniqueClicks": 1}),
        ("GET", GOOGLEBOT, {}, {"bots": 1}),
        ("HEAD", GOOGLEBOT, {}, {"bots": 1}),
        ("GET", SLACK, {}, {"previews": 1}),
        ("GET", SLACK, {"Purpose": "prefetch"}, {"previews": 1}),
    ],
)
def test_a_visit_is_counted_as_what_it_is(
    ana: Person, service: Inside, method: str, agent: str, headers: dict[str, str], counted: dict[str, int]
) -> None:
    link = new_link(ana, "spring")
    assert visit(service, "spring", method, agent=agent, headers=headers).headers["location"] == TARGET
    assert sums(ana, f"/url/{link}") == counted
    assert clicks(ana, link) == (counted.get("clicks", 0), counted.get("uniqueClicks", 0))


def test_a_read_shows_every_click_that_was_answered_before_it(ana: Person, service: Inside) -> None:
    link = new_link(ana, "spring")
    for number in range(1, 8):
        visit(service, "spring")
        assert clicks(ana, link) == (number, 1)
        listed = ana.get("/urls", order="click")["data"]["urls"][0]
        assert (listed["clicks"], listed["uniqueclicks"]) == (number, 1)


@pytest.fixture
def proxied(tmp_path: Path, database_url: str, ingester: None) -> Iterator[Inside]:
    """The same service once more, behind a proxy."""
    with behind_a_proxy(tmp_path, database_url) as client:
        yield client


def test_a_visitor_is_one_a_day_by_address_program_and_link(ana: Person, proxied: Inside) -> None:
    with time_machine.travel(NOON, tick=True) as clock:
        first, second = new_link(ana, "first"), new_link(ana, "second")

        def come(alias: str, address: str, agent: str = CHROME) -> tuple[int, int]:
            visit(proxied, alias, agent=agent, headers={"X-Forwarded-For": address})
            return clicks(ana, first if alias == "first" else second)

        assert come("first", "203.0.113.1") == (1, 1)
        assert come("first", "203.0.113.1") == (2, 1)
        assert come("first", "203.0.113.2") == (3, 2)
        assert come("first", "203.0.113.2", FIREFOX) == (4, 3)
        assert come("second", "203.0.113.1") == (1, 1)
        assert come("first", "2001:db8::1") == (5, 4)
        clock.move_to(NOON + 86_400)
        assert come("first", "203.0.113.1") == (6, 5)  # over several days it is the sum of the days
        assert come("first", "203.0.113.1") == (7, 5)


def test_a_limit_is_exact_whoever_comes_at_the_same_moment(ana: Person, service: Inside) -> None:
    link = new_link(ana, "few", clicklimit=17)
    answers = at_once([lambda: visit(service, "few").status_code for _ in range(40)])
    assert Counter(answers) == {302: 17, 410: 23}
    assert sums(ana, f"/url/{link}") == {"clicks": 17, "uniqueClicks": 1, "late": 23}
    assert clicks(ana, link) == (17, 1)


@ONLY_SQLITE
def test_a_used_up_link_tells_people_and_programs_or_leads_elsewhere(ana: Person, service: Inside) -> None:
    new_link(ana, "once", clicklimit=1)
    new_link(ana, "once-over", clicklimit=1, expiryurl=OVER)
    for alias in ("once", "once-over"):
        assert visit(service, f"{alias}+").json()["url"] == TARGET  # looking takes nothing
        assert visit(service, alias).headers["location"] == TARGET
    page = visit(service, "once", headers=PAGE)
    assert (page.status_code, page.headers["content-type"]) == (410, "text/html; charset=utf-8")
    assert visit(service, "once").json()["code"] == "gone"
    assert visit(service, "once+").status_code == 410
    assert visit(service, "once-over").headers["location"] == OVER
    assert visit(service, "once-over+").json()["url"] == OVER


@pytest.mark.parametrize(
    ("method", "agent", "headers"),
    [("HEAD", CHROME, {}), ("GET", GOOGLEBOT, {}), ("GET", SLACK, {}), ("GET", CHROME, {"Purpose": "prefetch"})],
)
def test_who_is_not_counted_uses_up_nothing_and_gets_nothing_beyond_the_limit(
    ana: Person, service: Inside, method: str, agent: str, headers: dict[str, str]
) -> None:
    new_link(ana, "once", clicklimit=1)
    for _ in range(3):
        assert visit(service, "once", method, agent=agent, headers=headers).headers["location"] == TARGET
    assert visit(service, "once").headers["location"] == TARGET
    assert visit(service, "once").status_code == 410
    assert visit(service, "once", method, agent=agent, headers=headers).status_code == 410


def test_a_limit_that_comes_later_counts_what_was_clicked_before(ana: Person, service: Inside) -> None:
    link = new_link(ana, "spring")
    for _ in range(3):
        visit(service, "spring")
    ana.put(f"/url/{link}/update", {"clicklimit": 4})
    assert [visit(service, "spring").status_code for _ in range(2)] == [302, 410]
    ana.put(f"/url/{link}/update", {"clicklimit": 6})
    assert [visit(service, "spring").status_code for _ in range(3)] == [302, 302, 410]
    ana.put(f"/url/{link}/update", {"clicklimit": None})
    assert [visit(service, "spring").status_code for _ in range(2)] == [302, 302]
    ana.put(f"/url/{link}/update", {"clicklimit": 8})
    assert visit(service, "spring").status_code == 410
    assert sums(ana, f"/url/{link}") == {"clicks": 8, "uniqueClicks": 1, "late": 3}


@ONLY_SQLITE
def test_visits_to_nothing_are_noted_for_the_host_and_nobodys_clicks(ana: Person, service: Inside) -> None:
    new_link(ana, "spring")
    visit(service, "nobody")
    assert sums(ana, "") == {}


@ONLY_SQLITE
def test_a_deleted_links_late_clicks_do_not_stop_the_counting(ana: Person, service: Inside) -> None:
    gone, kept = new_link(ana, "gone"), new_link(ana, "kept")
    at_once([lambda: visit(service, "gone", agent=ANDROID) for _ in range(8)])
    ana.delete(f"/url/{gone}/delete")
    visit(service, "kept")
    assert clicks(ana, kept) == (1, 1)
