"""Objects in the store that no file owns: recorded in one transaction, removed by `cleanup.py`."""

from sqlalchemy import Connection, delete, insert, update

from waypost import clock
from waypost.db.schema import accounts, orphan_objects


def forget(tx: Connection, name: str) -> None:
    """Delete the record of an object that was removed from the store."""
    tx.execute(delete(orphan_objects).where(orphan_objects.c.object == name))


def release(tx: Connection, account: int, name: str, size: int) -> None:
    """Mark an object for removal and subtract its size, in bytes, from the account's usage."""
    tx.execute(insert(orphan_objects).values(object=name, due=clock.now(), deleting=False))
    tx.execute(update(accounts).where(accounts.c.id == account).values(stored=accounts.c.stored - size))
