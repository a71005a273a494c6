"""The outbox: an event of the audit log becomes a message for each endpoint that wants it, in the same transaction."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, false, insert, select

from waypost.core import clock
from waypost.db.audit_sequence import SequencedEvent, StoredEvent
from waypost.db.schema import accounts, webhook_endpoints, webhook_messages
from waypost.db.statements import is_one_of
from waypost.webhooks import catalog, scopes, signature
from waypost.webhooks.scopes import CAMPAIGN, LINK, Thing

_c = webhook_endpoints.c
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_COLUMNS = (_c.id, _c.account, _c.events, _c.campaign, _c.channel, _c.link, _c.enabled, _c.format)


def enqueue(tx: Connection, events: Sequence[SequencedEvent]) -> None:
    """Insert the messages of new events: a reader of the audit log.

    Those for a disabled endpoint have failed already, so that they can be sent when it is enabled.
    """
    owners = {event.account for event in events if event.account is not None}
    by_account = defaultdict(list)
    for endpoint in listening(tx, owners):
        by_account[endpoint.account].append(endpoint)
    if not by_account:
        return
    things = [_thing(event) for event in events]
    places = scopes.find_places(tx, [each for several in by_account.values() for each in several], things)
    messages = [
        _message(endpoint, event)
        for event, thing in zip(events, things, strict=True)
        for endpoint in by_account.get(event.account, ())
        if catalog.selects(endpoint.events, event.name) and scopes.contains(endpoint, thing, places)
    ]
    if messages:
        tx.execute(insert(webhook_messages), messages)


def enqueue_fact(tx: Connection, account: int, name: str, data: Mapping[str, Any]) -> None:
    """Insert the messages of an event that is in no audit log. `data` has the `id` and `kind` of its thing."""
    thing = Thing(account, data["kind"], data["id"])
    endpoints = [each for each in listening(tx, [account]) if catalog.selects(each.events, name)]
    if not endpoints:
        return
    places = scopes.find_places(tx, endpoints, [thing])
    body = as_json(name, clock.now(), data)
    messages = [
        {**values(account, each.id, signature.new_id(), name, body), "state": first_state(each)}
        for each in endpoints
        if scopes.contains(each, thing, places)
    ]
    if messages:
        tx.execute(insert(webhook_messages), messages)


def listening(tx: Connection, owners: Collection[int], *conditions: ColumnElement[bool]) -> Sequence[Any]:
    """Return the endpoints of accounts that are not suspended, disabled ones too, but not those of overlays."""
    if not owners:
        return ()
    query = select(*_COLUMNS).join(accounts, accounts.c.id == _c.account)
    listens = (is_one_of(_c.account, owners), _c.overlay.is_(None), accounts.c.suspended == false())
    return tx.execute(query.where(*listens, *conditions)).all()


def enqueue_test(tx: Connection, account: int, endpoint: int) -> int:
    """Insert a test message, which is sent even if the endpoint is disabled or does not select it; return its id."""
    body = as_json(catalog.TEST, clock.now(), {"id": endpoint, "kind": "webhook"})
    message = values(account, endpoint, signature.new_id(), catalog.TEST, body)
    statement = insert(webhook_messages).values({**message, "state": "waiting"})
    return int(tx.execute(statement.returning(webhook_messages.c.id)).scalar_one())


def payload(event: StoredEvent) -> str:
    """Return the text that is sent for an event: neither the key nor the network of the client is in it."""
    names = ("kind", "label", "origin", "before", "after")
    return as_json(event.name, event.at, {"id": event.item, **{name: getattr(event, name) for name in names}})


def as_json(name: str, second: int, data: Mapping[str, Any]) -> str:
    """Return the text of a message."""
    return compact({"type": name, "timestamp": time_text(second), "data": data})


def compact(value: Any) -> str:
    """Return a value as JSON without spaces."""
    return _ENCODER.encode(value)


@lru_cache(maxsize=1024)
def time_text(second: int) -> str:
    """Return a time as it is in messages."""
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _message(endpoint: Any, event: SequencedEvent) -> Mapping[str, Any]:
    """Return the message of an event. Its id is the same if the event is read again after a power cut."""
    digest = hashlib.sha256(f"{endpoint.id}:{event.id}:{event.salt}".encode()).hexdigest()
    message = values(endpoint.account, endpoint.id, f"msg_{digest[:32]}", event.name, payload(event))
    return {**message, "state": first_state(endpoint)}


def first_state(endpoint: Any) -> str:
    """Return the state of a new message: for a disabled endpoint it has failed, so it can be sent later."""
    return "waiting" if endpoint.enabled else "failed"


def values(account: int, endpoint: int, uid: str, name: str, body: str) -> Mapping[str, Any]:
    """Return the columns of a new message but its state."""
    now = clock.now()
    owner = {"account": account, "endpoint": endpoint, "uid": uid}
    return {**owner, "event": name, "body": body, "attempts": 0, "due": now, "created": now}


def _thing(event: SequencedEvent) -> Thing:
    rows = [row for row in (event.before, event.after) if row] if event.kind == LINK else []
    named = frozenset(int(row[CAMPAIGN]) for row in rows if row.get(CAMPAIGN) is not None)
    return Thing(event.account, event.kind, event.item, named)
