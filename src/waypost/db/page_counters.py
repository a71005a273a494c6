"""Counts of an account's rows by block of ids, for exact list totals and for finding any page in constant time.

Level 0 counts blocks of 2^10 ids, level 1 blocks of 2^20. Finding a page reads at most about a thousand counts per
level instead of skipping every row before the page (docs/adr/0002-page-counters.md).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, select, text

from waypost.db.schema import page_counters
from waypost.db.statements import DriverChange, DriverSelect

_BLOCK_BITS = (10, 20)
_SKIPPED_ROWS = 500
"""Skipping this many rows costs less than reading the counts."""
_ABOVE_ALL_IDS = 2**63 - 1
# In SQL, because SQLAlchemy does not cache the compiled form of an INSERT with several rows. The larger block first: a
# transaction that waits for it holds no smaller one, so two transactions of the same blocks cannot deadlock.
_INCREMENT = DriverChange(
    text(
        "INSERT INTO page_counters (account, noun, level, block, rows)"
        " VALUES (:account, :noun, 1, :block1, :change), (:account, :noun, 0, :block0, :change)"
        " ON CONFLICT (account, noun, level, block) DO UPDATE SET rows = page_counters.rows + excluded.rows"
    )
)


_pending: WeakKeyDictionary[Connection, Counter[tuple[int, str, int]]] = WeakKeyDictionary()
"""By transaction, the changes of a batch by account, noun and block of level 0."""


@contextmanager
def in_one_batch(tx: Connection) -> Iterator[None]:
    """Count the rows of the block after it, with a statement for each block of ids. Nothing is counted on an error.

    The block must not roll back to a savepoint: what it counted since would be counted. A block in another one ends
    with it.
    """
    if tx in _pending:
        yield
        return
    _pending[tx] = Counter()
    try:
        yield
        _flush(tx)
    finally:
        del _pending[tx]


def _flush(tx: Connection) -> None:
    pending = _pending[tx]
    changes = sorted(pending.items())
    pending.clear()
    for (account, noun, block), change in changes:
        _increment(tx, account, noun, block << _BLOCK_BITS[0], change)


def increment(tx: Connection, account: int, noun: str, item: int, change: int) -> None:
    """Count a row of `noun` that the same transaction adds (`change` 1) or removes (`change` -1)."""
    if (pending := _pending.get(tx)) is not None:
        pending[account, noun, item >> _BLOCK_BITS[0]] += change
    else:
        _increment(tx, account, noun, item, change)


def _increment(tx: Connection, account: int, noun: str, item: int, change: int) -> None:
    blocks = {f"block{level}": item >> bits for level, bits in enumerate(_BLOCK_BITS)}
    _INCREMENT.execute(tx, account=account, noun=noun, change=change, **blocks)


def total(tx: Connection, account: int, noun: str) -> int:
    """Return how many rows of `noun` the account has."""
    if tx in _pending:
        _flush(tx)
    return int(_TOTAL.fetch_all(tx, account=account, noun=noun)[0][0])


def totals(tx: Connection, accounts: Sequence[int], noun: str) -> Mapping[int, int]:
    """Return how many rows of `noun` each of the accounts has; none without rows."""
    query = select(_c.account, func.sum(_c.rows)).where(_c.account.in_(accounts), _c.noun == noun)
    rows = tx.execute(query.where(_c.level == len(_BLOCK_BITS) - 1).group_by(_c.account))
    return {account: int(count) for account, count in rows}


def start_of_page(tx: Connection, account: int, noun: str, offset: int) -> tuple[int, int]:
    """Like `locate`, but near the newest row without reading counts. For offsets below the total."""
    return (_ABOVE_ALL_IDS, offset) if offset <= _SKIPPED_ROWS else locate(tx, account, noun, offset)


def locate(tx: Connection, account: int, noun: str, offset: int) -> tuple[int, int]:
    """Find the row at `offset` from the newest: (first id above its block, rows to skip below that id)."""
    ceiling = None
    for level in reversed(range(len(_BLOCK_BITS))):
        with tx.execute(_newest_blocks(account, noun, level, ceiling)) as blocks:
            for block, rows in blocks:
                if offset < rows:
                    ceiling = (block + 1) << _BLOCK_BITS[level]
                    break  # leaves the other blocks unread; a window function would add up all of them
                offset -= rows
            else:
                return 0, 0
    return ceiling or 0, offset


_c = page_counters.c
_OF_NOUN = (_c.account == bindparam("account")) & (_c.noun == bindparam("noun"))
_TOTAL = DriverSelect(select(func.coalesce(func.sum(_c.rows), 0)).where(_OF_NOUN, _c.level == len(_BLOCK_BITS) - 1))


def _newest_blocks(account: int, noun: str, level: int, ceiling: int | None) -> Select[int, int]:
    counters = _counters(account, noun, level)
    if ceiling is not None:
        last = (ceiling - 1) >> _BLOCK_BITS[level]
        first = (ceiling - (1 << _BLOCK_BITS[level + 1])) >> _BLOCK_BITS[level]
        counters &= page_counters.c.block.between(first, last)
    return select(page_counters.c.block, page_counters.c.rows).where(counters).order_by(page_counters.c.block.desc())


def _counters(account: int, noun: str, level: int) -> ColumnElement[bool]:
    c = page_counters.c
    return (c.account == account) & (c.noun == noun) & (c.level == level)
