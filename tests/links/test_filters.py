"""Lists of links by status, campaign, channel, dead target and words at once, whichever way is quickest to them."""

import itertools
from collections.abc import Sequence

import pytest
from sqlalchemy import Connection, case, insert, update

from tests.conftest import Person
from waypost.db import schema
from waypost.db.crud import PageRequest
from waypost.links import filters, ops, quick_search
from waypost.links.columns import Status
from waypost.links.filters import Only

STATUSES: tuple[Status, ...] = ("public", "disabled", "private")
WORDS = ("", "ap", "coat", "cheap coat")
ORDERS: tuple[ops.Order, ...] = ("date", "click")


@pytest.fixture(
    params=[(10_000, 5_000, 1000), (-1, 5_000, 1000), (-1, 2, 1000), (-1, 2, 3), (4, 2, 3)],
    ids=["one by one", "few match", "many match", "more than are shown", "few are wanted"],
)
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Every way to the matches, with few links; how many matches are shown."""
    few, many, shown = request.param
    monkeypatch.setattr(filters, "FEW", few)
    monkeypatch.setattr(filters, "_MANY_MATCHES", many)
    monkeypatch.setattr(quick_search, "MOST", shown)
    return int(shown)


def _fill(person: Person) -> dict[int, tuple[Only, str, int]]:
    """Links of every kind: what each is, what it says, and how often it was clicked."""
    campaign = int(person.post("/campaign/add", {"name": "Winter"})["id"])
    channel = int(person.post("/channel/add", {"name": "Shops"})["id"])
    made = {}
    kinds = itertools.product(STATUSES, (campaign, None), (channel, None), (True, False))
    for n, (status, within, on, dead) in enumerate(kinds):
        title = ("A cheap coat", "Coats", "Something else")[n % 3]
        body = {
            "url": "https://e.test/",
            "custom": f"{person.username}-{n}",
            "title": title,
            "status": status,
            "campaign": within,
        }
        link = int(person.post("/url/add", {**body, "channel": [on] if on else []})["id"])
        made[link] = Only(within, on, status, dead), title.lower(), n * 7 % 5
    told = [
        {"account": person.account, "link": link, "due": 1, "dead": kind.dead} for link, (kind, _, _) in made.items()
    ]
    person.write(lambda tx: tx.execute(insert(schema.link_checks), told))
    clicks = case({link: clicks for link, (_, _, clicks) in made.items()}, value=schema.links.c.id)
    counted = update(schema.links).where(schema.links.c.id.in_(made)).values(clicks=clicks)
    person.write(lambda tx: tx.execute(counted))
    return made


def _meets(kind: Only, only: Only) -> bool:
    asked = ((only.campaign, kind.campaign), (only.channel, kind.channel), (only.status, kind.status))
    return all(wanted in (None, there) for wanted, there in asked) and (kind.dead or not only.dead)


def _asked(made: dict[int, tuple[Only, str, int]]) -> Sequence[Only]:
    """Every combination of filters."""
    campaign = next(kind.campaign for kind, _, _ in made.values() if kind.campaign)
    channel = next(kind.channel for kind, _, _ in made.values() if kind.channel)
    return [
        Only(within, on, status, dead)
        for within, on, status, dead in itertools.product(
            (campaign, None), (channel, None), (*STATUSES[:2], None), (True, False)
        )
    ]


def test_a_list_has_exactly_the_links_that_are_wanted(ana: Person, ben: Person, most: int) -> None:
    made = _fill(ana)
    _fill(ben)

    def look(tx: Connection, only: Only, q: str, order: ops.Order, window: PageRequest) -> None:
        fitting = [link for link, (kind, words, _) in made.items() if _meets(kind, only) and q in words]
        newest = sorted(fitting, reverse=True)
        ranked = newest if order == "date" else sorted(newest, key=lambda link: (-made[link][2], -link))
        told = only, q, order, window
        shown = slice(window.offset, window.offset + 5)
        all_of = ops.page(tx, account=ana.account, window=window, order=order, q=q, only=only)
        assert [link.id for link in all_of.items] == ranked[shown], told
        assert all_of.result == len(fitting), told
        first = quick_search.page(tx, account=ana.account, window=window, order=order, q=q, only=only)
        shown_of = ranked[:most] if q else ranked
        assert [link.id for link in first.items] == shown_of[shown], told
        assert first.result == (min(len(fitting), most + 1) if q else len(fitting)), told

    def look_at_all(tx: Connection) -> None:
        pages = itertools.cycle((1, 2, 2))  # eight orders and words a filter: in three filters each has both
        for only, q, order in itertools.product(_asked(made), WORDS, ORDERS):
            look(tx, only, q, order, PageRequest(5, next(pages)))

    ana.database.read(look_at_all)


def test_nobody_lists_by_what_is_somebody_elses(ana: Person, ben: Person, most: int) -> None:
    made = _fill(ana)

    def look(tx: Connection) -> None:
        for only, q in itertools.product((only for only in _asked(made) if only.campaign or only.channel), WORDS):
            for page in (ops.page, quick_search.page):
                found = page(tx, account=ben.account, window=PageRequest(5, 1), q=q, only=only)
                assert (found.items, found.result) in (((), 0), ([], 0)), (only, q, most)

    ben.database.read(look)
