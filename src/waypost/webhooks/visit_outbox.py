"""Messages of counted visits, written by the ingester in the transaction that counts them.

A message has up to 100 visits, or as many as its format allows. It is held for a few seconds, in which later
transactions add theirs.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, compress
from typing import Any

from sqlalchemy import Connection, Table, false, insert, literal, select, true, update

from waypost.clicks.ingest.aggregate import Visit
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.item_columns import name_of
from waypost.db.schema import domains, webhook_endpoints, webhook_messages
from waypost.db.schema.nouns import NOUNS
from waypost.db.statements import is_one_of
from waypost.urls.short_urls import short_url
from waypost.webhooks import catalog, outbox, scopes, signature
from waypost.webhooks.formats import max_visits
from waypost.webhooks.scopes import Thing

HOLD_SECONDS = 5
"""A message waits so long for more visits."""
_CACHE_SECONDS = 1.0
_LAST = 10
"""Messages of an endpoint among which an open one is searched."""
_LABELS = ("country", "referrer", "browser", "os", "device", "language", "source")
"""The attributes of a visit that the page of visits shows."""
_m, _e = webhook_messages.c, webhook_endpoints.c
_END = "]}}"
"""The end of the text of a message, after its visits."""
Key = tuple[str, int]
"""The kind and the id of an item."""
_BodyOf = Callable[[str, int, tuple[str, ...]], str]
"""Returns the text of a message from the name of its event, its time in seconds, and the JSON of its visits."""


class VisitOutbox:
    """Writes the messages. It asks once a second which accounts have an endpoint for visits; others cost nothing."""

    def __init__(self, settings: Settings) -> None:
        self._base = settings.base
        self._keeps_visits = settings.events_days > 0
        self._accounts: frozenset[int] = frozenset()
        self._asked_at = -_CACHE_SECONDS

    def __call__(self, tx: Connection, visits: Sequence[Visit], is_first: Sequence[bool]) -> None:
        """Insert or extend the messages of the clicks among new visits. Without stored visits, none are sent."""
        if not self._keeps_visits or not (accounts := self._listening_accounts(tx)):
            return
        clicks: defaultdict[int, list[tuple[Visit, bool]]] = defaultdict(list)
        for visit, first in zip(visits, is_first, strict=True):
            if visit.account in accounts and visit.outcome == "click" and visit.kind in catalog.VISITS:
                clicks[visit.account].append((visit, first))
        endpoints = outbox.listening(tx, set(clicks), _e.visits == true())
        sent = {each.account: clicks[each.account] for each in endpoints}
        things = {account: {Thing(account, v.kind, v.item) for v, _ in sent[account]} for account in sent}
        all_things = list(chain.from_iterable(things.values()))
        places = scopes.find_places(tx, endpoints, all_things)
        described = self._describe(tx, all_things)
        texts = {account: [_text(v, described, is_first=first) for v, first in sent[account]] for account in sent}
        body_of = cache(_body)  # endpoints with the same visits share their text
        for endpoint in endpoints:
            account = endpoint.account
            inside = {(each.kind, each.item) for each in things[account] if scopes.contains(endpoint, each, places)}
            for kind, name in catalog.VISITS.items():
                if catalog.selects(endpoint.events, name):
                    is_sent = (v.kind == kind and (kind, v.item) in inside for v, _ in sent[account])
                    _enqueue(tx, endpoint, name, tuple(compress(texts[account], is_sent)), body_of)

    def _listening_accounts(self, tx: Connection) -> Collection[int]:
        """Return the accounts with an endpoint for visits (index webhook_endpoints_visits)."""
        if time.monotonic() - self._asked_at >= _CACHE_SECONDS:
            query = select(_e.account).where(_e.visits == true()).distinct()
            self._accounts = frozenset(tx.execute(query).scalars())
            self._asked_at = time.monotonic()
        return self._accounts

    def _describe(self, tx: Connection, things: Collection[Thing]) -> Mapping[Key, Mapping[str, str]]:
        """Return the name and the short URL of items, by one statement for each kind. Deleted items have neither."""
        described = {}
        for kind in catalog.VISITS:
            noun = NOUNS[kind]
            of_kind = [thing for thing in things if thing.kind == kind]
            if not of_kind or noun.alias is None:
                continue
            c = noun.table.c
            host = c.host if noun.alias.host is None else literal(noun.alias.host)
            query = select(c.id, name_of(noun), host, domains.c.scheme, c[noun.alias.column])
            query = query.select_from(_with_domains(noun.table, has_host=noun.alias.host is None))
            owners = {thing.account for thing in of_kind if thing.account is not None}
            ids = {thing.item for thing in of_kind if thing.item is not None}
            owned = (is_one_of(c.account, owners), is_one_of(c.id, ids))
            for item, label, *address in tx.execute(query.where(*owned)):
                described[kind, item] = {"label": str(label), "url": short_url(self._base, *address)}
        return described


def _with_domains(table: Table, *, has_host: bool) -> Any:
    """Return a table of items with the branded domains of their aliases."""
    return table.outerjoin(domains, domains.c.host == table.c.host if has_host else false())


def _text(visit: Visit, described: Mapping[Key, Mapping[str, str]], *, is_first: bool) -> str:
    """Return the JSON of a visit: what the page of visits shows."""
    labels = {name: getattr(visit.attributes, name) for name in _LABELS}
    item = {"id": visit.item, **described.get((visit.kind, visit.item), {})}
    when = outbox.time_text(visit.second)
    return outbox.compact({**item, "time": when, "sort": visit.outcome, "first": is_first, **labels})


def _body(name: str, second: int, visits: tuple[str, ...]) -> str:
    """Return the text of a message of visits."""
    kind = next(kind for kind, event in catalog.VISITS.items() if event == name)
    empty = outbox.as_json(name, second, {"id": None, "kind": kind, "visits": []})
    return empty.removesuffix(_END) + ",".join(visits) + _END


def _enqueue(tx: Connection, endpoint: Any, name: str, visits: tuple[str, ...], body_of: _BodyOf) -> None:
    """Add visits to the open message of an endpoint, if there is one, and insert new messages for the others."""
    if not visits:
        return
    left = visits[_extend(tx, endpoint, name, visits) :]
    if rows := list(_new_messages(endpoint, name, left, body_of)):
        tx.execute(insert(webhook_messages), rows)


def _extend(tx: Connection, endpoint: Any, name: str, visits: tuple[str, ...]) -> int:
    """Add visits to the open message. Return how many: none if there is no such message.

    The message is locked, and is not open once a sender has claimed it.
    """
    now = clock.now()
    owned = (_m.endpoint == endpoint.id, _m.account == endpoint.account)
    last = select(_m.id).where(*owned).order_by(_m.id.desc()).limit(_LAST).subquery()
    is_open = (_m.event == name, _m.state == outbox.first_state(endpoint), _m.attempts == 0, _m.due > now)
    query = select(_m.id, _m.body).where(_m.id.in_(select(last.c.id)), *owned, *is_open)
    row = tx.execute(query.order_by(_m.id.desc()).limit(1).with_for_update()).first()
    if row is None:
        return 0
    free = max_visits(endpoint.format) - len(json.loads(row.body)["data"]["visits"])
    if not free:
        return 0
    added = visits[:free]
    body = ",".join([row.body.removesuffix(_END), *added]) + _END
    values = {"body": body, **({"due": now} if len(added) == free else {})}
    tx.execute(update(webhook_messages).where(_m.id == row.id, *owned).values(values))
    return len(added)


def _new_messages(endpoint: Any, name: str, visits: tuple[str, ...], body_of: _BodyOf) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of new messages. One that is not full is held for more visits."""
    now, size = clock.now(), max_visits(endpoint.format)
    for start in range(0, len(visits), size):
        part = visits[start : start + size]
        body = body_of(name, now, part)
        message = outbox.values(endpoint.account, endpoint.id, signature.new_id(), name, body)
        due = now if len(part) == size else now + HOLD_SECONDS
        yield {**message, "due": due, "state": outbox.first_state(endpoint)}
