"""Events of links that no person causes: the click limit is reached, the destination is dead or alive."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, update

from tests.support.clicks import click, run_out
from tests.support.webhooks import Hooks
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import TAKEN, Journal
from waypost.core import clock
from waypost.db.schema import link_checks, webhook_messages
from waypost.db.schema import links as links_table
from waypost.items.links import dead_links, limit_events
from waypost.items.links import ops as links
from waypost.items.links.dead_links import DAY, LinkCheck, Verdict


def _add_link(hooks: Hooks) -> int:
    hooks.update(events=["link.limit_reached", "link.dead", "link.alive"])
    fields: Any = {"url": "https://example.com/sale", "title": "Spring sale", "clicklimit": 2}
    return hooks.database.write(lambda tx: links.add(tx, hooks.account, settings=hooks.settings, **fields)).id


def _visit(hooks: Hooks, link: int) -> None:
    """Take a click from the limit of a link, and count it."""
    one_more = update(links_table).where(links_table.c.id == link).values(taken=links_table.c.taken + 1)
    hooks.database.write(lambda tx: tx.execute(one_more))
    journal = Journal(hooks.settings.journal_dir)
    assert journal.write(click(link, flags=TAKEN))
    journal.close()
    run_out(Ingester(hooks.settings, hooks.database, readers=[limit_events.record_reached]))


def _messages(hooks: Hooks) -> Sequence[Any]:
    hooks.sequence()
    query = select(webhook_messages.c.body).order_by(webhook_messages.c.id)
    return [json.loads(body) for body in hooks.database.read(lambda tx: tx.execute(query).scalars().all())]


def test_last_click_of_each_limit_is_one_event(hooks: Hooks) -> None:
    link = _add_link(hooks)
    _visit(hooks, link)
    assert _messages(hooks) == []
    _visit(hooks, link)
    (message,) = _messages(hooks)
    data = {"id": link, "kind": "link", "label": "Spring sale", "origin": "system", "before": None}
    assert message["type"] == "link.limit_reached"
    assert message["data"] == {**data, "after": {"clicklimit": 2}}
    _visit(hooks, link)  # as a line of another node that is counted later
    assert len(_messages(hooks)) == 1
    hooks.database.write(lambda tx: links.change(tx, hooks.account, link, settings=hooks.settings, clicklimit=4))
    _visit(hooks, link)
    assert [each["data"]["after"] for each in _messages(hooks)] == [{"clicklimit": 2}, {"clicklimit": 4}]


def test_dead_and_alive_again_are_one_event_each(hooks: Hooks) -> None:
    link, now = _add_link(hooks), clock.now()

    def check(day: int, status: int, verdict: Verdict) -> None:
        def work(tx: Any) -> None:
            tx.execute(update(link_checks).values(due=now))
            (claimed,), _ = dead_links.claim_batch(tx, now + day * DAY, limit=1, period=7 * DAY)
            at = now + day * DAY
            dead_links.record_result(tx, claimed, status=status, verdict=verdict, now=at, period=7 * DAY)
            outdated = LinkCheck(claimed.account, claimed.link, claimed.url, 1, was_dead=not claimed.was_dead)
            dead_links.record_result(tx, outdated, status=404, verdict="failed", now=at, period=7 * DAY)

        hooks.database.write(work)

    hooks.database.write(lambda tx: dead_links.enroll(tx, now))
    for day in range(4):
        check(day, 404, "failed")
    check(4, 403, "unknown")
    check(5, 200, "ok")
    check(6, 200, "ok")
    sent = _messages(hooks)
    assert [message["type"] for message in sent] == ["link.dead", "link.alive"]
    expected = {"id": link, "kind": "link", "label": "Spring sale", "origin": "system", "before": None}
    assert sent[0]["data"] == {**expected, "after": {"url": "https://example.com/sale"}}
