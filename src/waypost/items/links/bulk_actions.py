"""Actions on many links of the dashboard's list. Each tells which links it could not change, and how to undo it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, get_args

from sqlalchemy import Connection, select

from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db import change_log, crud
from waypost.db.schema import channel_items, links
from waypost.items.links import bulk, bulk_undo, ops, utm
from waypost.items.links.bulk_undo import Replaced
from waypost.items.links.columns import Fields, Status
from waypost.urls import hostnames

_KINDS = ("status", "campaign", "channel", "unchannel", "domain", "utm", "expiry", "delete", "export")
_NUMBERED = ("campaign", "channel", "unchannel", "utm")
_STATUSES: tuple[Status, ...] = get_args(Status)
_MAX_DIGITS = 15


@dataclass(frozen=True)
class Action:
    """An action such as `status-disabled`, `campaign-0` (no campaign), `channel-7`, `domain-go.example.com`."""

    kind: str
    target: str

    @property
    def item(self) -> int:
        """The id of the campaign, channel or template; 0 for none."""
        return int(self.target)

    @property
    def asks(self) -> bool:
        """The action needs a confirmation or a further value, also for selected links."""
        return self.kind in ("delete", "expiry", "domain")

    def __str__(self) -> str:
        return f"{self.kind}-{self.target}" if self.target else self.kind


@dataclass(frozen=True)
class Outcome:
    """The result of an action. `kept` has the alias and the reason of each link that it could not change.

    `stopped` says why it ended before the last links. `skipped` is the number of links that were deleted already.
    """

    changed: int
    kept: Sequence[tuple[str, str]] = ()
    undo: str = ""
    stopped: str = ""
    skipped: int = 0


_Change = tuple[int, Sequence[tuple[str, str]], Replaced]
"""The number of changed links, the others as in Outcome, and the values for undo."""


def parse(text: str) -> Action | None:
    """Return the action with this name, None for an unknown one."""
    kind, _, target = text.partition("-")
    is_number = target.isdecimal() and target.isascii() and len(target) <= _MAX_DIGITS
    is_known = kind in _KINDS and (kind not in _NUMBERED or is_number) and (kind != "status" or target in _STATUSES)
    return Action(kind, target) if is_known else None


def run(
    tx: Connection,
    account: int,
    ids: Sequence[int],
    action: Action,
    *,
    settings: Settings,
    expiry: int | None = None,
    batch: str = "",
) -> Outcome:
    """Run an action, in one transaction. `batch` is that of the links which it has changed before.

    Links that were deleted already are skipped. Raises INVALID for an unknown target.
    """
    selected = crud.existing(tx, links, account, ids, lock=True)
    skipped = len(set(ids)) - len(selected)
    if not selected:
        return Outcome(0, undo=batch, skipped=skipped)
    match action.kind:
        case "status":
            outcome = _set_column(tx, account, selected, "status", action.target, bulk.set_status)
        case "campaign":
            outcome = _set_column(tx, account, selected, "campaign", action.item or None, bulk.set_campaign)
        case "expiry":
            outcome = _set_column(tx, account, selected, "expiry", expiry, bulk.set_expiry)
        case "channel" | "unchannel":
            outcome = _set_channel(tx, account, selected, action.item, is_added=action.kind == "channel")
        case "domain":
            outcome = _set_domain(tx, account, selected, action.target, settings)
        case _:
            outcome = _set_parameters(tx, account, selected, action.item, settings)
    changed, kept, replaced = outcome
    return Outcome(changed, kept, bulk_undo.store(tx, account, replaced, batch), skipped=skipped)


def _set_column(
    tx: Connection, account: int, ids: Sequence[int], name: str, value: Any, change: Callable[..., None]
) -> _Change:
    column = links.c[name]
    query = select(links.c.id, column).where(links.c.account == account, links.c.id.in_(ids)).order_by(links.c.id)
    before = tx.execute(query.with_for_update()).all()
    change(tx, account, ids, value)
    rows = [[link, old] for link, old in before if old != value]
    return len(ids), (), Replaced(name, value, rows)


def _set_channel(tx: Connection, account: int, ids: Sequence[int], channel: int, *, is_added: bool) -> _Change:
    c = channel_items.c
    query = select(c.link).where(c.account == account, c.channel == channel, c.link.in_(ids))
    members = set(tx.execute(query).scalars())
    change = bulk.add_channel if is_added else bulk.remove_channel
    change(tx, account, ids, channel)
    rows = [[link] for link in ids if (link in members) is not is_added]
    kind = "add" if is_added else "remove"
    return len(ids), (), Replaced(kind, channel, rows)


def _set_domain(tx: Connection, account: int, ids: Sequence[int], domain: str, settings: Settings) -> _Change:
    """Move links to a host with their aliases. A link stays where its alias is taken or not allowed there."""
    hostnames.resolve_domain(tx, account, domain, settings=settings)
    moved: dict[int, ops.Address] = {}
    kept = []
    selected = ops.get_owned_many(tx, account, ids)
    for link, result in _change_each(tx, account, selected, lambda _: {"domain": domain}, settings):
        if isinstance(result, Problem):
            kept.append((link.alias, result.message))
        else:
            moved[link.id] = result
    rows = [
        [link.id, link.host, link.alias, moved[link.id].host, moved[link.id].alias]
        for link in selected
        if link.id in moved and moved[link.id].host != link.host
    ]
    return len(moved), kept, Replaced("address", domain, rows)


def _set_parameters(tx: Connection, account: int, ids: Sequence[int], template: int, settings: Settings) -> _Change:
    """Write the parameters of a UTM template into the destinations."""
    values = utm.template(tx, account, template).values
    kept, urls = [], dict[int, str]()
    changing = []
    for link in ops.get_owned_many(tx, account, ids):
        try:
            urls[link.id] = utm.apply(link.url, values)
        except Problem as problem:
            kept.append((link.alias, problem.message))
        else:
            changing += [link] if urls[link.id] != link.url else []
    rows = []
    for link, result in _change_each(tx, account, changing, lambda link: {"url": urls[link.id]}, settings):
        if isinstance(result, Problem):
            kept.append((link.alias, result.message))
        else:
            rows.append([link.id, link.url, urls[link.id]])
    return len(ids) - len(kept), kept, Replaced("url", template, rows)


def _change_each(
    tx: Connection,
    account: int,
    selected: Sequence[ops.Link],
    fields: Callable[[ops.Link], Fields],
    settings: Settings,
) -> Iterator[tuple[ops.Link, ops.Address | Problem]]:
    """Change links together, or each in a savepoint if one of them fails or if they move to another domain."""
    with change_log.in_one_batch(tx):
        values = [(link.id, fields(link)) for link in selected]
        addresses: Sequence[ops.Address] = ()
        if values and not any("domain" in each for _, each in values):
            with suppress(Problem), tx.begin_nested():
                addresses = bulk.change_each(tx, account, values, settings=settings)
        if len(addresses) == len(selected):
            yield from zip(selected, addresses, strict=True)
            return
        for link in selected:
            result: ops.Address | Problem
            try:
                with tx.begin_nested():
                    result = ops.change(tx, account, link.id, settings=settings, **fields(link))
            except Problem as problem:
                if problem.kind not in (Kind.INVALID, Kind.TAKEN):
                    raise
                result = problem
            yield link, result
