"""Switch a branded domain to aliases that ignore case: it stores them in lower case (decision 61)."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, update
from sqlalchemy.exc import IntegrityError

from waypost.core.errors import invalid, unavailable
from waypost.db.schema import aliases, files, links, trash
from waypost.urls.alias_rules import fold_case

_MAX_CHANGES = 100_000  # in one transaction
_BY_OLD = (aliases.c.host == bindparam("of_host"), aliases.c.alias == bindparam("old"))
_RENAME = update(aliases).where(*_BY_OLD).values(alias=bindparam("new"))
_DELETE = delete(aliases).where(*_BY_OLD)
_RENAME_ITEM = {
    kind: update(table)
    .where(table.c.id == bindparam("of_item"), table.c.account == bindparam("of_account"))
    .values(alias=bindparam("new"))
    for kind, table in (("link", links), ("file", files), (None, trash))
}


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
    _execute(tx, _DELETE, [{"of_host": host, "old": row.alias} for row in dropped])
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
