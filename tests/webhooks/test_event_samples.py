"""The page with a sample of each event: all are there, and those that no form causes are like caused ones."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import time_machine
from sqlalchemy import Connection, insert, select, update

from tests.conftest import Person
from tests.contract.audited_forms import FIRST_GROUPS
from tests.support import event_samples, trash
from tests.support.audit_log import Recorded
from tests.support.clicks import NOW_MS, click
from tests.support.event_samples import samples
from tests.support.fake_internet import empty
from tests.support.visits import CHROME
from tests.support.webhooks import SECRET, Hooks, Receiver, count_lines, validator
from waypost.clicks.ingest.ingester import VisitReader
from waypost.clicks.journal import SCAN, TAKEN, format_line, item_fields
from waypost.core import clock
from waypost.db.database import Database
from waypost.db.schema import files, link_checks, qrs, webhook_messages
from waypost.db.schema import links as links_table
from waypost.db.schema.nouns import NOUNS
from waypost.items.domains import domain_checks
from waypost.items.domains import ops as domains
from waypost.items.links import dead_links, expiry_events, limit_events
from waypost.items.links import ops as links
from waypost.items.links.dead_links import DAY, Verdict
from waypost.items.overlays import ops as overlays
from waypost.trash import ops
from waypost.webhooks import catalog, overlay_hooks
from waypost.webhooks.visit_outbox import VisitOutbox

OK = 200
_OF_VISITORS_AND_SERVICE = {
    *catalog.VISITS.values(),
    *("link.limit_near", "link.limit_reached", "link.expired", "link.dead", "link.alive"),
    *("domain.failed", "domain.recovered", "overlay.submitted", "webhook.disabled"),
}
RecordProperty = Callable[[str, object], None]


def test_page_has_a_sample_of_each_event() -> None:
    assert samples().keys() == catalog.NAMES


@pytest.mark.parametrize("name", sorted(catalog.NAMES))
def test_sample_matches_the_schema_and_has_no_secret(name: str) -> None:
    validator().validate(samples()[name])
    text = json.dumps(samples()[name])
    if name.startswith(("account.", "email_report.")):  # they have the addresses of the account and its recipients
        text = text.replace("@example.com", "")
    assert SECRET.search(text) is None


def test_items_in_the_trash_are_like_their_samples(
    ana: Person, database: Database, recorded: Recorded, record_property: RecordProperty
) -> None:
    def put_in_trash() -> None:
        for noun, item in ids.items():
            trash.move(database, ana, noun, item)

    ids, caused = trash.new_items(ana), []
    recorded()
    put_in_trash()
    trash.restore(database, ana, trash.entries(database, ana))
    caused += event_samples.payloads_of(recorded())
    put_in_trash()
    database.write(lambda tx: ops.purge(tx, ana.account, trash.entries(database, ana)))
    caused += event_samples.payloads_of(recorded())
    caused = [each for each in caused if each["type"].endswith((".restored", ".purged"))]
    assert {each["type"] for each in caused} == {f"{kind}.{verb}" for kind in NOUNS for verb in ("restored", "purged")}
    of_no_form = [each for each in caused if each["type"] not in FIRST_GROUPS]
    record_property(event_samples.CAUSED, of_no_form)
    assert event_samples.unlike_samples(of_no_form) == {}


def _check_twice(tx: Connection) -> None:
    """Find the destinations dead, and then alive."""
    now = clock.now()
    dead_links.enroll(tx, now)
    for day, status in enumerate((404, 404, 404, 404, 200)):
        at = now + day * DAY
        tx.execute(update(link_checks).values(due=at))
        (claimed,), _ = dead_links.claim_batch(tx, at, limit=1, period=DAY)
        verdict: Verdict = "ok" if status == OK else "failed"
        dead_links.record_result(tx, claimed, status=status, verdict=verdict, now=at, period=DAY)


def _let_expire(database: Database, link: int) -> None:
    with time_machine.travel(clock.now(), tick=False) as time:
        expiry_events.step(database)
        expiring = update(links_table).where(links_table.c.id == link).values(expiry=clock.now() + 1)
        database.write(lambda tx: tx.execute(expiring))
        time.shift(60)
        expiry_events.step(database)


def _check_domain(tx: Connection) -> None:
    """Find the domain failed, and then working."""
    now = clock.now()
    domain_checks.enroll(tx, now)
    findings: Sequence[domain_checks.Finding] = ("elsewhere", "elsewhere", "")
    for day, finding in enumerate(findings, 1):
        (check,) = domain_checks.claim_batch(tx, now + day * DAY, limit=1)
        domain_checks.record_result(tx, check, finding, now + day * DAY)


def test_events_of_visitors_and_of_the_service_are_like_their_samples(
    hooks: Hooks, receiver: Receiver, record_property: RecordProperty
) -> None:
    hooks.update(events=["*", *catalog.VISITS.values()])
    own = {"id": 1, "account": hooks.account, "created": 1, "name": "Poster", "alias": "p"}

    def make(tx: Connection) -> int:
        fields: Any = {"url": "https://example.com/sale", "title": "Spring sale", "clicklimit": 5}
        link = links.add(tx, hooks.account, settings=hooks.settings, **fields)
        fields = {"type": "newsletter", "name": "News", "message": "Hello"}
        overlay = overlays.add(tx, hooks.account, **fields).id
        tx.execute(insert(qrs).values(**own, type="url", data={}))
        stored = {"object": "x", "sha256": b"", "mime": "text/plain", "host": ""}
        tx.execute(insert(files).values(**own, **stored))
        tx.execute(update(links_table).values(taken=5))
        domains.add(tx, hooks.account, domain="https://go.example.com", settings=hooks.settings)
        overlay_hooks.enqueue(tx, hooks.account, overlay, 1, {"link": link.id})
        return link.id

    link = hooks.database.write(make)
    headers = (CHROME.encode(), b"https://t.co/x", b"de")
    lines = [
        format_line(item_fields(hooks.account, kind, 1), NOW_MS, flags, b"203.0.113.1", b"", headers)
        for kind, flags in (("qr", SCAN), ("file", b""))
    ]
    readers: list[VisitReader] = [VisitOutbox(hooks.settings), limit_events.record_reached]
    count_lines(hooks, click(link, flags=TAKEN), *lines, readers=readers)
    hooks.database.write(_check_twice)
    _let_expire(hooks.database, link)
    hooks.database.write(_check_domain)
    hooks.sequence()
    receiver.answer = lambda: [empty(410)]
    hooks.send()
    hooks.sequence()
    bodies = hooks.database.read(lambda tx: tx.execute(select(webhook_messages.c.body)).scalars().all())
    caused = [payload for payload in map(json.loads, bodies) if payload["type"] in _OF_VISITORS_AND_SERVICE]
    record_property(event_samples.CAUSED, caused)
    assert {each["type"] for each in caused} == _OF_VISITORS_AND_SERVICE
    assert event_samples.unlike_samples(caused) == {}
