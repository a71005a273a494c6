"""Colors of new channels, so that channels differ: those of a palette in turn."""

from collections import Counter
from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from waypost.db.schema import channels

PALETTE = ("#2563eb", "#db2777", "#d97706", "#059669", "#7c3aed", "#0891b2", "#dc2626", "#4d7c0f")


def in_turn(tx: Connection, account: int) -> Iterator[str]:
    """Yield colors for the next channels of the account without end, those with the fewest channels first."""
    color_of = func.lower(channels.c.color)
    counts: Counter[str] = Counter()
    for color, count in tx.execute(
        select(color_of, func.count()).where(channels.c.account == account).group_by(color_of)
    ):
        counts[color] = count
    while True:
        color = min(PALETTE, key=lambda each: counts[each])
        counts[color] += 1
        yield color
