"""Rotators with many links: every usable link is found, odds are right, and limits are exact."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, update

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.visits import visit
from waypost.core import clock
from waypost.db.schema import links, rotator_links
from waypost.items.campaigns import rotator_candidates
from waypost.items.campaigns.rotator_candidates import CandidateQuery, RotatorLink

pytestmark = ON_BOTH_DATABASES

_WORDS = ("host", "title", "search", "description", "expiryurl", "metatitle", "metadescription", "metaimage")


def _campaign(person: Person, count: int, **fields: Any) -> tuple[int, list[int]]:
    """Create a campaign with many links, faster than through the API; return its id and theirs.

    Two thirds of the links in the table belong to no campaign.
    """
    campaign = person.add("campaign", **{"slug": "spring", **fields})
    defaults = {**dict.fromkeys(_WORDS, ""), "account": person.account, "created": 0}

    def work(tx: Connection) -> Sequence[int]:
        rows = [
            {**defaults, "alias": f"a-{n}", "url": f"https://example.com/{n}", "campaign": None if n % 3 else campaign}
            for n in range(count * 3)
        ]
        tx.execute(insert(links), rows)
        query = links.select().where(links.c.campaign == campaign).order_by(links.c.id)
        return [row.id for row in tx.execute(query)]

    return campaign, list(person.write(work))


def _update(person: Person, ids: Sequence[int], **columns: Any) -> None:
    person.write(lambda tx: tx.execute(update(links).where(links.c.id.in_(ids)).values(columns)))


def _add_settings(
    person: Person, campaign: int, ids: Sequence[int], *, weight: int = 1, quota: int | None = None
) -> None:
    columns = {"account": person.account, "campaign": campaign, "weight": weight, "quota": quota}
    if rows := [{**columns, "link": link} for link in ids]:
        person.write(lambda tx: tx.execute(insert(rotator_links), rows))


def _ids(person: Person, candidates: Any) -> list[int]:
    return person.database.read(lambda tx: [candidate.id for candidate in candidates(tx)])


@pytest.mark.parametrize("count", [1, 64, 65, 300])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_usable_link_is_tried_once(ana: Person, count: int, *, weighted: bool) -> None:
    campaign, ids = _campaign(ana, count)
    now = clock.now()
    _update(ana, ids[1::7], status="disabled")
    _update(ana, ids[2::7], expiry=now - 1)
    _update(ana, ids[3::7], clicklimit=5, taken=5)
    _add_settings(ana, campaign, ids[4::7], quota=0)
    _add_settings(ana, campaign, ids[5::7], weight=0)
    _add_settings(ana, campaign, ids[6::7], weight=1000)
    usable = ids[::7] + ids[6::7] + ([] if weighted else ids[5::7])
    query = CandidateQuery(ana.account, campaign, weighted, now)
    tried = _ids(ana, lambda tx: rotator_candidates.random_order(tx, query))
    assert (len(tried), set(tried)) == (len(usable), set(usable))
    after = ids[len(ids) // 2]
    expected = [*sorted(link for link in usable if link > after), *sorted(link for link in usable if link <= after)]
    assert _ids(ana, lambda tx: rotator_candidates.in_order(tx, query, after)) == expected
    assert _ids(ana, lambda tx: rotator_candidates.in_order(tx, query, None)) == sorted(usable)


def test_few_usable_links_among_many_are_found(ana: Person) -> None:
    campaign, ids = _campaign(ana, 1500)
    usable = ids[700:766]
    _update(ana, [link for link in ids if link not in set(usable)], status="disabled")
    assert set(
        _ids(
            ana,
            lambda tx: rotator_candidates.random_order(
                tx, CandidateQuery(ana.account, campaign, weighted=False, now=clock.now())
            ),
        )
    ) == set(usable)


@pytest.mark.parametrize("weighted", [False, True])
def test_odds_match_weights(ana: Person, *, weighted: bool) -> None:
    """Half of 130 links are unusable; of the others, a tenth each has weight 2, weight 3 and weight 0.

    For any seed, each assertion about the draws fails by chance less than once in 10^9 runs. Small weights reveal
    tickets that are counted twice: 79 tickets would become 93, and links with a weight would get 7 % more.
    """
    campaign, ids = _campaign(ana, 130)
    _update(ana, ids[1::2], status="disabled")
    usable = ids[::2]
    heavy = {**dict.fromkeys(usable[::10], 2), **dict.fromkeys(usable[3::10], 3)}
    for weight in (2, 3):
        _add_settings(ana, campaign, [link for link in heavy if heavy[link] == weight], weight=weight)
    _add_settings(ana, campaign, ids[1::2], weight=10)
    _add_settings(ana, campaign, usable[1::10], weight=0)
    _add_settings(ana, campaign, usable[2::10])
    # A link that was removed from the campaign keeps its weight.
    ana.write(lambda tx: tx.execute(update(links).where(links.c.id == ids[129]).values(campaign=None)))
    query = CandidateQuery(ana.account, campaign, weighted, clock.now())
    draws = 2000
    random.seed(20_260_801)

    def first(tx: Connection) -> Counter[int]:
        return Counter(next(rotator_candidates.random_order(tx, query)).id for _ in range(draws))

    drawn = ana.database.read(first)
    assert sum(drawn[link] for link in usable) == draws
    tickets = {link: heavy.get(link, 0 if link in usable[1::10] else 1) if weighted else 1 for link in usable}
    expected = {link: draws * number / sum(tickets.values()) for link, number in tickets.items()}
    # 6.1 standard deviations of 0.0111.
    assert abs(sum(drawn[link] - expected[link] for link in heavy)) < 0.068 * draws
    chi_squared = sum((drawn[link] - n) ** 2 / n for link, n in expected.items() if n)
    assert chi_squared < 165  # at most 64 degrees of freedom
    # One of the 44 least likely links, with one ticket of 79, is missed with a probability of 44 * exp(-2000 / 79).
    assert {link for link in usable if drawn[link]} == {link for link in usable if tickets[link]}


def _visits(client: AsgiClient, count: int) -> Iterator[int]:
    """Visit the rotator `count` times; yield the number of each link."""
    for _ in range(count):
        response = visit(client, "r/spring")
        assert response.status_code == 302
        yield int(response.headers["location"].rpartition("/")[2]) // 3


def test_ordered_rotation_of_many_links_keeps_order(ana: Person) -> None:
    _, ids = _campaign(ana, 70, rotation="ordered")
    assert list(_visits(ana.client, 40)) == list(range(40))
    _update(ana, ids[40:45], status="disabled")
    ana.write(lambda tx: tx.execute(delete(links).where(links.c.id == ids[45])))
    assert list(_visits(ana.client, 30)) == [*range(46, 70), *range(6)]


@pytest.mark.parametrize("rotation", ["random", "weighted", "ordered"])
def test_quotas_of_many_links_are_exact(ana: Person, rotation: str) -> None:
    campaign, ids = _campaign(ana, 80, rotation=rotation)
    _add_settings(ana, campaign, ids, quota=1)
    assert sorted(_visits(ana.client, 80)) == list(range(80))
    assert visit(ana.client, "r/spring").status_code == 404


def test_sticky_rotator_with_many_links_keeps_link(ana: Person) -> None:
    _campaign(ana, 70, sticky=True)
    first = next(_visits(ana.client, 1))
    assert set(_visits(ana.client, 5)) == {first}  # the client keeps the cookie


@pytest.mark.parametrize("rotation", ["random", "weighted"])
def test_most_clicked_of_many_links_gets_all_visits_after_threshold(ana: Person, rotation: str) -> None:
    campaign, ids = _campaign(ana, 70, rotation=rotation, winner=2)
    _update(ana, ids[35:36], clicks=20)
    _update(ana, ids[33:34], clicks=50)  # more than the visits below can add to another link
    _update(ana, ids[34:35], clicks=80)
    _update(ana, ids[60:61], clicks=99, status="disabled")
    _add_settings(ana, campaign, ids[61:62], quota=0)
    _update(ana, ids[61:62], clicks=98)
    list(_visits(ana.client, 2))
    assert set(_visits(ana.client, 4)) == {34}
    _update(ana, ids[34:35], status="disabled")
    assert len(set(_visits(ana.client, 12))) > 1
    query = CandidateQuery(ana.account, campaign, rotation == "weighted", clock.now())
    winner: RotatorLink | None = ana.database.read(
        lambda tx: rotator_candidates.find_candidate(tx, query, rotator_candidates.most_clicked(tx, query) or 0)
    )
    assert winner is not None
    assert winner.id == ids[33]


def test_change_to_one_of_many_links_takes_effect_immediately(ana: Person) -> None:
    _, ids = _campaign(ana, 66)
    _update(ana, ids[1:], status="disabled")
    assert set(_visits(ana.client, 3)) == {0}
    ana.update("url", ids[0], status="disabled")
    assert visit(ana.client, "r/spring").status_code == 404
    ana.update("url", ids[9], status="public")
    assert set(itertools.islice(_visits(ana.client, 3), 3)) == {9}
