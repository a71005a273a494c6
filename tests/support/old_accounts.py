"""Accounts in the tables of an older version."""

from sqlalchemy import Connection, text


def add(tx: Connection, name: str) -> int:
    """Add an account to a database of an older version. Return its id."""
    names = "email, email_key, username, username_key, password, language"
    columns = f"{names}, password_changed, plan, owner, suspended, registered, stored, revoked_start, revoked_used"
    values = ":email, :email, :name, :name, '*', '', 0, 1, false, false, 0, 0, 0, 0"
    insert = text(f"INSERT INTO accounts ({columns}) VALUES ({values}) RETURNING id")
    return int(tx.execute(insert, {"email": f"{name}@example.com", "name": name}).scalar_one())
