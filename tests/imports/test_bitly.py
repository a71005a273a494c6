"""Imports from Bitly: its back-halves, clicks and limits."""

import pytest

from tests.conftest import Person
from tests.support import import_services
from tests.support.import_services import TOKEN, Service, running
from tests.support.imports import applied_links, read_service
from waypost.core.settings import Settings
from waypost.transfer.imports.planner import Options
from waypost.transfer.imports.sources import hosted_services, http_reader, registry
from waypost.transfer.imports.sources.hosted_services import BitlySource
from waypost.transfer.imports.sources.http_reader import Budgets, RateLimit
from waypost.transfer.imports.sources.registry import with_shared_hosts


def test_bitly_links_come_with_all_aliases_and_clicks_by_day(ana: Person, settings: Settings) -> None:
    with running(import_services.bitly()) as service:
        rows = read_service(ana, settings, service, "bitly")
    assert [(row.alias, row.fate) for row in rows] == [
        *((alias, "create") for alias in ("spring", "spring-24", "3abCdE")),
        ("2Zz", "impossible"),
    ]
    links = applied_links(ana, settings)
    assert (links["spring"]["status"], links["spring"]["clicks"], links["spring"]["importedclicks"]) == (
        "private",
        7,
        0,
    )
    assert (links["spring-24"]["clicks"], links["spring"]["date"]) == (0, "2020-10-26 17:20:40")
    assert links["3abCdE"]["clicks"] == 0
    campaigns = ana.get("/campaigns")["data"]["campaigns"]
    assert [campaign["name"] for campaign in campaigns] == ["Marketing"]


def test_clicks_of_bitly_go_to_the_first_alias_that_is_created(ana: Person, settings: Settings) -> None:
    ana.add("url", url="https://example.com/other", custom="spring")
    with running(import_services.bitly()) as service:
        rows = read_service(ana, settings, service, "bitly")
    assert [row.fate for row in rows] == ["conflict", "create", "create", "impossible"]
    links = applied_links(ana, settings)
    assert [links[alias]["clicks"] for alias in ("spring", "spring-24", "3abCdE")] == [0, 7, 0]


def test_clicks_of_bitly_are_not_counted_twice_by_a_later_import(ana: Person, settings: Settings) -> None:
    service = import_services.bitly()
    with running(service):
        rows = read_service(ana, settings, service, "bitly", options=Options())
        assert [row.fate for row in rows] == ["create", "impossible", "impossible", "impossible"]
        assert "such as bit.ly=" in rows[2].reason
        applied_links(ana, settings)
        rows = read_service(ana, settings, service, "bitly")
        assert [row.fate for row in rows] == ["there", "create", "create", "impossible"]
    links = applied_links(ana, settings)
    assert [links[alias]["clicks"] for alias in ("spring", "spring-24", "3abCdE")] == [7, 0, 0]
    assert len([path for path in service.requests if "clicks" in path]) == 1


def test_links_of_a_shared_host_move_to_the_target_unless_another_one_is_named(ana: Person, settings: Settings) -> None:
    for hosts, expected in ({}, "links.example.com"), ({"bit.ly": ""}, ""):
        ana.add("domain", domain="https://links.example.com") if not hosts else None
        options = Options(hosts=with_shared_hosts("bitly", hosts, "links.example.com"))
        with running(import_services.bitly()) as service:
            rows = read_service(ana, settings, service, "bitly", options=options)
        assert [row.host for row in rows if row.alias in ("3abCdE", "spring-24")] == [expected] * 2


def test_clicks_by_day_are_bounded_in_sum(ana: Person, settings: Settings) -> None:
    service = import_services.bitly()
    days = [{"clicks": 10**15 - 1, "date": 1_600_000_000 + number} for number in range(10_000)]
    service.answers["/bitlinks/bit.ly%2F3abCdE/clicks"] = lambda _: {"link_clicks": days}
    with running(service):
        read_service(ana, settings, service, "bitly")
    assert applied_links(ana, settings)["spring"]["clicks"] == 10**12


def test_requests_stay_below_the_limits_of_bitly() -> None:
    limit = RateLimit(150, 60)
    now = 0.0
    for _ in range(450):
        now += limit.wait(now)
        limit.count(now)
    assert now == 120


class _Clock:
    """A clock that only sleep moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def _seconds_of_requests(requests: int, clock: _Clock, service: Service) -> float:
    """Read groups without links, each with a request; return the time at the end."""
    service.answers["/groups"] = lambda _: {"groups": [{"guid": f"g{number}"} for number in range(requests - 1)]}
    service.answers |= {f"/groups/g{number}/bitlinks": lambda _: {"links": []} for number in range(requests - 1)}
    source = BitlySource(
        TOKEN, base=service.url, trusted_hosts=registry.hosts_of(service.url), clock=clock, sleep=clock.sleep
    )
    assert list(source) == []
    return clock.now


def test_plans_with_the_same_token_share_the_limits_of_bitly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted_services, "_BITLY_BUDGETS", Budgets(*hosted_services._BITLY_BUDGETS._limits))
    clock = _Clock()
    with running(import_services.bitly()) as service:
        assert _seconds_of_requests(150, clock, service) == 0
        assert _seconds_of_requests(1, clock, service) == 60
        assert _seconds_of_requests(1349, clock, service) == 9 * 60
        assert _seconds_of_requests(1, clock, service) == 3600


def test_budgets_are_bounded_and_keep_no_token() -> None:
    budgets = Budgets((1, 60))
    first = budgets.of(TOKEN)
    assert (first.reserve(0), first.reserve(0), budgets.of(TOKEN).reserve(10)) == (0, 60, 110)
    assert TOKEN not in repr(vars(budgets))
    for number in range(http_reader._MAX_TOKENS):
        budgets.of(f"other {number}")
    assert len(budgets._budgets) == http_reader._MAX_TOKENS
    assert budgets.of(TOKEN).reserve(10) == 0
