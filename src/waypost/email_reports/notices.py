"""Notices by e-mail in the database: items that wait, the kinds that an account gets, and unsubscription.

The first notice of a kind is sent at once; items of the day after it follow in one e-mail.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    ScalarSelect,
    case,
    delete,
    exists,
    false,
    func,
    insert,
    not_,
    or_,
    select,
    true,
    update,
)

from waypost.auth import people
from waypost.core import clock
from waypost.core.errors import Kind as ErrorKind
from waypost.core.errors import Problem, account_deleted
from waypost.db import audit_log
from waypost.db.audit_sequence import SequencedEvent
from waypost.db.database import upsert
from waypost.db.schema import account_notices, accounts, installation, notice_items
from waypost.db.signing import installation_signer, read_unverified

Kind = Literal["dead", "limit", "surge", "domain", "backup"]
KINDS: Sequence[Kind] = get_args(Kind)
FOR_ADMINISTRATORS: Kind = "backup"
_SURGE: Kind = "surge"
MAX_ITEMS = 1000
"""Items of one e-mail."""
PAUSE_SECONDS = 86_400
"""The time between two e-mails of a kind to an account."""
_WAIT_SECONDS = {"dead": 3600}
"""The time in which the first e-mail collects more: dead links are checked one after the other."""
_KEEP_SECONDS, _KEEP_SURGES_SECONDS = 7 * 86_400, 7200
"""Items that could not be sent for so long are deleted."""
_BEGUN: Mapping[str, Kind] = {"link.dead": "dead", "link.limit_near": "limit", "domain.failed": "domain"}
_OVER: Mapping[str, Kind] = {"link.alive": "dead", "domain.recovered": "domain"}
_PURPOSE = "unsubscribe notice"
_n, _s, _i = notice_items.c, account_notices.c, installation.c


@dataclass(frozen=True)
class Recipient:
    """The owner of an account. `language` is "" if none is selected."""

    account: int
    username: str
    email: str
    language: str
    timezone: str


@dataclass(frozen=True)
class Item:
    """The subject of a notice: the id of the link or domain, None for the account, and its values."""

    item: int | None
    content: Mapping[str, Any]


def follow(tx: Connection, events: Sequence[SequencedEvent]) -> None:
    """Store events that become notices, and remove those that are over before they were sent: a reader of the log."""
    for event in events:
        if event.account is None:
            continue
        if kind := _BEGUN.get(event.name):
            add(tx, event.account, kind, [Item(event.item, {**(event.after or {}), "label": event.label})])
        elif kind := _OVER.get(event.name):
            tx.execute(delete(notice_items).where(_n.account == event.account, _n.kind == kind, _n.item == event.item))


def add(tx: Connection, account: int, kind: Kind, items: Sequence[Item]) -> None:
    """Store items of a notice, which is sent soon."""
    rows = [
        {"account": account, "kind": kind, "item": each.item, "content": each.content, "created": clock.now()}
        for each in items
    ]
    if rows:
        tx.execute(insert(notice_items), rows)


def find_due(tx: Connection) -> Sequence[tuple[int, Kind]]:
    """Return the accounts and kinds whose time has come. Suspended accounts get nothing."""
    now, waiting = clock.now(), _waiting().c
    is_suspended = select(accounts.c.suspended).where(accounts.c.id == waiting.account)
    may_send = select(_is_pause_over(now)).where(_s.account == waiting.account, _s.kind == waiting.kind)
    own = (_n.account == waiting.account, _n.kind == waiting.kind)
    wait = case(_WAIT_SECONDS, value=waiting.kind, else_=0)
    # Only the first item is read, unless it is too new. Items more than a day ahead are of a clock that was wrong.
    has_ripe, has_sane = (_first(*own, _n.created <= time).is_not(None) for time in (now - wait, now + PAUSE_SECONDS))
    query = (
        select(waiting.account, waiting.kind)
        .where(is_suspended.scalar_subquery() == false(), func.coalesce(may_send.scalar_subquery(), true()))
        .where(or_(has_ripe, not_(has_sane)))
    )
    return [(row.account, row.kind) for row in tx.execute(query.order_by(waiting.account, waiting.kind)).all()]


def _waiting() -> CTE:
    """Return the accounts and kinds that have items.

    It goes from one to the next in the index notice_items_account_kind, so it takes the same time with any number of
    items of each.
    """
    first_items = notice_items.alias("first_items")
    own = select(first_items.c.account, first_items.c.kind)
    waiting = own.where(first_items.c.id == _first(_n.account > 0)).cte("waiting", recursive=True)
    same_account = _first(_n.account == waiting.c.account, _n.kind > waiting.c.kind)
    following = func.coalesce(same_account, _first(_n.account > waiting.c.account))
    return waiting.union_all(own.join(waiting, first_items.c.id == following))


def _first(*conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    """Return the id of an item with these conditions. Unlike EXISTS, it is no join, which could read all items."""
    return select(_n.id).where(*conditions).order_by(_n.account, _n.kind).limit(1).scalar_subquery()


def _is_pause_over(now: int) -> ColumnElement[bool]:
    """Return whether a kind can be sent again. A time more than a day ahead is of a clock that was wrong."""
    return or_(_s.sent <= now - PAUSE_SECONDS, _s.sent > now + PAUSE_SECONDS)


def take(tx: Connection, account: int, kind: Kind) -> Sequence[Item]:
    """Remove and return the items of a notice, at most 1000, and record that it is sent now. Others follow a day later.

    Nothing if another process has done so. If the account does not get this kind, all are removed and none returned.
    """
    now = clock.now()
    _require_row(tx, account, kind)
    own = (_s.account == account, _s.kind == kind, _is_pause_over(now))
    sent = case((_s.enabled == true(), now), else_=_s.sent)
    is_enabled = tx.execute(update(account_notices).where(*own).values(sent=sent).returning(_s.enabled)).scalar()
    if is_enabled is None:
        return ()
    owned = (_n.account == account, _n.kind == kind)
    if not is_enabled:
        tx.execute(delete(notice_items).where(*owned))
        return ()
    oldest = select(_n.id).where(*owned).order_by(_n.id).limit(MAX_ITEMS)
    taken = delete(notice_items).where(*owned, _n.id.in_(oldest)).returning(_n.id, _n.item, _n.content)
    return [Item(row.item, row.content) for row in sorted(tx.execute(taken).all(), key=lambda row: row.id)]


def _require_row(tx: Connection, account: int, kind: Kind) -> None:
    row = upsert(tx, account_notices).values(account=account, kind=kind, enabled=True, sent=0)
    tx.execute(row.on_conflict_do_nothing())


def has_old(tx: Connection) -> bool:
    """Return whether `delete_old` has something to do."""
    now, waiting = clock.now(), _waiting().c
    old_surge = _first(_n.account == waiting.account, _n.kind == _SURGE, _n.created <= now - _KEEP_SURGES_SECONDS)
    has_old_surge = exists(select(waiting.account).where(waiting.kind == _SURGE, old_surge.is_not(None)))
    return bool(tx.execute(select(or_(exists().where(_n.created <= now - _KEEP_SECONDS), has_old_surge))).scalar_one())


def delete_old(tx: Connection) -> None:
    """Delete items that could not be sent for a week, as without an SMTP server; numbers of clicks after two hours."""
    now, waiting = clock.now(), _waiting().c
    tx.execute(delete(notice_items).where(_n.created <= now - _KEEP_SECONDS))
    of_surges = _n.account.in_(select(waiting.account).where(waiting.kind == _SURGE))
    is_old = _n.created <= now - _KEEP_SURGES_SECONDS
    tx.execute(delete(notice_items).where(of_surges, _n.kind == _SURGE, is_old))


def recipient(tx: Connection, account: int) -> Recipient:
    """Return the owner of an account. Raises NOT_FOUND."""
    owner = people.owner_of(tx, account)
    if owner is None:
        raise account_deleted()
    return Recipient(account, owner.username, owner.email, owner.language, owner.timezone)


def offered(*, owner: bool) -> Sequence[Kind]:
    """Return the kinds that an account can get."""
    return [kind for kind in KINDS if owner or kind != FOR_ADMINISTRATORS]


def enabled(tx: Connection, account: int, *, owner: bool) -> list[Kind]:
    """Return the kinds that an account gets: all that it has not turned off."""
    query = select(_s.kind).where(_s.account == account, _s.enabled == false())
    off = set(tx.execute(query).scalars())
    return [kind for kind in offered(owner=owner) if kind not in off]


def choose(tx: Connection, account: int, kinds: Collection[str], *, owner: bool) -> None:
    """Set which kinds an account gets."""
    before = enabled(tx, account, owner=owner)
    after = [kind for kind in offered(owner=owner) if kind in kinds]
    if before == after:
        return
    for kind in offered(owner=owner):
        _require_row(tx, account, kind)
        own = (_s.account == account, _s.kind == kind)
        tx.execute(update(account_notices).where(*own).values(enabled=kind in after))
    name = tx.execute(select(accounts.c.username).where(accounts.c.id == account)).scalar_one()
    values = {"before": {"notices": before}, "after": {"notices": after}}
    audit_log.record(tx, account, "account.updated", account, label=name, **values)


def token(tx: Connection, to: Recipient, kind: Kind) -> str:
    """Return the token that unsubscribes the owner of an account from a kind."""
    return installation_signer(tx).sign(_PURPOSE, str(to.account), kind, bound=to.email)


def of_token(tx: Connection, text: str) -> tuple[Recipient, Kind]:
    """Return the recipient and the kind of a token. Raises INVALID for one that is not valid any more."""
    values = read_unverified(text)
    if len(values) == 2 and values[0].isdecimal() and len(values[0]) < 16 and values[1] in KINDS:
        account = int(values[0])
        if tx.execute(select(accounts.c.id).where(accounts.c.id == account)).first():
            to = recipient(tx, account)
            if installation_signer(tx).unsign(_PURPOSE, text, bound=to.email) is not None:
                return to, next(kind for kind in KINDS if kind == values[1])
    raise Problem(ErrorKind.INVALID, "This link has expired, or the account was deleted.")


def unsubscribe(tx: Connection, text: str) -> tuple[Recipient, Kind]:
    """Turn the kind of a token off, and return it with the recipient. Raises INVALID if it is not valid."""
    to, kind = of_token(tx, text)
    choose(tx, to.account, [each for each in enabled(tx, to.account, owner=True) if each != kind], owner=True)
    return to, kind


def advance(tx: Connection, name: str, to: int) -> bool:
    """Move a position of the installation forward. Return False if another process has moved it so far already."""
    tx.execute(upsert(tx, installation).values(name=name, value=b"0").on_conflict_do_nothing())
    stored = tx.execute(select(_i.value).where(_i.name == name).with_for_update()).scalar_one()
    if not is_behind(stored, to):
        return False
    tx.execute(update(installation).where(_i.name == name).values(value=str(to).encode()))
    return True


def is_behind_at(tx: Connection, name: str, to: int) -> bool:
    """Return whether `advance` would move a position of the installation."""
    return is_behind(tx.execute(select(_i.value).where(_i.name == name)).scalar(), to)


def is_behind(stored: bytes | None, to: int) -> bool:
    """Return whether a position can move to a time. One more than a day later is of a clock that was ahead."""
    return stored is None or not to <= int(bytes(stored)) <= to + PAUSE_SECONDS
