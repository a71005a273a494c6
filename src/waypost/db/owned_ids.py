"""The ids of an account's rows among those that a client selected."""

from collections.abc import Iterable

from sqlalchemy import Connection, Table, select


def existing(tx: Connection, table: Table, account: int, ids: Iterable[int], *, lock: bool = False) -> list[int]:
    """Return the ids that are rows of the account, sorted, each once. `lock`: until the transaction ends."""
    c = table.c
    query = select(c.id).where(c.account == account, c.id.in_(set(ids))).order_by(c.id)
    return list(tx.execute(query.with_for_update() if lock else query).scalars())
