"""Counts of an account's rows by block of ids: the exact size of a list, and where its nth row stands, at one price.

Level 0 counts blocks of 2^10 ids, level 1 blocks of 2^20. Finding a page reads at most about a thousand counts a level
instead of skipping every row before it (docs/adr/0002-page-counters.md).
"""

from sqlalchemy import Connection, Select, func, select, text

from waypost.db.schema import tallies

_SHIFTS = (10, 20)
# In SQL: SQLAlchemy works out anew, every time, a statement that inserts several rows.
_SHIFT = text(
    "INSERT INTO tallies (account, noun, level, block, n)"
    " VALUES (:account, :noun, 0, :block0, :by), (:account, :noun, 1, :block1, :by)"
    " ON CONFLICT (account, noun, level, block) DO UPDATE SET n = tallies.n + excluded.n"
)


def shift(tx: Connection, account: int, noun: str, item: int, by: int) -> None:
    """Count one row of `noun` in (`by` 1) or out (`by` -1). Called in the transaction that adds or removes it."""
    values = {f"block{level}": item >> bits for level, bits in enumerate(_SHIFTS)}
    tx.execute(_SHIFT, {"account": account, "noun": noun, "by": by, **values})


def total(tx: Connection, account: int, noun: str) -> int:
    """How many rows of `noun` the account has."""
    mine = (tallies.c.account == account) & (tallies.c.noun == noun) & (tallies.c.level == len(_SHIFTS) - 1)
    return int(tx.execute(select(func.coalesce(func.sum(tallies.c.n), 0)).where(mine)).scalar_one())


def locate(tx: Connection, account: int, noun: str, offset: int) -> tuple[int, int]:
    """Where the row at `offset` from the newest stands: (first id above its block, rows to skip below that id)."""
    ceiling = None
    for level in reversed(range(len(_SHIFTS))):
        with tx.execute(_newest_blocks(account, noun, level, ceiling)) as blocks:
            for block, n in blocks:
                if offset < n:
                    ceiling = (block + 1) << _SHIFTS[level]
                    break  # the rest is not read; a window function would sum up all of them
                offset -= n
            else:
                return 0, 0
    return ceiling or 0, offset


def _newest_blocks(account: int, noun: str, level: int, ceiling: int | None) -> Select[int, int]:
    mine = (tallies.c.account == account) & (tallies.c.noun == noun) & (tallies.c.level == level)
    if ceiling is not None:
        last = (ceiling - 1) >> _SHIFTS[level]
        first = (ceiling - (1 << _SHIFTS[level + 1])) >> _SHIFTS[level]
        mine &= tallies.c.block.between(first, last)
    return select(tallies.c.block, tallies.c.n).where(mine).order_by(tallies.c.block.desc())
