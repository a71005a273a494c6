"""Click counting, unique visitors and click limits (decisions 43, 47 and 48)."""

from collections import Counter

import pytest
import time_machine

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.server import at_once
from tests.support.visits import (
    ACCEPT_HTML,
    ACCEPT_JSON,
    ANDROID,
    CHROME,
    CURL,
    DESTINATION,
    FIREFOX,
    GOOGLEBOT,
    IPHONE,
    SLACK,
    click_totals,
    clicks,
    new_link,
    visit,
)

pytestmark = ON_BOTH_DATABASES  # click limits are exact under concurrency
NOON = 1_800_014_400  # 2027-01-15 12:00:00 UTC
OVER = "https://example.com/over"


@ON_SQLITE
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
def test_visit_is_counted_by_its_kind(
    ana: Person, service: AsgiClient, method: str, agent: str, headers: dict[str, str], counted: dict[str, int]
) -> None:
    link = new_link(ana, "spring")
    assert visit(service, "spring", method, agent=agent, headers=headers).headers["location"] == DESTINATION
    assert click_totals(ana, f"/url/{link}") == counted
    assert clicks(ana, link) == (counted.get("clicks", 0), counted.get("uniqueClicks", 0))


def test_statistics_read_includes_all_answered_clicks(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring")
    for number in range(1, 8):
        visit(service, "spring")
        assert clicks(ana, link) == (number, 1)
        listed = ana.get("/urls", order="click")["data"]["urls"][0]
        assert (listed["clicks"], listed["uniqueclicks"]) == (number, 1)


def test_visitor_is_unique_per_day_address_user_agent_and_link(ana: Person, proxied: AsgiClient) -> None:
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


def test_click_limit_is_exact_under_concurrency(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "few", clicklimit=17)
    answers = at_once([lambda: visit(service, "few").status_code for _ in range(40)])
    assert Counter(answers) == {302: 17, 410: 23}
    assert click_totals(ana, f"/url/{link}") == {"clicks": 17, "uniqueClicks": 1, "late": 23}
    assert clicks(ana, link) == (17, 1)


@ON_SQLITE
def test_link_over_click_limit_returns_410_or_expiry_url(ana: Person, service: AsgiClient) -> None:
    new_link(ana, "once", clicklimit=1)
    new_link(ana, "once-over", clicklimit=1, expiryurl=OVER)
    for alias in ("once", "once-over"):
        assert visit(service, f"{alias}+", headers=ACCEPT_JSON).json()["url"] == DESTINATION  # looking takes nothing
        assert visit(service, alias).headers["location"] == DESTINATION
    page = visit(service, "once", headers=ACCEPT_HTML)
    assert (page.status_code, page.headers["content-type"]) == (410, "text/html; charset=utf-8")
    assert visit(service, "once", headers=ACCEPT_JSON).json()["code"] == "gone"
    assert visit(service, "once+").status_code == 410
    assert visit(service, "once-over").headers["location"] == OVER
    assert visit(service, "once-over+", headers=ACCEPT_JSON).json()["url"] == OVER


@pytest.mark.parametrize(
    ("method", "agent", "headers"),
    [("HEAD", CHROME, {}), ("GET", GOOGLEBOT, {}), ("GET", SLACK, {}), ("GET", CHROME, {"Purpose": "prefetch"})],
)
def test_uncounted_visit_keeps_limit_and_is_rejected_beyond_it(
    ana: Person, service: AsgiClient, method: str, agent: str, headers: dict[str, str]
) -> None:
    new_link(ana, "once", clicklimit=1)
    for _ in range(3):
        assert visit(service, "once", method, agent=agent, headers=headers).headers["location"] == DESTINATION
    assert visit(service, "once").headers["location"] == DESTINATION
    assert visit(service, "once").status_code == 410
    assert visit(service, "once", method, agent=agent, headers=headers).status_code == 410


def test_click_limit_set_later_includes_earlier_clicks(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring")
    for _ in range(3):
        visit(service, "spring")
    ana.update("url", link, clicklimit=4)
    assert [visit(service, "spring").status_code for _ in range(2)] == [302, 410]
    ana.update("url", link, clicklimit=6)
    assert [visit(service, "spring").status_code for _ in range(3)] == [302, 302, 410]
    ana.update("url", link, clicklimit=None)
    assert [visit(service, "spring").status_code for _ in range(2)] == [302, 302]
    ana.update("url", link, clicklimit=8)
    assert visit(service, "spring").status_code == 410
    assert click_totals(ana, f"/url/{link}") == {"clicks": 8, "uniqueClicks": 1, "late": 3}


@ON_SQLITE
def test_visit_of_unknown_alias_is_recorded_for_host_only(ana: Person, service: AsgiClient) -> None:
    new_link(ana, "spring")
    visit(service, "missing")
    assert click_totals(ana, "") == {}


@ON_SQLITE
def test_late_clicks_of_deleted_link_do_not_stop_ingester(ana: Person, service: AsgiClient) -> None:
    gone, kept = new_link(ana, "gone"), new_link(ana, "kept")
    at_once([lambda: visit(service, "gone", agent=ANDROID) for _ in range(8)])
    ana.remove("url", gone)
    visit(service, "kept")
    assert clicks(ana, kept) == (1, 1)
