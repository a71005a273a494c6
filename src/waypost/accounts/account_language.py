"""The language that an account selected."""

from sqlalchemy import Connection, select

from waypost.db.schema import accounts


def choose(tx: Connection, account: int, language: str) -> None:
    """Store a code of LANGUAGES."""
    tx.execute(accounts.update().where(accounts.c.id == account).values(language=language))


def of(tx: Connection, account: int) -> str:
    """Return the language of an account; "" if none was selected."""
    query = select(accounts.c.language).where(accounts.c.id == account)
    return tx.execute(query).scalar_one_or_none() or ""
