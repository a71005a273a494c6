"""Items that an administrator moved to another account: their present account, for code that knows an earlier one.

Lines of the journal name the account that an item had when it was visited. So the ingester counts nothing while items
move, and asks for their present account afterwards: each click counts once, for the item and for one account.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, func, select, text

from waypost.db.database import upsert
from waypost.db.schema import moved_items

_c = moved_items.c
_REVISION = select(func.coalesce(func.max(_c.revision), 0))
_OWNER = select(_c.owner).where(_c.kind == bindparam("kind"), _c.item == bindparam("item"))


def hold(tx: Connection) -> None:
    """Let no item move until the commit. SQLite has a single writer."""
    if tx.dialect.name == "postgresql":
        tx.execute(text("LOCK TABLE moved_items IN ROW SHARE MODE"))


def lock(tx: Connection) -> None:
    """Wait for all transactions that `hold` the items; new ones wait until the commit. Others can still read."""
    if tx.dialect.name == "postgresql":
        tx.execute(text("LOCK TABLE moved_items IN EXCLUSIVE MODE"))


def revision(tx: Connection) -> int:
    """Return a number that grows with every move; 0 if no item was ever moved."""
    return int(tx.execute(_REVISION).scalar_one())


def owner(tx: Connection, kind: str, item: int) -> int | None:
    """Return the present account of an item that was moved; None for all others."""
    return tx.execute(_OWNER, {"kind": kind, "item": item}).scalar()


def keeps_visitors(tx: Connection, account: int) -> bool:
    """Return whether the visitors of items that were moved are stored under this account, their first one."""
    return tx.execute(select(_c.item).where(_c.visitors_of == account).limit(1)).first() is not None


def record(tx: Connection, kind: str, items: Sequence[int], *, source: int, target: int) -> None:
    """Record that items move to the account `target`, in a transaction that has called `lock`."""
    number = revision(tx) + 1
    row = upsert(tx, moved_items)
    row = row.on_conflict_do_update(
        index_elements=["kind", "item"], set_={name: row.excluded[name] for name in ("owner", "revision")}
    )
    values = {"kind": kind, "owner": target, "visitors_of": source, "revision": number}
    tx.execute(row, [{**values, "item": item} for item in items])
