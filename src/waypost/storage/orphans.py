"""Objects in the store that no file owns: recorded in one transaction, removed by `cleanup.py`."""

from sqlalchemy import Connection, delete, insert, update

from waypost.core import clock
from waypost.db.schema import accounts, orphan_objects


def forget(tx: Connection, name: str) -> None:
    """Delete the record of an object that was removed from the store."""
    tx.execute(delete(orphan_objects).where(orphan_objects.c.object == name))


def take_back(tx: Connection, account: int, name: str, size: int) -> None:
    """Undo a `release` of the same transaction, if there was one."""
    if tx.execute(delete(orphan_objects).where(orphan_objects.c.object == name)).rowcount:
        tx.execute(update(accounts).where(accounts.c.id == account).values(stored=accounts.c.stored + size))


def release(tx: Connection, account: int, name: str, size: int) -> None:
    """Mark an object for removal and subtract its size, in bytes, from the account's usage."""
    tx.execute(insert(orphan_objects).values(object=name, due=clock.now(), deleting=False))
    tx.execute(update(accounts).where(accounts.c.id == account).values(stored=accounts.c.stored - size))
