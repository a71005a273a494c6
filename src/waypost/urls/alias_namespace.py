"""The aliases of every host: of links, files, QR codes, bio pages and campaign slugs.

A host is "" for the service's own, the name of a branded domain, or ROTATORS for the slugs below `/r/`. Aliases of a
branded domain can ignore case: they are stored in lower case (decision 61).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, text, update
from sqlalchemy.exc import IntegrityError

from waypost.core.errors import Problem, invalid, taken, unavailable
from waypost.db import change_log
from waypost.db.database import upsert
from waypost.db.schema import aliases, domains, files, links, nouns, trash
from waypost.db.statements import DriverChange
from waypost.urls import alias_rules
from waypost.urls.alias_rules import fold_case

OWN, ROTATORS = nouns.OWN, nouns.ROTATORS
TAKEN = "That alias is taken. Please choose another one."
IN_TRASH = "That alias belongs to an item in your trash. Restore that item, or delete it from the trash."


_USED = select(aliases.c.alias).where(aliases.c.host == bindparam("host"), aliases.c.alias == bindparam("alias"))
_IGNORES_CASE = select(domains.c.ignorecase).where(domains.c.host == bindparam("host"))
_IGNORES_CASE_LOCKED = _IGNORES_CASE.with_for_update(read=True)
_CLAIM = DriverChange(
    text(
        "INSERT INTO aliases (host, alias, account, kind, item) VALUES (:host, :alias, :account, :kind, :item)"
        " ON CONFLICT (host, alias) DO UPDATE SET kind = excluded.kind, item = excluded.item"
        " WHERE aliases.account = excluded.account AND aliases.kind IS NULL AND aliases.item IS NULL RETURNING alias"
    )
)
_MAX_CHANGES = 100_000  # in one transaction
_BY_OLD = (aliases.c.host == bindparam("of_host"), aliases.c.alias == bindparam("old"))
_RENAME = update(aliases).where(*_BY_OLD).values(alias=bindparam("new"))
_DELETE_ALIAS = delete(aliases).where(*_BY_OLD)
_RENAME_ITEM = {
    kind: update(table)
    .where(table.c.id == bindparam("of_item"), table.c.account == bindparam("of_account"))
    .values(alias=bindparam("new"))
    for kind, table in (("link", links), ("file", files), (None, trash))
}


@dataclass(frozen=True)
class Holder:
    """The item of an alias: a row of the table that `kind` names, and its account."""

    account: int
    kind: str
    item: int


def pick(tx: Connection, host: str, alias: str | None, *, field: str = "custom") -> str:
    """Return the given alias if it is valid, or a random one that is free now. Only `claim` reserves it."""
    if alias is not None:
        return canonical(tx, host, alias_rules.check(alias, host=host, field=field))
    length = 6
    while True:
        alias = canonical(tx, host, alias_rules.generate(length))
        if tx.execute(_USED, {"host": host, "alias": alias}).first() is None:
            return alias
        length += 1


def claim(tx: Connection, account: int, kind: str, item: int, *, host: str, alias: str, field: str = "custom") -> None:
    """Assign the alias to the item, in one statement. Raises TAKEN on `field` unless it is free for this account.

    An alias is free if it was never used, or if this account used and released it (decision 19). An item in the trash
    keeps its alias.
    """
    if not _try_to_claim(tx, account, kind, item, host, alias):
        raise refusal(tx, account, host=host, alias=alias, field=field)


def require_free(tx: Connection, account: int, *, host: str, alias: str, field: str = "custom") -> None:
    """Raise TAKEN on `field` if the account could not claim the alias now."""
    is_alias = (aliases.c.host == host, aliases.c.alias == alias)
    row = tx.execute(select(aliases.c.account, aliases.c.kind, aliases.c.item).where(*is_alias)).first()
    if row is not None and (row.account != account or row.kind is not None or row.item is not None):
        raise refusal(tx, account, host=host, alias=alias, field=field)


def refusal(tx: Connection, account: int, *, host: str, alias: str, field: str = "custom") -> Problem:
    """Return the TAKEN problem for an alias that is not free for the account."""
    is_alias = (aliases.c.host == host, aliases.c.alias == alias)
    row = tx.execute(select(aliases.c.account, aliases.c.kind, aliases.c.item).where(*is_alias)).first()
    return taken(field, IN_TRASH if row and is_in_trash(row, account) else TAKEN)


def is_in_trash(row: Any, account: int) -> bool:
    """Return whether an alias, a row of its table, is that of an item in the trash of the account."""
    return row.account == account and row.kind is None and row.item is not None


def claim_generated(tx: Connection, account: int, kind: str, item: int, *, host: str, alias: str) -> str:
    """Assign a generated alias to the item, or a longer one if it is taken. Return the assigned one."""
    while not _try_to_claim(tx, account, kind, item, host, alias):
        alias = canonical(tx, host, alias_rules.generate(len(alias) + 1))
    return alias


def canonical(tx: Connection, host: str, alias: str) -> str:
    """Return a valid alias as the host stores it."""
    return alias_rules.fold_case(alias) if ignores_case(tx, host) else alias


def ignores_case(tx: Connection, host: str) -> bool:
    """Return whether the host is a branded domain that ignores the case of aliases."""
    return host not in (OWN, ROTATORS) and bool(tx.execute(_IGNORES_CASE, {"host": host}).scalar())


def claim_many(tx: Connection, account: int, kind: str, items: Mapping[tuple[str, str], int]) -> set[tuple[str, str]]:
    """Assign the aliases, keys of `items`, to these items. Return the hosts and aliases that were free.

    The caller records the change, and must hold the branded domains against a change of `ignorecase`.
    """
    statement = upsert(tx, aliases)
    statement = statement.on_conflict_do_update(
        index_elements=["host", "alias"],
        set_={name: statement.excluded[name] for name in ("kind", "item")},
        where=(aliases.c.account == statement.excluded.account) & aliases.c.kind.is_(None) & aliases.c.item.is_(None),
    ).returning(aliases.c.host, aliases.c.alias)
    values = [
        {"host": host, "alias": alias, "account": account, "kind": kind, "item": item}
        for (host, alias), item in sorted(items.items())
    ]
    return {(host, alias) for host, alias in tx.execute(statement, values)}


def _try_to_claim(tx: Connection, account: int, kind: str, item: int, host: str, alias: str) -> bool:
    is_mixed_case = host not in (OWN, ROTATORS) and alias != alias_rules.fold_case(alias)
    if is_mixed_case and tx.execute(_IGNORES_CASE_LOCKED, {"host": host}).scalar():
        raise unavailable()  # the domain began to ignore case after the alias was checked
    claimed = _CLAIM.execute(tx, host=host, alias=alias, account=account, kind=kind, item=item)
    is_claimed = bool(claimed.fetchall())
    if is_claimed:
        change_log.record(tx, host, alias)
    return is_claimed


def release(tx: Connection, *, host: str, alias: str) -> None:
    """Leave a tombstone: the alias has no item, and only its account can use it again."""
    is_alias = (aliases.c.host == host, aliases.c.alias == alias)
    tx.execute(update(aliases).where(*is_alias).values(kind=None, item=None))
    change_log.record(tx, host, alias)


def find(tx: Connection, host: str, alias: str) -> Holder | None:
    """Return the item of the alias on this host, if it has one."""
    alias = canonical(tx, host, alias)
    query = select(aliases.c.account, aliases.c.kind, aliases.c.item).where(
        aliases.c.host == host, aliases.c.alias == alias, aliases.c.kind.is_not(None)
    )
    row = tx.execute(query).first()
    return Holder(row.account, row.kind, row.item) if row else None


def owned_item(tx: Connection, account: int, kind: str, *, host: str, alias: str) -> int | None:
    """Return the id of the alias's item, if it is of this kind and belongs to the account."""
    holder = find(tx, host, alias)
    return holder.item if holder and (holder.account, holder.kind) == (account, kind) else None


def fold_aliases(tx: Connection, host: str) -> None:
    """Store the aliases of a host in lower case. Raises INVALID on `ignorecase` if two differ only by case.

    Raises UNAVAILABLE if another transaction adds such an alias at the same time.
    """
    a = aliases.c
    rows = tx.execute(select(a.alias, a.account, a.kind, a.item).where(a.host == host)).all()
    by_folded: dict[str, list[Any]] = {}
    for row in rows:
        by_folded.setdefault(fold_case(row.alias), []).append(row)
    kept = {new: _kept(same) for new, same in by_folded.items()}
    dropped = [row for new, same in by_folded.items() for row in same if row is not kept[new]]
    changed = [(new, row) for new, row in kept.items() if new != row.alias]
    if len(changed) > _MAX_CHANGES:
        raise invalid("ignorecase", f"ignorecase can be turned on with at most {_MAX_CHANGES:,} mixed-case aliases.")
    _execute(tx, _DELETE_ALIAS, [{"of_host": host, "old": row.alias} for row in dropped])
    try:
        _execute(tx, _RENAME, [{"of_host": host, "old": row.alias, "new": new} for new, row in changed])
    except IntegrityError as error:  # another transaction has just added the lower-case alias
        raise unavailable() from error
    for kind, rename in _RENAME_ITEM.items():
        items = [
            {"of_item": row.item, "of_account": row.account, "new": new}
            for new, row in changed
            if row.kind == kind and row.item is not None
        ]
        _execute(tx, rename, items)


def _kept(same: Sequence[Any]) -> Any:
    """Return the one of these aliases that remains: the one in use or in the trash, or any of the previous aliases."""
    used = [row for row in same if row.item is not None]
    if len(used) > 1:
        first, second = used[0].alias, used[1].alias
        message = (
            f"ignorecase cannot be turned on: {first} and {second} differ only by case. Rename one, or delete it from"
            " the trash."
        )
        raise invalid("ignorecase", message)
    return (used or same)[0]


def _execute(tx: Connection, statement: Any, parameters: Sequence[dict[str, Any]]) -> None:
    if parameters:
        tx.execute(statement, parameters)
