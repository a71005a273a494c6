"""Lists of links by status, campaign, channel, dead destination and search, with every query plan."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from sqlalchemy import Connection, case, insert, update

from tests.conftest import Person
from tests.support.databases import ON_BOTH_DATABASES
from waypost.db import schema
from waypost.db.crud import PageRequest
from waypost.items.links import list_search
from waypost.items.links.columns import Status
from waypost.items.links.filters import LinkFilter
from waypost.search.words import Word

pytestmark = ON_BOTH_DATABASES  # every filter and order
STATUSES: tuple[Status, ...] = ("public", "disabled", "private")
QUERIES = ("", "ap", "coat", "cheap coat")
ORDERS: tuple[list_search.Order, ...] = ("date", "click")


@pytest.fixture(
    params=[(10_000, 5_000, 1000), (-1, 5_000, 1000), (-1, 2, 1000), (-1, 2, 3), (4, 2, 3)],
    ids=["test each link", "few index matches", "many index matches", "more than shown", "few filtered"],
)
def max_matches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Force each query plan with few links; returns the number of matches that `quick_page` shows."""
    few_links, max_index_matches, max_matches = request.param
    monkeypatch.setattr(list_search, "FEW_LINKS", few_links)
    monkeypatch.setattr(list_search, "MAX_INDEX_MATCHES", max_index_matches)
    monkeypatch.setattr(list_search, "MAX_MATCHES", max_matches)
    return int(max_matches)


@dataclass(frozen=True)
class _Sample:
    """A created link: the most specific filter that it passes, its title in lower case, and its clicks."""

    properties: LinkFilter
    title: str
    clicks: int


def _create_links(person: Person) -> dict[int, _Sample]:
    """Create a link for each combination of properties; returns them by id."""
    campaign = person.add("campaign", name="Winter")
    channel = person.add("channel", name="Shops")
    samples = {}
    combinations = itertools.product(STATUSES, (campaign, None), (channel, None), (True, False))
    for n, (status, in_campaign, in_channel, dead) in enumerate(combinations):
        title = ("A cheap coat", "Coats", "Something else")[n % 3]
        body = {
            "url": "https://e.test/",
            "custom": f"{person.username}-{n}",
            "title": title,
            "status": status,
            "campaign": in_campaign,
        }
        link = person.add("url", **{**body, "channel": [in_channel] if in_channel else []})
        samples[link] = _Sample(LinkFilter(in_campaign, in_channel, status, dead), title.lower(), n * 7 % 5)
    checks = [
        {"account": person.account, "link": link, "due": 1, "dead": sample.properties.dead}
        for link, sample in samples.items()
    ]
    person.write(lambda tx: tx.execute(insert(schema.link_checks), checks))
    clicks = case({link: sample.clicks for link, sample in samples.items()}, value=schema.links.c.id)
    set_clicks = update(schema.links).where(schema.links.c.id.in_(samples)).values(clicks=clicks)
    person.write(lambda tx: tx.execute(set_clicks))
    return samples


def _passes(link: LinkFilter, link_filter: LinkFilter) -> bool:
    pairs = (
        (link_filter.campaign, link.campaign),
        (link_filter.channel, link.channel),
        (link_filter.status, link.status),
    )
    return all(expected in (None, actual) for expected, actual in pairs) and (link.dead or not link_filter.dead)


def _all_filters(samples: dict[int, _Sample]) -> Sequence[LinkFilter]:
    """Every combination of filters."""
    campaign = next(sample.properties.campaign for sample in samples.values() if sample.properties.campaign)
    channel = next(sample.properties.channel for sample in samples.values() if sample.properties.channel)
    return [
        LinkFilter(in_campaign, in_channel, status, dead)
        for in_campaign, in_channel, status, dead in itertools.product(
            (campaign, None), (channel, None), (*STATUSES[:2], None), (True, False)
        )
    ]


def test_list_contains_exactly_the_matching_links_for_every_filter_and_order(
    ana: Person, ben: Person, max_matches: int
) -> None:
    samples = _create_links(ana)
    _create_links(ben)

    def check(tx: Connection, link_filter: LinkFilter, q: str, order: list_search.Order, window: PageRequest) -> None:
        matching = [
            link for link, sample in samples.items() if _passes(sample.properties, link_filter) and q in sample.title
        ]
        newest = sorted(matching, reverse=True)
        ranked = newest if order == "date" else sorted(newest, key=lambda link: (-samples[link].clicks, -link))
        case_id = link_filter, q, order, window
        rows = slice(window.offset, window.offset + 5)
        full = list_search.page(tx, account=ana.account, window=window, order=order, q=q, link_filter=link_filter)
        assert [link.id for link in full.items] == ranked[rows], case_id
        assert full.result == len(matching), case_id
        words = [Word(ana.account, text) for text in q.split()]
        quick = list_search.quick_page(
            tx, account=ana.account, window=window, order=order, words=words, link_filter=link_filter
        )
        assert [link.id for link in quick.items] == (ranked[:max_matches] if q else ranked)[rows], case_id
        assert quick.result == (min(len(matching), max_matches + 1) if q else len(matching)), case_id

    def check_all(tx: Connection) -> None:
        pages = itertools.cycle((1, 2, 2))  # each filter has eight cases, so three filters cover all pages
        for link_filter, q, order in itertools.product(_all_filters(samples), QUERIES, ORDERS):
            check(tx, link_filter, q, order, PageRequest(5, next(pages)))

    ana.database.read(check_all)


def test_filter_by_campaign_or_channel_of_another_account_finds_no_links(
    ana: Person, ben: Person, max_matches: int
) -> None:
    samples = _create_links(ana)
    filters = [item for item in _all_filters(samples) if item.campaign or item.channel]

    def check(tx: Connection) -> None:
        for link_filter, q in itertools.product(filters, QUERIES):
            window, words = PageRequest(5, 1), [Word(ben.account, text) for text in q.split()]
            for page in (
                list_search.page(tx, account=ben.account, window=window, q=q, link_filter=link_filter),
                list_search.quick_page(tx, account=ben.account, window=window, words=words, link_filter=link_filter),
            ):
                assert (page.items, page.result) in (((), 0), ([], 0)), (link_filter, q, max_matches)

    ben.database.read(check)
