"""The row of an account: whether it exists, and its lock."""

from sqlalchemy import Connection, select

from waypost.core.errors import account_deleted
from waypost.db.schema import accounts


def exists(tx: Connection, account: int) -> bool:
    """Return whether an account exists."""
    return tx.execute(select(accounts.c.id).where(accounts.c.id == account)).first() is not None


def lock(tx: Connection, account: int) -> None:
    """Lock an account until the commit: it is not deleted, and others that lock it wait.

    Raises NOT_FOUND if it was deleted.
    """
    query = select(accounts.c.id).where(accounts.c.id == account).with_for_update(key_share=True)
    if tx.execute(query).first() is None:
        raise account_deleted()
