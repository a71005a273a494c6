"""Move links to another account, in batches: no other writer waits long, and clicks are counted in between.

The links of a domain that moves with them are one batch.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from sqlalchemy import Connection, Table

from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db import crud, page_counters
from waypost.db.database import Database
from waypost.db.schema import domains as domains_table
from waypost.db.schema import links
from waypost.items.accounts import deletion
from waypost.items.accounts.ops import Account
from waypost.items.domains import ops as domains
from waypost.items.links import account_moves
from waypost.items.links.account_moves import Fate, MoveRequest

_LINKS, _CLICKS = 100, 50_000
"""The most links of a batch, and their clicks, unless one link has more."""


def plan(
    database: Database, request: MoveRequest, ids: Sequence[int], target: Account, *, settings: Settings
) -> list[Fate]:
    """Return what `run` would do with these links of the old account. Raises INVALID if the account cannot get them."""

    def work(tx: Connection) -> list[Fate]:
        if request.source == request.target:
            raise Problem(Kind.INVALID, "The links belong to this account already.")
        if deletion.due_at(tx, target.id) is not None:
            raise Problem(Kind.INVALID, f"{target.username} is going to be deleted. Cancel that first.")
        fates = account_moves.fates(tx, request, ids, settings=settings)
        moving = [fate for fate in fates if not fate.refusal]
        _require_room(tx, target, links, len(moving))
        _require_room(tx, target, domains_table, len({fate.host for fate in moving if fate.takes_domain}))
        return fates

    return database.read(work)


def _require_room(tx: Connection, target: Account, table: Table, added: int) -> None:
    """Raise INVALID if the plan of the account does not allow so many more items."""
    limit, owned = crud.item_limit(tx, target.id), page_counters.total(tx, target.id, table.name)
    if added and limit is not None and owned + added > limit:
        counts = f"{limit} {crud.singular(table)}s: it has {owned} and would get {added} more"
        raise Problem(Kind.INVALID, f"The plan of {target.username} allows {counts}. Give it another plan first.")


def run(database: Database, request: MoveRequest, planned: Sequence[Fate], *, settings: Settings) -> list[Fate]:
    """Move the links of a plan. Return the fates of those that existed until then. Raises what a batch raises.

    Each batch is one transaction. If interrupted, run it again for the links that remain.
    """
    fates: list[Fate] = []
    for batch in _batches(planned):
        fates += database.write(partial(_move_batch, request=request, batch=batch, settings=settings))
    return fates


def _batches(planned: Sequence[Fate]) -> Iterator[Sequence[Fate]]:
    """Yield batches of links. All links of a domain that moves too are in one, because it belongs to one account."""
    moving = [fate for fate in planned if not fate.refusal]
    with_domain = sorted((fate for fate in moving if fate.takes_domain), key=lambda fate: fate.host)
    for _, same in groupby(with_domain, key=lambda fate: fate.host):
        yield list(same)
    batch: list[Fate] = []
    for fate in (fate for fate in moving if not fate.takes_domain):
        if batch and (len(batch) == _LINKS or sum(each.clicks for each in batch) + fate.clicks > _CLICKS):
            yield batch
            batch = []
        batch.append(fate)
    if batch:
        yield batch


def _move_batch(tx: Connection, *, request: MoveRequest, batch: Sequence[Fate], settings: Settings) -> list[Fate]:
    fates = account_moves.move(tx, request, [fate.id for fate in batch], settings=settings)
    for host in sorted({fate.host for fate in fates if fate.takes_domain and not fate.refusal}):
        domains.move(tx, host, request.target)
    return fates
