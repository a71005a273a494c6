"""The names under every host: who holds which, for links, files, QR codes, bio pages and campaign slugs.

A host is "" for the service's own, a branded domain's name, or ROTATORS for the slugs below `/r/`.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from waypost.db import change_log
from waypost.db.database import upsert
from waypost.db.schema import aliases
from waypost.errors import taken
from waypost.urls import alias_rules

OWN = ""
ROTATORS = "/r"
TAKEN = "That alias is taken. Please choose another one."


@dataclass(frozen=True)
class Holder:
    """What an alias leads to: a row of the table that `kind` names, and the account it belongs to."""

    account: int
    kind: str
    item: int


def pick(tx: Connection, host: str, wanted: str | None, *, field: str = "custom") -> str:
    """The wanted alias, checked, or a new one that is free at this moment. `claim` decides."""
    if wanted is not None:
        return alias_rules.check(wanted, field=field)
    length = 6
    while True:
        alias = alias_rules.generate(length)
        mine = (aliases.c.host == host, aliases.c.alias == alias)
        if tx.execute(select(aliases.c.alias).where(*mine)).first() is None:
            return alias
        length += 1


def claim(tx: Connection, account: int, kind: str, item: int, *, host: str, alias: str, field: str = "custom") -> None:
    """Make the alias lead to the item, in one statement. Raises TAKEN on `field` unless it is free for this account.

    Free is what nobody ever had, and what this account had and gave up (decision 19).
    """
    new = upsert(tx, aliases).values(host=host, alias=alias, account=account, kind=kind, item=item)
    given_up = (aliases.c.account == account) & aliases.c.kind.is_(None)
    claimed = new.on_conflict_do_update(
        index_elements=["host", "alias"], set_={"kind": kind, "item": item}, where=given_up
    ).returning(aliases.c.alias)
    if tx.execute(claimed).first() is None:
        raise taken(field, TAKEN)
    change_log.record(tx, host, alias)


def release(tx: Connection, *, host: str, alias: str) -> None:
    """Leave a tombstone: the alias leads nowhere, and stays with its account."""
    mine = (aliases.c.host == host, aliases.c.alias == alias)
    tx.execute(update(aliases).where(*mine).values(kind=None, item=None))
    change_log.record(tx, host, alias)


def find(tx: Connection, host: str, alias: str) -> Holder | None:
    """What the alias leads to under that host, if anything."""
    held = select(aliases.c.account, aliases.c.kind, aliases.c.item).where(
        aliases.c.host == host, aliases.c.alias == alias, aliases.c.kind.is_not(None)
    )
    row = tx.execute(held).first()
    return Holder(row.account, row.kind, row.item) if row else None


def own(tx: Connection, account: int, kind: str, *, host: str, alias: str) -> int | None:
    """The item of that kind behind an alias, if it is the account's."""
    holder = find(tx, host, alias)
    return holder.item if holder and (holder.account, holder.kind) == (account, kind) else None
