"""Objects in the store that no file owns: recorded in one transaction, removed by `cleanup.py`."""

from sqlalchemy import Connection, delete, insert, update

from waypost import clock
from waypost.db.schema import accounts, leftovers


def forget(tx: Connection, name: str) -> None:
    """The object was removed from the store."""
    tx.execute(delete(leftovers).where(leftovers.c.object == name))


def release(tx: Connection, account: int, name: str, size: int) -> None:
    """Mark an object for removal and subtract its size, in bytes, from the account's usage."""
    tx.execute(insert(leftovers).values(object=name, due=clock.now(), doomed=False))
    tx.execute(update(accounts).where(accounts.c.id == account).values(stored=accounts.c.stored - size))
