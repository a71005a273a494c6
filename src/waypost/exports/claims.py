"""Claims: an account has one export at a time, and the installation a few."""

from sqlalchemy import ColumnElement, Connection, func, select, update

from waypost import clock
from waypost.db.database import upsert
from waypost.db.schema import account_exports
from waypost.errors import Kind, Problem

CLAIM_SECONDS = 60
"""Duration of a claim. It is extended while the export runs, and ends by itself if the process is killed."""
MOST_RUNNING = 4
_c = account_exports.c


def acquire(tx: Connection, account: int) -> None:
    """Start an export. Raises UNAVAILABLE if one of the account runs, or too many of others."""
    now = clock.now()
    running = select(func.count()).select_from(account_exports).where(_is_running(now), _c.account != account)
    if tx.execute(running).scalar_one() >= MOST_RUNNING:
        raise Problem(Kind.UNAVAILABLE, "Other exports are running. Please try again later.", retry_after=60)
    insert = upsert(tx, account_exports).values(account=account, running_until=now + CLAIM_SECONDS)
    values = {"running_until": now + CLAIM_SECONDS}
    take = insert.on_conflict_do_update(index_elements=["account"], set_=values, where=~_is_running(now))
    if tx.execute(take.returning(_c.account)).first() is None:
        message = "An export of this account is running. Wait until it has ended, at most a minute after its download."
        raise Problem(Kind.UNAVAILABLE, message, retry_after=CLAIM_SECONDS)


def extend(tx: Connection, account: int) -> None:
    """Keep the claim of an export that still runs."""
    tx.execute(update(account_exports).where(_c.account == account).values(running_until=clock.now() + CLAIM_SECONDS))


def release(tx: Connection, account: int, *, is_complete: bool) -> None:
    """End an export."""
    values = {"running_until": 0, **({"finished": clock.now()} if is_complete else {})}
    tx.execute(update(account_exports).where(_c.account == account).values(values))


def last_finished(tx: Connection, account: int) -> int | None:
    """Return the time of the last complete export; None without one."""
    return tx.execute(select(_c.finished).where(_c.account == account)).scalar_one_or_none()


def _is_running(now: int) -> ColumnElement[bool]:
    # A claim that ends far in the future was made before the clock was set back.
    return (_c.running_until > now) & (_c.running_until <= now + 2 * CLAIM_SECONDS)
