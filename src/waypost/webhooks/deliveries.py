"""Deliveries: the log of messages with their attempts, and messages that are sent again."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, TextClause, delete, func, select, update

from waypost.core import clock
from waypost.core.errors import Kind, Problem, not_found
from waypost.db import audit_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import webhook_attempts, webhook_messages
from waypost.db.schema.webhooks import IS_OF_VISITS
from waypost.webhooks import endpoints, outbox

State = Literal["waiting", "delivered", "failed"]
KEPT_SECONDS = 30 * 86_400
"""Messages and their attempts are kept for so long."""
_MAX_DELETED = 5000
MAX_REPLAYED = 5000
"""Messages that one request sends again."""
_c = webhook_messages.c


@dataclass(frozen=True)
class Attempt:
    """An attempt. `milliseconds` is None while it runs, or if its process ended; `status` is 0 without an answer."""

    message: int
    at: int
    status: int
    milliseconds: int | None
    error: str
    answer: str


@dataclass(frozen=True)
class Delivery:
    """A message for an endpoint. `due` is the time of the next attempt while it waits; times are seconds."""

    id: int
    uid: str
    event: str
    body: str
    state: State
    attempts: int
    due: int
    created: int


def page(
    tx: Connection, account: int, endpoint: int, window: PageRequest, *, state: State | None = None
) -> Page[Delivery]:
    """Return a page of the messages for an endpoint, newest first. Raises NOT_FOUND."""
    endpoints.get_owned(tx, account, endpoint)
    owned = _is_for(account, endpoint)
    query = crud.select_columns(webhook_messages, Delivery).where(
        *owned, *([] if state is None else [_c.state == state])
    )
    return crud.counted_page(tx, query.order_by(_c.id.desc()), window, Delivery)


def attempts_of(tx: Connection, account: int, deliveries: Sequence[Delivery]) -> Mapping[int, Sequence[Attempt]]:
    """Return the attempts of messages, oldest first, by message."""
    a = webhook_attempts.c
    owned = (a.account == account, a.message.in_([each.id for each in deliveries]))
    query = crud.select_columns(webhook_attempts, Attempt).where(*owned).order_by(a.id)
    by_message: defaultdict[int, list[Attempt]] = defaultdict(list)
    for row in tx.execute(query).mappings():
        by_message[row["message"]].append(Attempt(**row))
    return by_message


def count_failed(tx: Connection, account: int, endpoint: int) -> int:
    """Return how many messages for an endpoint have failed."""
    query = select(func.count()).select_from(webhook_messages)
    return tx.execute(query.where(*_is_for(account, endpoint), _c.state == "failed")).scalar_one()


def replay(
    tx: Connection,
    account: int,
    endpoint: int,
    *,
    delivery: int | None = None,
    first: int | None = None,
    last: int | None = None,
) -> int:
    """Send messages again, with the same ids; return how many.

    With `delivery` that one, with times all that were created from `first` to `last`, without any those that have
    failed, at most 5000, oldest first. Those that wait are sent now. Raises NOT_FOUND, and INVALID if the endpoint is
    disabled, or the times select more than 5000.
    """
    stored = endpoints.get_owned(tx, account, endpoint)
    if not stored.enabled:
        raise Problem(Kind.INVALID, "This webhook is disabled. Enable it first.", field="enabled")
    selected: list[ColumnElement[bool]] = []
    if delivery is not None:
        selected = [_c.id == delivery]
    elif first is None and last is None:
        selected = [_c.state == "failed"]
    else:
        selected += [] if first is None else [_c.created >= first]
        selected += [] if last is None else [_c.created <= last]
    owned = _is_for(account, endpoint)
    is_limited = not (first is None and last is None)
    oldest = select(_c.id).where(*owned, *selected).order_by(_c.id).limit(MAX_REPLAYED + is_limited)
    ids = tx.execute(oldest).scalars().all()
    if len(ids) > MAX_REPLAYED:
        message = f"These times select more than {MAX_REPLAYED} messages. Replay a shorter period."
        raise Problem(Kind.INVALID, message, field="since")
    fresh: dict[str, Any] = {"state": "waiting", "attempts": 0, "due": clock.now()}
    count = tx.execute(update(webhook_messages).where(*owned, _c.id.in_(ids)).values(fresh)).rowcount
    if delivery is not None and not count:
        raise not_found("delivery")
    if count:
        audit_log.record(tx, account, "webhook.replayed", endpoint, label=stored.title, after={"messages": count})
    return count


def send_test(tx: Connection, account: int, endpoint: int) -> Delivery:
    """Send a test to an endpoint, also to a disabled one; return its message. Raises NOT_FOUND."""
    title = endpoints.get_owned(tx, account, endpoint).title
    message = outbox.enqueue_test(tx, account, endpoint)
    audit_log.record(tx, account, "webhook.tested", endpoint, label=title)
    return crud.get_owned(tx, webhook_messages, account, message, Delivery)


def delete_expired(tx: Connection, now: int, *, visits_days: int) -> bool:
    """Delete messages older than 30 days, and visits older than `visits_days`. Return whether more can remain."""
    oldest_visit = now - min(visits_days * 86_400, KEPT_SECONDS)
    is_full = _delete_oldest(tx, _c.created < now - KEPT_SECONDS)
    return _delete_oldest(tx, _c.created < oldest_visit, IS_OF_VISITS) or is_full


def _delete_oldest(tx: Connection, *conditions: ColumnElement[bool] | TextClause) -> bool:
    """Delete up to 5000 messages. Return whether there were so many."""
    oldest = select(_c.id).where(*conditions).order_by(_c.created).limit(_MAX_DELETED)
    return tx.execute(delete(webhook_messages).where(_c.id.in_(oldest))).rowcount == _MAX_DELETED


def _is_for(account: int, endpoint: int) -> tuple[ColumnElement[bool], ...]:
    return (_c.account == account, _c.endpoint == endpoint)
