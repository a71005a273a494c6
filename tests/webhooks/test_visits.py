"""Counted visits become messages in the transaction that counts them: batched, and each exactly once."""

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import pytest
import time_machine
from sqlalchemy import Connection, event, insert, select, update

from tests.support.clicks import NOW_MS, click, click_counts
from tests.support.sqlite import MAX_PARAMETERS, few_parameters
from tests.support.visits import CHROME, GOOGLEBOT
from tests.support.webhooks import WAIT_SECONDS, Hooks, Receiver, count_lines
from waypost.clicks.ingest.aggregate import Visit
from waypost.clicks.journal import HEAD, LATE, PREFETCH, SCAN, TAKEN, Journal, format_line, item_fields
from waypost.core import clock
from waypost.db.database import Database
from waypost.db.schema import accounts, events, files, qrs, webhook_messages
from waypost.db.schema.webhooks import IS_OF_VISITS
from waypost.items.accounts import ops as account_ops
from waypost.items.campaigns import ops as campaigns
from waypost.items.channels import ops as channels
from waypost.items.links import limit_events
from waypost.items.links import ops as links
from waypost.webhooks import catalog, deliveries, endpoints, outbox, queue, visit_outbox
from waypost.webhooks.formats import MAX_VISITS
from waypost.webhooks.sender import Sender
from waypost.webhooks.visit_outbox import HOLD_SECONDS, VisitOutbox

_ADDRESS = "203.0.113.77"
_LABELS = ("country", "referrer", "browser", "os", "device", "language", "source")


@pytest.fixture
def link(hooks: Hooks) -> int:
    """A link of the account, whose endpoint gets visits."""
    hooks.update(events=["link.clicked", "code.scanned", "file.downloaded"])
    return _add_link(hooks)


def _add_link(hooks: Hooks, **fields: Any) -> int:
    values = {"url": "https://example.com/", "custom": "spring", "title": "Spring sale", **fields}
    return hooks.database.write(lambda tx: links.add(tx, hooks.account, settings=hooks.settings, **values)).id


def _add_endpoint(hooks: Hooks, tx: Connection, **scope: Any) -> int:
    """Add an endpoint that gets clicks on links."""
    fields = {"url": "https://hooks.example/", "events": ["link.clicked"], **scope}
    return endpoints.add(tx, hooks.account, settings=hooks.settings, **fields)[0].id


def _bodies(hooks: Hooks, endpoint: int | None = None) -> Sequence[Any]:
    """Return the messages of visits, oldest first, of one or of all endpoints."""
    m = webhook_messages.c
    query = select(m.body).where(m.event.in_(["link.clicked", "code.scanned", "file.downloaded"])).order_by(m.id)
    query = query if endpoint is None else query.where(m.endpoint == endpoint)
    return [json.loads(body) for body in hooks.database.read(lambda tx: tx.execute(query).scalars().all())]


def _sizes(hooks: Hooks, endpoint: int | None = None) -> Sequence[int]:
    return [len(body["data"]["visits"]) for body in _bodies(hooks, endpoint)]


def _send_all(hooks: Hooks) -> None:
    """Send the messages that wait, and those that are held for more visits."""
    with time_machine.travel(clock.now() + HOLD_SECONDS + 1):
        while hooks.send():
            pass


def test_click_is_sent_as_the_page_of_visits_shows_it(hooks: Hooks, receiver: Receiver, link: int) -> None:
    count_lines(hooks, click(link, _ADDRESS) * 2)
    _send_all(hooks)
    (payload,) = [request.verified(hooks.secret) for request in receiver.requests]
    stored = hooks.database.read(lambda tx: tx.execute(select(events).order_by(events.c.id)).mappings().all())
    assert payload["type"] == "link.clicked"
    assert payload["data"].keys() == {"id", "kind", "visits"}
    assert (payload["data"]["id"], payload["data"]["kind"]) == (None, "link")
    first, second = payload["data"]["visits"]
    shared = {"id": link, "label": "Spring sale", "url": "http://go.localhost:8000/spring", "sort": "click"}
    assert first == {
        **shared,
        "time": "2027-01-15T12:00:00Z",
        "first": True,
        **{name: stored[0][name] for name in _LABELS},
    }
    assert second == {**first, "first": False}
    assert (first["referrer"], first["language"], first["browser"]) == ("x.com", "de", "Chrome")
    for secret in (_ADDRESS, CHROME, "https://example.com"):
        assert secret not in receiver.requests[0].body


def test_scans_and_downloads_are_sent_with_their_short_urls(hooks: Hooks, link: int) -> None:
    def add(tx: Connection) -> None:
        own = {"id": 5, "account": hooks.account, "created": 1, "name": "Poster", "alias": "p"}
        tx.execute(insert(qrs).values(**own, type="url", data={}))
        stored = {"object": "x", "sha256": b"", "mime": "text/plain", "host": ""}
        tx.execute(insert(files).values(**own, **stored))

    hooks.database.write(add)
    headers = (CHROME.encode(), b"", b"")
    for kind, flags in (("qr", SCAN), ("file", b""), ("bio", b""), ("block", b"")):
        count_lines(
            hooks, format_line(item_fields(hooks.account, kind, 5), NOW_MS, flags, b"203.0.113.1", b"", headers)
        )
    sent = [(body["type"], body["data"]["kind"], body["data"]["visits"][0]["url"]) for body in _bodies(hooks)]
    url = "http://go.localhost:8000/p"
    assert sent == [("code.scanned", "qr", url), ("file.downloaded", "file", url)]


@pytest.mark.parametrize(
    ("agent", "flags"), [(GOOGLEBOT, b""), (CHROME, HEAD), (CHROME, PREFETCH), (CHROME, LATE)], ids=str
)
def test_visit_that_is_no_click_is_not_sent(hooks: Hooks, link: int, agent: str, flags: bytes) -> None:
    count_lines(hooks, click(link, agent=agent, flags=flags), click(link))
    assert _sizes(hooks) == [1]


@pytest.mark.parametrize("selected", [["*"], ["link.*", "file.*", "qr.*"], ["code.scanned"]])
def test_clicks_are_sent_only_to_endpoints_that_name_them(hooks: Hooks, link: int, selected: list[str]) -> None:
    hooks.update(events=selected)
    count_lines(hooks, click(link))
    assert _bodies(hooks) == []


def test_name_of_visits_is_kept_next_to_groups(hooks: Hooks) -> None:
    hooks.update(events=["*", "link.clicked", "link.created"])
    assert (hooks.row["events"], hooks.row["visits"]) == (["*", "link.clicked"], True)
    hooks.update(events=["*"])
    assert not hooks.row["visits"]


def test_clicks_of_other_accounts_and_of_suspended_ones_are_not_sent(hooks: Hooks, link: int) -> None:
    ben = hooks.database.write(lambda tx: account_ops.add(tx, email="ben@example.com", username="ben", password="*").id)
    headers = (CHROME.encode(), b"", b"")
    count_lines(hooks, format_line(item_fields(ben, "link", link), NOW_MS, b"", b"203.0.113.1", b"", headers))
    suspend = update(accounts).where(accounts.c.id == hooks.account).values(suspended=True)
    hooks.database.write(lambda tx: tx.execute(suspend))
    count_lines(hooks, click(link))
    assert _bodies(hooks) == []


def test_endpoint_of_a_campaign_or_link_gets_its_clicks_only(hooks: Hooks, link: int) -> None:
    campaign = hooks.database.write(lambda tx: campaigns.add(tx, hooks.account, name="Spring").id)
    inside = _add_link(hooks, custom="inside", campaign=campaign)

    scopes: Sequence[Any] = ({"campaign": campaign}, {"link": link})
    made = hooks.database.write(lambda tx: [_add_endpoint(hooks, tx, **scope) for scope in scopes])
    count_lines(hooks, click(link), click(inside), click(inside))
    sent = [[visit["id"] for body in _bodies(hooks, each) for visit in body["data"]["visits"]] for each in made]
    assert sent == [[inside, inside], [link]]


def test_visits_are_collected_to_messages_of_a_hundred(hooks: Hooks, receiver: Receiver, link: int) -> None:
    with time_machine.travel(clock.now(), tick=False) as now:
        count_lines(hooks, click(link) * 230)
        assert _sizes(hooks) == [MAX_VISITS, MAX_VISITS, 30]
        assert hooks.send() == 1  # an endpoint that is not proven gets one at a time
        assert hooks.send() == 1
        assert hooks.send() == 0  # the last one is held
        count_lines(hooks, click(link) * 75)
        assert _sizes(hooks) == [MAX_VISITS, MAX_VISITS, MAX_VISITS, 5]
        assert hooks.send() == 1  # full
        now.shift(HOLD_SECONDS)
        assert hooks.send() == 1
        count_lines(hooks, click(link))
        assert _sizes(hooks)[-2:] == [5, 1]
    assert sum(len(request.verified(hooks.secret)["data"]["visits"]) for request in receiver.requests) == 305


def test_each_endpoint_gets_all_visits_of_its_messages(hooks: Hooks, link: int) -> None:
    """Endpoints share the text of messages, also if the open message of one of them has fewer visits."""
    second = hooks.database.write(lambda tx: _add_endpoint(hooks, tx))
    with time_machine.travel(clock.now(), tick=False):
        count_lines(hooks, click(link) * 30)
        late = hooks.database.write(lambda tx: _add_endpoint(hooks, tx))
        count_lines(hooks, click(link) * 130)
    assert _bodies(hooks, second) == _bodies(hooks, hooks.endpoint)
    assert [_sizes(hooks, each) for each in (hooks.endpoint, late)] == [[MAX_VISITS, 60], [MAX_VISITS, 30]]


def test_claimed_message_gets_no_more_visits(hooks: Hooks, link: int) -> None:
    """As of a node whose clock is ahead."""
    count_lines(hooks, click(link))
    later = clock.now() + HOLD_SECONDS
    claim = hooks.database.write(
        lambda tx: queue.claim(
            tx, later, [each.id for each in queue.find_due(tx, later, busy=[], per_endpoint=9).messages]
        )
    )
    count_lines(hooks, click(link))
    assert (len(claim), _sizes(hooks)) == (1, [1, 1])


def test_visits_of_a_disabled_endpoint_are_collected_and_sent_later(
    hooks: Hooks, receiver: Receiver, link: int
) -> None:
    hooks.update(enabled=False)
    with time_machine.travel(clock.now(), tick=False):
        for _ in range(3):
            count_lines(hooks, click(link))
    assert (hooks.states, _sizes(hooks)) == ([("failed", 0)], [3])
    hooks.update(enabled=True)
    hooks.database.write(lambda tx: deliveries.replay(tx, hooks.account, hooks.endpoint))
    _send_all(hooks)
    assert len(receiver.requests[0].verified(hooks.secret)["data"]["visits"]) == 3


def test_messages_of_visits_are_kept_as_long_as_visits(hooks: Hooks, link: int) -> None:
    with time_machine.travel(clock.now() - 3 * 86_400):
        count_lines(hooks, click(link))
        hooks.update(events=["*", "link.clicked"])
        hooks.change()
    before = len(hooks.states)
    short = hooks.settings.model_copy(update={"events_days": 2})
    Sender(short, hooks.database, threading.Event()).delete_expired()
    assert (_bodies(hooks), len(hooks.states)) == ([], before - 1)


def test_old_messages_are_deleted_in_batches_without_pause(
    hooks: Hooks, link: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "_MAX_DELETED", 2)
    with time_machine.travel(clock.now() - 3 * 86_400):
        count_lines(hooks, click(link) * 5 * MAX_VISITS)
    sender = Sender(hooks.settings.model_copy(update={"events_days": 2}), hooks.database, threading.Event())
    left = []
    for _ in range(3):
        sender.delete_expired()
        left.append(len(_bodies(hooks)))
    assert left == [3, 1, 0]


def test_old_messages_of_visits_are_deleted_by_their_index(hooks: Hooks) -> None:
    names = ", ".join(f"'{name}'" for name in catalog.VISITS.values())
    assert str(IS_OF_VISITS) == f"event IN ({names})"

    def work(tx: Connection) -> Sequence[str]:
        statements: list[Any] = []
        is_sqlite = tx.dialect.name == "sqlite"
        if not is_sqlite:
            # Of empty tables, the planner knows no cheapest index.
            events = ("link.clicked", *["link.created"] * 99) * 5
            rows = [
                {**outbox.values(hooks.account, hooks.endpoint, f"msg_{number}", name, "{}"), "state": "done"}
                for number, name in enumerate(events)
            ]
            tx.execute(insert(webhook_messages), rows)
            tx.exec_driver_sql("ANALYZE webhook_messages")
            tx.exec_driver_sql("SET LOCAL enable_seqscan = off")
        event.listen(tx, "before_cursor_execute", lambda *arguments: statements.append(arguments[2:4]))
        deliveries.delete_expired(tx, clock.now(), visits_days=2)
        explain = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
        return [str(tx.exec_driver_sql(f"{explain} {sql}", values).all()) for sql, values in tuple(statements)]

    of_all, of_visits = hooks.database.write(work)
    assert "webhook_messages_created" in of_all
    assert "webhook_messages_visits" in of_visits


def test_visits_of_more_items_than_a_statement_has_parameters_are_counted_and_sent(hooks: Hooks, link: int) -> None:
    """Each endpoint with a scope asks for the campaigns and channels of all items."""
    campaign = hooks.database.write(lambda tx: campaigns.add(tx, hooks.account, name="Spring").id)
    channel = hooks.database.write(lambda tx: channels.add(tx, hooks.account, name="News").id)
    hooks.database.write(lambda tx: channels.assign(tx, hooks.account, channel, "links", link))
    inside = _add_link(hooks, custom="inside", campaign=campaign)

    scopes: Sequence[Any] = ({"campaign": campaign}, {"channel": channel})
    made = hooks.database.write(lambda tx: [_add_endpoint(hooks, tx, **scope) for scope in scopes])
    others = range(1_000_000, 1_000_000 + MAX_PARAMETERS)
    lines = [click(item, flags=TAKEN) for item in (link, inside, *others)]
    outbox_of_visits = VisitOutbox(hooks.settings)

    def read(tx: Connection, visits: Sequence[Visit], is_first: Sequence[bool]) -> None:
        with few_parameters(tx):
            outbox_of_visits(tx, visits, is_first)
            limit_events.record_reached(tx, visits, is_first)

    count_lines(hooks, *lines, readers=[read])
    assert sum(_sizes(hooks, hooks.endpoint)) == len(lines)
    assert [_sizes(hooks, each) for each in made] == [[1], [1]]


def test_endpoints_of_more_accounts_than_a_statement_has_parameters_are_listening(hooks: Hooks) -> None:
    owners = [hooks.account, *range(1_000_000, 1_000_000 + MAX_PARAMETERS)]

    def work(tx: Connection) -> Sequence[Any]:
        with few_parameters(tx):
            return outbox.listening(tx, owners)

    (endpoint,) = hooks.database.read(work)
    assert endpoint.id == hooks.endpoint


def test_no_visit_is_sent_if_none_is_stored(hooks: Hooks, link: int) -> None:
    count_lines(hooks, click(link), settings=hooks.settings.model_copy(update={"events_days": 0}))
    assert _bodies(hooks) == []


def test_accounts_without_endpoint_cost_one_statement_for_many_batches(
    hooks: Hooks, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visit_outbox, "_CACHE_SECONDS", 600.0)
    statements: list[str] = []
    reader = VisitOutbox(hooks.settings)

    def work(tx: Connection) -> None:
        event.listen(tx, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
        for _ in range(50):
            reader(tx, [], [])

    database.write(work)
    assert ["webhook_endpoints.visits" in statement for statement in statements] == [True]


_KILLED = """
import os, pathlib, signal, sys, threading
from waypost.clicks.ingest.ingester import Ingester
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.webhooks.sender import Sender
from waypost.webhooks.visit_outbox import VisitOutbox
role, point, folder, url, hosts = sys.argv[1:]
settings = Settings(data_dir=pathlib.Path(folder), database_url=url, webhook_hosts=hosts)
database = Database(settings.database)
kill = lambda name: name == point and os.kill(os.getpid(), signal.SIGKILL)
if role == "ingester":
    Ingester(settings, database, readers=[VisitOutbox(settings)], fault_point=kill).step()
else:
    sender = Sender(settings, database, threading.Event(), fault_point=kill)
    sender.step()
    sender.wait(30)
"""


def _kill(hooks: Hooks, role: str, point: str) -> None:
    """Run an ingester or a sender that kills itself at a point."""
    parameters = (role, point, hooks.settings.data_dir, hooks.settings.database_url, hooks.settings.webhook_hosts)
    command = [sys.executable, "-c", _KILLED, *map(str, parameters)]
    assert subprocess.run(command, check=False, timeout=60).returncode == -9


@pytest.mark.parametrize(
    ("counted", "sent"), [("read", "sent"), ("positions", "claimed"), ("committed", "stored")], ids=str
)
def test_sum_of_messages_equals_the_statistics_after_kills(
    hooks: Hooks, receiver: Receiver, link: int, counted: str, sent: str
) -> None:
    """A receiver that remembers ids has each click once, after each kill."""
    journal = Journal(hooks.settings.journal_dir)
    with time_machine.travel(clock.now() - 2 * queue.LEASE_SECONDS):  # so that all are due for a killed sender
        count_lines(hooks, click(link) * 130)
    journal.write(click(link) * 140)
    _kill(hooks, "ingester", counted)
    _kill(hooks, "sender", sent)
    journal.close()
    count_lines(hooks)
    with time_machine.travel(clock.now() + queue.LEASE_SECONDS + HOLD_SECONDS):
        while hooks.send():
            pass
    by_id = {request.headers["webhook-id"]: request.verified(hooks.secret) for request in receiver.requests}
    assert sum(len(payload["data"]["visits"]) for payload in by_id.values()) == 270
    assert click_counts(hooks.database, link) == {(270, 1)}
    assert sum(visit["first"] for payload in by_id.values() for visit in payload["data"]["visits"]) == 1
    assert hooks.sender.wait(WAIT_SECONDS)
