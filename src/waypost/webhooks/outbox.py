"""The outbox: an event of the audit log becomes a message for each endpoint that wants it, in the same transaction."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, false, insert, select

from waypost.core import clock
from waypost.db.audit_sequence import SequencedEvent
from waypost.db.schema import accounts, channel_items, links, webhook_endpoints, webhook_messages
from waypost.webhooks import catalog, signature

_c = webhook_endpoints.c
_COLUMNS = (_c.id, _c.account, _c.events, _c.campaign, _c.channel, _c.link, _c.enabled)
_LINK, _CAMPAIGN, _CHANNEL = "link", "campaign", "channel"
_IN_CHANNELS = ("link", "bio", "qr")
"""The kinds of items that channels have, which are columns of `channel_items` too."""
Key = tuple[str, int]
"""The kind and the id of a thing."""


def enqueue(tx: Connection, events: Sequence[SequencedEvent]) -> None:
    """Insert the messages of new events: a reader of the audit log.

    Those for a disabled endpoint have failed already, so that they can be sent when it is enabled.
    """
    owners = {event.account for event in events if event.account is not None}
    if not owners:
        return
    query = select(*_COLUMNS).join(accounts, accounts.c.id == _c.account)
    listening = tx.execute(query.where(_c.account.in_(owners), accounts.c.suspended == false())).all()
    if not listening:
        return
    by_account = defaultdict(list)
    for endpoint in listening:
        by_account[endpoint.account].append(endpoint)
    places = _places(tx, listening, events)
    messages = [
        _message(endpoint, event)
        for event in events
        for endpoint in by_account.get(event.account, ())
        if catalog.selects(endpoint.events, event.name) and _is_in_scope(endpoint, event, places)
    ]
    if messages:
        tx.execute(insert(webhook_messages), messages)


def enqueue_test(tx: Connection, account: int, endpoint: int) -> int:
    """Insert a test message, which is sent even if the endpoint is disabled or does not select it; return its id."""
    body = _payload(catalog.TEST, clock.now(), {"id": endpoint, "kind": "webhook"})
    message = _values(account, endpoint, signature.new_id(), catalog.TEST, body)
    statement = insert(webhook_messages).values({**message, "state": "waiting"})
    return int(tx.execute(statement.returning(webhook_messages.c.id)).scalar_one())


def payload(event: SequencedEvent) -> str:
    """Return the text that is sent for an event: neither the key nor the network of the client is in it."""
    names = ("kind", "label", "origin", "before", "after")
    return _payload(event.name, event.at, {"id": event.item, **{name: getattr(event, name) for name in names}})


def _payload(name: str, second: int, data: Mapping[str, Any]) -> str:
    at = f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return json.dumps({"type": name, "timestamp": at, "data": data}, ensure_ascii=False, separators=(",", ":"))


def _message(endpoint: Any, event: SequencedEvent) -> Mapping[str, Any]:
    """Return the message of an event. Its id is the same if the event is read again after a power cut."""
    digest = hashlib.sha256(f"{endpoint.id}:{event.id}:{event.salt}".encode()).hexdigest()
    values = _values(endpoint.account, endpoint.id, f"msg_{digest[:32]}", event.name, payload(event))
    return {**values, "state": "waiting" if endpoint.enabled else "failed"}


def _values(account: int, endpoint: int, uid: str, name: str, body: str) -> Mapping[str, Any]:
    now = clock.now()
    owner = {"account": account, "endpoint": endpoint, "uid": uid}
    return {**owner, "event": name, "body": body, "attempts": 0, "due": now, "created": now}


@dataclass(frozen=True)
class _Places:
    """The campaigns and channels of the things of a batch, as they are now."""

    campaigns: Mapping[int, int]
    """By link."""
    channels: Mapping[Key, set[int]]


def _places(tx: Connection, endpoints: Sequence[Any], events: Iterable[SequencedEvent]) -> _Places:
    """Read the places of things, if an endpoint asks for them. One that was deleted is in no channel."""
    of_campaigns = {each.account for each in endpoints if each.campaign is not None}
    of_channels = {each.account for each in endpoints if each.channel is not None}
    keys = {(event.account, event.kind, event.item) for event in events if event.item is not None}
    campaigns: dict[int, int] = {}
    channels: defaultdict[Key, set[int]] = defaultdict(set)
    if ids := [item for account, kind, item in keys if kind == _LINK and account in of_campaigns]:
        query = select(links.c.id, links.c.campaign).where(links.c.account.in_(of_campaigns), links.c.id.in_(ids))
        campaigns.update((link, campaign) for link, campaign in tx.execute(query) if campaign is not None)
    for name in _IN_CHANNELS:
        column = channel_items.c[name]
        if ids := [item for account, kind, item in keys if kind == name and account in of_channels]:
            owned = (channel_items.c.account.in_(of_channels), column.in_(ids))
            for item, channel in tx.execute(select(column, channel_items.c.channel).where(*owned)):
                channels[name, item].add(channel)
    return _Places(campaigns, channels)


def _is_in_scope(endpoint: Any, event: SequencedEvent, places: _Places) -> bool:
    """Return whether an event is about the item of an endpoint, or about one that belongs to it."""
    for kind in (_LINK, _CAMPAIGN, _CHANNEL):
        if (scope := getattr(endpoint, kind)) is not None:
            is_itself = (event.kind, event.item) == (kind, scope)
            return is_itself or (event.item is not None and scope in _scopes(kind, event, places))
    return True


def _scopes(kind: str, event: SequencedEvent, places: _Places) -> set[int]:
    """Return the campaigns or channels of the thing of an event: for campaigns also those before and after it."""
    if kind == _CHANNEL:
        return places.channels.get((event.kind, event.item or 0), set())
    if kind != _CAMPAIGN or event.kind != _LINK:
        return set()
    known = (places.campaigns.get(event.item or 0), *((row or {}).get(kind) for row in (event.before, event.after)))
    return {campaign for campaign in known if campaign is not None}
