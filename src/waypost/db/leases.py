"""Work that one process does for all of them, on whatever node: at most one turn in so many seconds."""

from sqlalchemy import Connection, or_, update

from waypost import clock
from waypost.db.database import upsert
from waypost.db.schema import leases


def turn(tx: Connection, work: str, *, every: int) -> bool:
    """Whether it is the caller's turn to do `work`, in this transaction: nobody else has one for `every` seconds.

    Who asks meanwhile waits for the end of the transaction. When it fails, or its process dies, the turn was none.
    """
    now = clock.now()
    # One that is far ahead was taken by a clock that has been set back since. It must be far: another node's clock may
    # go before ours, and `now` is old for who had to wait for the end of somebody else's turn.
    over = or_(leases.c.until <= now, leases.c.until > now + 2 * every)
    new = upsert(tx, leases).values(name=work, until=now + every)
    mine = new.on_conflict_do_update(index_elements=["name"], set_={"until": now + every}, where=over)
    return tx.execute(mine.returning(leases.c.name)).first() is not None


def give_back(tx: Connection, work: str) -> None:
    """Let the next turn begin at once, because there is more to do."""
    tx.execute(update(leases).where(leases.c.name == work).values(until=0))
