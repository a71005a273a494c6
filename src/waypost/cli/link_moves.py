"""The command `waypost account move-links`: links of one account become links of another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer
from sqlalchemy import Connection, select

from waypost.admin import link_moves
from waypost.cli import access, console
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db import crud
from waypost.db.schema import campaigns, links
from waypost.items.accounts.ops import Account
from waypost.items.links import ops
from waypost.items.links.account_moves import Fate, MoveRequest
from waypost.urls.short_urls import short_url

_COLUMNS = ("id", "shorturl", "clicks", "loses", "stays")


@dataclass(frozen=True)
class Selection:
    """Links of the account `source`: those with these names, of a campaign, or all. The rest is for MoveRequest."""

    source: str
    target: str
    shorts: Sequence[str]
    campaign: str | None
    domain: str | None
    with_domains: bool


def move_links(selection: Selection, *, dry_run: bool, json: bool, yes: bool) -> None:
    """Plan the move, show it or ask for it, and run it."""
    settings = access.settings()
    with access.database_and_account(selection.source) as (database, old):
        new = access.find_account(database, selection.target)
        request = MoveRequest(old.id, new.id, selection.domain, selection.with_domains)
        ids = database.read(lambda tx: _selected(tx, old, new, selection, settings))
        planned = link_moves.plan(database, request, ids, new, settings=settings)
        if dry_run:
            rows = [_row(settings, fate) for fate in planned]
            console.print_rows(rows, _COLUMNS, json=json)
            return
        moving = [fate for fate in planned if not fate.refusal]
        if moving:
            count = console.counted(len(moving), "links")
            losing = sum(bool(fate.losses) for fate in moving)
            loss = f", of which {losing} lose what --dry-run shows" if losing else ""
            console.confirm("Move", f"{count} from {old.username} to {new.username}{loss}", yes=yes)
        fates = link_moves.run(database, request, planned, settings=settings)
    moved = [fate for fate in fates if not fate.refusal]
    refused = [fate for fate in [*fates, *planned] if fate.refusal]
    if json:
        console.as_json([_row(settings, fate) for fate in [*moved, *refused]])
    else:
        count = console.counted(len(moved), "links")
        console.stdout.print(f"{count} moved from {old.username} to {new.username}.")
    for fate in refused:
        console.complain(f"{_url(settings, fate)} stays: {fate.refusal}", color="yellow")
    if refused:
        raise typer.Exit(1)


def _selected(tx: Connection, old: Account, new: Account, selection: Selection, settings: Settings) -> list[int]:
    """Return the ids of the selected links of the old account. Raises NOT_FOUND if there are none."""
    if selection.shorts:
        domain = selection.domain
        return sorted({link for short in selection.shorts if (link := _find(tx, old, new, short, domain, settings))})
    query, of = select(links.c.id).where(links.c.account == old.id).order_by(links.c.id), old.username
    if (campaign := selection.campaign) is not None:
        item = crud.find_by_name(tx, campaigns, campaign, campaigns.c.account == old.id)
        if item is None:
            raise Problem(Kind.NOT_FOUND, f"{old.username} has no campaign {campaign}.")
        query, of = query.where(links.c.campaign == item), f"The campaign {campaign} of {old.username}"
    ids = list(tx.execute(query).scalars())
    if not ids:
        raise Problem(Kind.NOT_FOUND, f"{of} has no links.")
    return ids


def _find(tx: Connection, old: Account, new: Account, short: str, domain: str | None, settings: Settings) -> int:
    """Return the id of a link of the old account; 0 for one that has moved already, also to the domain."""
    path = short.rpartition("://")[2].partition("/")[2] or short
    places = [(old, short), (new, short), *([] if domain is None else [(new, f"{domain.rstrip('/')}/{path}")])]
    for account, name in places:
        try:
            link = ops.find_by_alias(tx, account.id, name, settings=settings)
        except Problem as problem:
            if problem.kind is not Kind.NOT_FOUND:
                raise
        else:
            return link if account is old else 0
    raise Problem(Kind.NOT_FOUND, f"{old.username} has no link {short}.")


def _row(settings: Settings, fate: Fate) -> dict[str, Any]:
    return {
        "id": fate.id,
        "shorturl": _url(settings, fate),
        "clicks": fate.clicks,
        "loses": ", ".join(fate.losses),
        "stays": fate.refusal,
    }


def _url(settings: Settings, fate: Fate) -> str:
    return short_url(settings.base, fate.host, fate.scheme, fate.alias)
