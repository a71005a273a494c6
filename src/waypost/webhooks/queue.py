"""The queue of messages: which ones are due, their leases, and the results of attempts."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    Connection,
    Select,
    Subquery,
    bindparam,
    exists,
    false,
    func,
    insert,
    or_,
    select,
    text,
    true,
    tuple_,
    union,
    update,
)

from waypost.core.languages import SOURCE_LANGUAGE
from waypost.db import audit_log, due_times
from waypost.db.schema import accounts, webhook_attempts, webhook_endpoints, webhook_messages
from waypost.webhooks import catalog, endpoints, signature
from waypost.webhooks.formats import Target, parts

LEASE_SECONDS = 60
"""A message is sent again after this time without a result; longer than an attempt takes."""
RETRY_SECONDS = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""The pauses after failed attempts, plus or minus 20 %. The attempt after the last one is the last."""
DISABLE_SECONDS = 5 * 86_400
"""An endpoint that fails for so long is disabled."""
WARN_SECONDS = 3600
"""The owner of an endpoint that fails for so long gets an e-mail."""
_JITTER = 5
"""The part of a pause that is added or taken at most, as its reciprocal."""
_MAX_RETRY_AFTER = 86_400
_GONE = 410
_MAX_DUE = 500
_MAX_PAUSE = 2 * _MAX_RETRY_AFTER
"""No message waits longer."""
WINDOW = 250
"""Messages that one search reads: a queue can have a million."""
Position = tuple[int, int]
"""A place in the queue: the time and the endpoint of a message."""
START: Position = (-1, 0)
_MAX_COUNT = 100_000
_IS_WAITING = text("webhook_messages.state = 'waiting'")
"""As in the index, which databases may not use for a parameter."""
_m, _e, _a = webhook_messages.c, webhook_endpoints.c, webhook_attempts.c
Reason = Literal["warned", "failing", "gone"]


@dataclass(frozen=True)
class Due:
    """A message whose time has come. `is_failing`: the last attempt for its endpoint has failed."""

    id: int
    endpoint: int
    event: str
    is_failing: bool


class Search(NamedTuple):
    """Messages that are due, and the position from which to search next: `START` after the last ones.

    `refused`: the ids of due messages for endpoints that are disabled.
    """

    messages: Sequence[Due]
    next: Position
    refused: Sequence[int]


@dataclass(frozen=True)
class Claim:
    """An attempt that the caller must make within the lease. `number` counts from 1."""

    account: int
    endpoint: int
    message: int
    attempt: int
    number: int
    event: str
    target: Target
    secrets: tuple[str, ...]
    is_failing: bool
    uid: str
    body: str


@dataclass(frozen=True)
class Result:
    """The end of an attempt: the status, 0 without an answer; then `error` says why. `retry_after` is in seconds."""

    status: int
    milliseconds: int
    error: str = ""
    answer: str = ""
    retry_after: int = 0

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True)
class Notice:
    """Something that the owner of an endpoint must know: it fails, or it was disabled."""

    account: int
    endpoint: int
    title: str
    url: str
    reason: Reason


def find_due(
    tx: Connection, now: int, *, busy: Sequence[int], per_endpoint: int, after: Position = START, window: int = WINDOW
) -> Search:
    """Return messages that are due (index webhook_messages_due), at most `per_endpoint` for each that is not busy.

    Reads `window` messages from a position on. If there are more, also the newest ones, so that a long queue of one
    endpoint delays no other. Those for endpoints that work come first. A disabled endpoint gets tests only.
    """
    values = {"now": now, "due": after[0], "endpoint": after[1], "busy": busy, "per_endpoint": per_endpoint}
    last = tx.execute(_LAST_OF_WINDOW, {**values, "last": window - 1}).first()
    query = _FIRST_OF_ALL if last is None and after == START else _FIRST_OF_WINDOW
    rows = tx.execute(query, {**values, "window": window})
    messages = [Due(row.id, row.endpoint, row.event, bool(row.is_failing)) for row in rows]
    refused = tx.execute(_REFUSED, {**values, "window": window}).scalars().all()
    return Search(messages, START if last is None else (last.due, last.endpoint), refused)


def _first_of_each(read: Subquery) -> Select[Any]:
    """Return the query for the first messages of each endpoint among those that were read."""
    c = read.c
    rank = func.row_number().over(partition_by=c.endpoint, order_by=(c.due, c.id)).label("rank")
    ranked = (
        select(c.id, c.endpoint, c.event, c.due, _e.failing.is_not(None).label("is_failing"), rank)
        .join(webhook_endpoints, (_e.id == c.endpoint) & (_e.account == c.account))
        .join(accounts, accounts.c.id == c.account)
        .where(c.endpoint.not_in(bindparam("busy", expanding=True)), accounts.c.suspended == false())
        .where(or_(_e.enabled == true(), c.event == catalog.TEST))
        .subquery()
    )
    r = ranked.c
    query = select(r.id, r.endpoint, r.event, r.is_failing).where(r.rank <= bindparam("per_endpoint"))
    return query.order_by(r.is_failing, r.due, r.id).limit(_MAX_DUE)


_IS_DUE = (_IS_WAITING, _m.due <= bindparam("now"))
_IS_AHEAD = (*_IS_DUE, tuple_(_m.due, _m.endpoint) > tuple_(bindparam("due"), bindparam("endpoint")))
_LAST_OF_WINDOW = (
    select(_m.due, _m.endpoint).where(*_IS_AHEAD).order_by(_m.due, _m.endpoint).limit(1).offset(bindparam("last"))
)
_MESSAGES = select(_m.id, _m.account, _m.endpoint, _m.event, _m.due)
_WINDOW = _MESSAGES.where(*_IS_AHEAD).order_by(_m.due, _m.endpoint).limit(bindparam("window")).subquery()
_NEWEST = _MESSAGES.where(*_IS_DUE).order_by(_m.due.desc(), _m.endpoint.desc()).limit(bindparam("window")).subquery()
_REFUSED = (
    select(_WINDOW.c.id)
    .join(webhook_endpoints, (_e.id == _WINDOW.c.endpoint) & (_e.account == _WINDOW.c.account))
    .where(_e.enabled == false(), _WINDOW.c.event != catalog.TEST)
)
_FIRST_OF_ALL = _first_of_each(_WINDOW)
_FIRST_OF_WINDOW = _first_of_each(union(select(_WINDOW), select(_NEWEST)).subquery())


def fail_refused(tx: Connection, ids: Sequence[int]) -> None:
    """Let those of the messages fail whose endpoint is still disabled. They can be sent when it is enabled."""
    is_refused = (_m.id.in_(ids), _m.state == "waiting", ~_IS_ACCEPTED)
    tx.execute(update(webhook_messages).where(*is_refused).values(state="failed"))


_IS_ACCEPTED = or_(
    _m.event == catalog.TEST,
    exists().where(_e.id == _m.endpoint, _e.account == _m.account, _e.enabled == true()),
)
"""A message can be sent: a disabled endpoint gets tests only."""


def count_due(tx: Connection, now: int) -> int:
    """Return how many messages are due, at most 100,000 (index webhook_messages_due)."""
    query = select(_m.id).join(accounts, accounts.c.id == _m.account).where(accounts.c.suspended == false())
    due = query.where(_IS_WAITING, _m.due <= now).limit(_MAX_COUNT).subquery()
    return tx.execute(select(func.count()).select_from(due)).scalar_one()


def has_impossible(tx: Connection) -> bool:
    """Return whether `correct_impossible` has something to do (index webhook_messages_due)."""
    return due_times.has_impossible(tx, _m.due, _MAX_PAUSE, _IS_WAITING)


def correct_impossible(tx: Connection) -> None:
    """Let messages be due whose time is of a clock that was ahead."""
    due_times.correct(tx, _m.due, _MAX_PAUSE, _IS_WAITING)


def claim(tx: Connection, now: int, ids: Sequence[int]) -> Sequence[Claim]:
    """Lease those of the messages that are still due, and store an attempt of each. Another process gets the others."""
    is_due = (_m.id.in_(ids), _m.state == "waiting", _m.due <= now, _IS_ACCEPTED)
    lease = update(webhook_messages).where(*is_due).values(due=now + LEASE_SECONDS, attempts=_m.attempts + 1)
    columns = (_m.id, _m.account, _m.endpoint, _m.attempts, _m.event, _m.uid, _m.body, _m.created)
    rows = tx.execute(lease.returning(*columns)).all()
    if not rows:
        return []
    new = [{"account": row.account, "message": row.id, "at": now, "status": 0} for row in rows]
    stored = insert(webhook_attempts).returning(_a.id, sort_by_parameter_order=True)
    attempts = tx.execute(stored, new).scalars().all()
    targets = _targets(tx, {row.endpoint for row in rows}, now)
    bodies = {row.id: _first_part(tx, row, targets[row.endpoint][0], now) for row in rows}
    return [
        Claim(
            row.account,
            row.endpoint,
            row.id,
            attempt,
            row.attempts,
            row.event,
            *targets[row.endpoint],
            uid=row.uid,
            body=bodies[row.id],
        )
        for row, attempt in zip(rows, attempts, strict=True)
    ]


def _first_part(tx: Connection, row: Any, target: Target, now: int) -> str:
    """Return what one request of a message takes; the rest becomes messages of their own, which are due now.

    Messages with more are from nodes of an older version, which can run during an upgrade.
    """
    first, *others = parts(target.format, row.body)
    if others:
        tx.execute(update(webhook_messages).where(_m.id == row.id, _m.account == row.account).values(body=first))
        new = {"account": row.account, "endpoint": row.endpoint, "event": row.event, "state": "waiting"}
        same = {**new, "attempts": 0, "due": now, "created": row.created}
        tx.execute(insert(webhook_messages), [{**same, "uid": signature.new_id(), "body": body} for body in others])
    return first


def _targets(tx: Connection, ids: set[int], now: int) -> Mapping[int, tuple[Target, tuple[str, ...], bool]]:
    """Return where messages go, the valid secrets, the newest first, and whether the last attempt failed."""
    columns = (_e.id, _e.url, _e.format, _e.site, _e.credential, _e.secret, _e.oldsecret, _e.oldsecretend, _e.failing)
    query = select(*columns, accounts.c.language).join(accounts, accounts.c.id == _e.account)
    targets = {}
    for row in tx.execute(query.where(_e.id.in_(ids))):
        old = (row.oldsecret,) if row.oldsecret and row.oldsecretend > now else ()
        target = Target(row.url, row.format, row.site, row.credential, row.language or SOURCE_LANGUAGE)
        targets[row.id] = (target, (row.secret, *old), row.failing is not None)
    return targets


def record(tx: Connection, claimed: Claim, result: Result, now: int) -> Notice | None:
    """Store the result of an attempt. Return the notice for the owner, if there is one."""
    ended = {
        "status": result.status,
        "milliseconds": result.milliseconds,
        "error": result.error,
        "answer": result.answer,
    }
    owned = (_e.id == claimed.endpoint, _e.account == claimed.account)
    endpoint = tx.execute(select(webhook_endpoints).where(*owned).with_for_update()).first()
    if endpoint is None:
        return None
    tx.execute(update(webhook_attempts).where(_a.id == claimed.attempt, _a.account == claimed.account).values(ended))
    if result.is_success:
        _update_message(tx, claimed, {"state": "delivered"})
        if endpoint.failing is not None and claimed.event != catalog.TEST:
            tx.execute(update(webhook_endpoints).where(*owned).values(failing=None, warned=None))
        return None
    _update_message(tx, claimed, _after_failure(claimed, result, now))
    return None if claimed.event == catalog.TEST else _note_failure(tx, endpoint, result, now)


def _update_message(tx: Connection, claimed: Claim, values: Mapping[str, Any]) -> None:
    """Update the message, unless another attempt of it has begun or it was reset; a success always."""
    is_same = () if "due" not in values else (_m.attempts == claimed.number, _m.state == "waiting")
    owned = (_m.id == claimed.message, _m.account == claimed.account)
    tx.execute(update(webhook_messages).where(*owned, *is_same).values(values))


def _after_failure(claimed: Claim, result: Result, now: int) -> Mapping[str, Any]:
    """Return the next attempt, or the end: after the last one, after 410, and of a test, which is sent once."""
    is_last = claimed.number > len(RETRY_SECONDS) or result.status == _GONE or claimed.event == catalog.TEST
    if is_last:
        return {"state": "failed", "due": now}
    pause = RETRY_SECONDS[claimed.number - 1]
    jitter = pause // _JITTER
    due = now + pause - jitter + secrets.randbelow(2 * jitter + 1)
    return {"due": max(due, now + min(result.retry_after, _MAX_RETRY_AFTER))}


def _note_failure(tx: Connection, endpoint: Any, result: Result, now: int) -> Notice | None:
    """Remember since when an endpoint fails; disable it if it is gone, or fails for too long."""
    since = endpoint.failing or now
    values: dict[str, Any] = {"failing": since}
    reason: Reason | None = None
    if endpoint.enabled and (result.status == _GONE or now - since >= DISABLE_SECONDS):
        reason = "gone" if result.status == _GONE else "failing"
        values |= {"enabled": False, "disabledreason": reason}
        endpoints.fail_waiting(tx, endpoint.account, endpoint.id)
        after = {"disabledreason": reason}
        audit_log.record(tx, endpoint.account, "webhook.disabled", endpoint.id, label=endpoint.title, after=after)
    elif endpoint.enabled and endpoint.warned is None and now - since >= WARN_SECONDS:
        reason, values["warned"] = "warned", now
    owned = (_e.id == endpoint.id, _e.account == endpoint.account)
    tx.execute(update(webhook_endpoints).where(*owned).values(values))
    return reason and Notice(endpoint.account, endpoint.id, endpoint.title, endpoint.url, reason)
