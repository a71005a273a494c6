"""Links that an administrator moves to another account: they keep their ids, addresses, settings and statistics.

They lose what belongs to the old account: campaign, channels, pixels, splash page and overlay. The answers that their
overlay has collected, and the record of their import, stay behind without them. Shared statistics move along.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from waypost.clicks import moves
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db import account_rows, audit_log, change_log, crud, moved_items, page_counters, postgres
from waypost.db.schema import (
    aliases,
    campaigns,
    channel_items,
    channels,
    domains,
    import_plans,
    link_checks,
    link_pixels,
    links,
    overlays,
    pixels,
    shares,
    splashes,
    submissions,
)
from waypost.items.links import ops
from waypost.urls import alias_namespace, alias_rules, hostnames

T = TypeVar("T")
_AT_ONCE = 500
_c = links.c
_LISTED = select(
    *(_c[name] for name in ("id", "host", "alias", "url", "clicks")),
    domains.c.scheme,
    domains.c.account.label("domain_owner"),
).select_from(links.outerjoin(domains, domains.c.host == _c.host))
_SET_ACCOUNT = (
    update(aliases)
    .where(aliases.c.host == bindparam("of_host"), aliases.c.alias == bindparam("of_alias"))
    .values(account=bindparam("target"))
)


def _names(table: Table, column: ColumnElement[Any], *, of: Table | None = None) -> Select[int, str]:
    """Select links and the names of rows that they refer to in a column, which can be one of another table."""
    query = select(_c.id, table.c.name)
    if of is not None:
        query = query.join(of, and_(of.c.link == _c.id, of.c.account == _c.account))
    return query.join(table, and_(table.c.id == column, table.c.account == _c.account))


_LOST: Mapping[str, Select[int, str]] = {
    "campaign": _names(campaigns, _c.campaign),
    "splash page": _names(splashes, _c.splash),
    "overlay": _names(overlays, _c.overlay),
    "channel": _names(channels, channel_items.c.channel, of=channel_items),
    "pixel": _names(pixels, link_pixels.c.pixel, of=link_pixels),
}
"""The names of what a link loses, by kind."""


@dataclass(frozen=True)
class MoveRequest:
    """From which account to which one, and what happens to links on a domain that the new account does not have.

    They move to the domain `domain`, or together `with_domains` that have no other items, or they stay.
    """

    source: int
    target: int
    domain: str | None = None
    with_domains: bool = False


@dataclass(frozen=True)
class Fate:
    """A link, what it loses, such as `pixel "Ads"`, and the reason why it stays, "" for one that moves.

    `new_domain` is that to which it moves, `takes_domain` whether its domain moves with it.
    """

    id: int
    host: str
    alias: str
    scheme: str | None
    clicks: int
    losses: Sequence[str] = ()
    refusal: str = ""
    new_domain: str | None = None
    takes_domain: bool = False


def fates(tx: Connection, request: MoveRequest, ids: Sequence[int], *, settings: Settings) -> list[Fate]:
    """Return the fate of each of these links of the old account, by id. Raises INVALID on `domain`."""
    if request.domain is not None:
        hostnames.resolve_domain(tx, request.target, request.domain, settings=settings)
    rows: list[Any] = []
    losses: dict[int, list[str]] = defaultdict(list)
    for part in _parts(ids):
        are_selected = (_c.account == request.source, _c.id.in_(part))
        rows += tx.execute(_LISTED.where(*are_selected)).all()
        for kind, names in _LOST.items():
            for link, name in tx.execute(names.where(*are_selected).order_by(_c.id)):
                losses[link].append(f'{kind} "{name}"')
    known = _Known(tx, request, settings, _shared_domains(tx, request, rows), set())
    return [_fate(known, row, losses[row.id]) for row in sorted(rows, key=lambda row: int(row.id))]


@dataclass(frozen=True)
class _Known:
    """The facts about each link: domains that cannot move, with the reason, and addresses that other links get."""

    tx: Connection
    request: MoveRequest
    settings: Settings
    shared: Mapping[str, str]
    claimed: set[tuple[str, str]]


def _fate(known: _Known, row: Any, losses: Sequence[str]) -> Fate:
    request, shared = known.request, known.shared
    fate = {"id": row.id, "host": row.host, "alias": row.alias, "scheme": row.scheme, "clicks": row.clicks}
    if row.host == alias_namespace.OWN or row.domain_owner == request.target:
        return Fate(**fate, losses=losses)
    if request.with_domains:
        return Fate(**fate, losses=losses, refusal=shared.get(row.host, ""), takes_domain=row.host not in shared)
    if request.domain is None:
        return Fate(**fate, losses=losses, refusal=f"The new account does not have its domain {row.host}.")
    return Fate(**fate, losses=losses, refusal=_refusal(known, row), new_domain=request.domain)


def _shared_domains(tx: Connection, request: MoveRequest, rows: Sequence[Any]) -> Mapping[str, str]:
    """Return the domains that cannot move together with these links, with the reason."""
    if not request.with_domains:
        return {}
    a = aliases.c
    selected: dict[str, int] = defaultdict(int)
    reasons: dict[str, str] = {}
    for row in rows:
        selected[row.host] += 1
        if row.domain_owner != request.source:
            reasons[row.host] = f"Its domain {row.host} does not belong to the old account."
    used = select(a.host, func.count().label("n")).where(
        a.account == request.source, a.kind.is_not(None), a.host.in_([host for host in selected if host])
    )
    for host, n in tx.execute(used.group_by(a.host)):
        if n > selected[host]:
            reasons[host] = f"Its domain {host} has other items of the old account."
    return reasons


def _refusal(known: _Known, row: Any) -> str:
    """Return why a link cannot move to the domain; "" if it can, and then no other link gets the address."""
    tx, request = known.tx, known.request
    try:
        host = hostnames.resolve_domain(tx, request.target, str(request.domain), settings=known.settings)
        alias = alias_namespace.canonical(tx, host, alias_rules.check(row.alias, host=host, field="alias"))
        alias_namespace.require_free(tx, request.target, host=host, alias=alias)
        hostnames.refuse_own(tx, row.url, field="domain", settings=known.settings)
    except Problem as problem:
        return problem.message
    if (host, alias) in known.claimed:
        return "Another of these links gets that alias."
    known.claimed.add((host, alias))
    return ""


def move(tx: Connection, request: MoveRequest, ids: Sequence[int], *, settings: Settings) -> list[Fate]:
    """Move those of the links that can move, with their statistics. Return the fates of all that still exist.

    Clicks are not counted until the commit. Raises INVALID above the limit of items of the new account, and while an
    import of the old one is applied or undone; NOT_FOUND if an account was deleted.
    """
    postgres.disable_timeouts(tx)
    moved_items.lock(tx)
    for account in sorted((request.source, request.target)):
        account_rows.lock(tx, account)
    _require_no_import(tx, request.source)
    rows = {row["id"]: row for part in _parts(sorted(ids)) for row in _locked(tx, links, _c.id, request.source, part)}
    known = fates(tx, request, list(rows), settings=settings)
    moving = [fate for fate in known if not fate.refusal]
    for part in _parts(moving):
        _move_rows(tx, request, [dict(rows[fate.id]) for fate in part])
        moves.move(tx, "link", [fate.id for fate in part], source=request.source, target=request.target)
    for fate in moving:
        if fate.new_domain is not None:
            ops.change(tx, request.target, fate.id, settings=settings, domain=fate.new_domain)
            # The owner of the former domain can use the alias that ends there.
            _set_account(tx, [(fate.host, fate.alias)], request.source)
    return known


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield a few hundred at a time, because the number of parameters of a statement is limited."""
    return (items[start : start + _AT_ONCE] for start in range(0, len(items), _AT_ONCE))


def _locked(
    tx: Connection, table: Table, link: ColumnElement[int], account: int, ids: Sequence[int]
) -> Sequence[RowMapping]:
    """Return the rows of these links in a table, which nothing else changes until the commit."""
    query = select(table).where(table.c.account == account, link.in_(ids)).order_by(*table.primary_key.columns)
    return tx.execute(query.with_for_update()).mappings().all()


def _set_account(tx: Connection, named: Sequence[tuple[str, str]], account: int) -> None:
    """Set the account of aliases, (host, alias)."""
    values = [{"of_host": host, "of_alias": alias, "target": account} for host, alias in sorted(named)]
    tx.execute(_SET_ACCOUNT, values)


def _require_no_import(tx: Connection, account: int) -> None:
    """Lock the account's imports. Raises INVALID for one in work, which knows items and statistics as its own."""
    p = import_plans.c
    states = tx.execute(select(p.state).where(p.account == account).order_by(p.id).with_for_update()).scalars().all()
    if {"applying", "undoing"} & set(states):
        message = "An import of the old account is not finished. Wait for it, or finish or undo it first."
        raise Problem(Kind.INVALID, message)


def _move_rows(tx: Connection, request: MoveRequest, rows: Sequence[Mapping[str, Any]]) -> None:
    ids = [row["id"] for row in rows]
    parts = {table: _locked(tx, table, table.c.link, request.source, ids) for table in (shares, link_checks)}
    s = submissions.c
    tx.execute(update(submissions).where(s.account == request.source, s.link.in_(ids)).values(link=None))
    # On PostgreSQL the account is a part of the key, and rows that refer to a link have its account.
    tx.execute(delete(links).where(_c.account == request.source, _c.id.in_(ids)))
    tx.execute(insert(links), [_for_account(row, request.target) for row in rows])
    for table, kept in parts.items():
        if kept:
            tx.execute(insert(table), [{**row, "account": request.target} for row in kept])
    _set_account(tx, [(row["host"], row["alias"]) for row in rows], request.target)
    with change_log.in_one_batch(tx), page_counters.in_one_batch(tx):
        for row in rows:
            change_log.record(tx, row["host"], row["alias"])
            page_counters.increment(tx, request.source, links.name, row["id"], -1)
            page_counters.increment(tx, request.target, links.name, row["id"], 1)
            audit_log.item_deleted(tx, links, request.source, row["id"], row)
            audit_log.item_created(tx, links, request.target, row["id"], row)
    crud.check_item_limit(tx, request.target, links, crud.item_limit(tx, request.target))


def _for_account(row: Mapping[str, Any], account: int) -> dict[str, Any]:
    """Return the row of a link for another account, without references to items of the old one."""
    values = {**row, "account": account, "campaign": None}
    for name in ("splash", "overlay"):
        if values[name] is not None:
            values |= {name: None, "type": "direct"}
    return values
