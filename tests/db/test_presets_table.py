"""The table of presets: its migration on existing data, and the deletion of its rows with their account."""

from contextlib import closing
from functools import partial

from sqlalchemy import Connection, delete, text

from tests.support.databases import ON_BOTH_DATABASES
from waypost.dashboard import presets
from waypost.db import schema, upgrade
from waypost.db.database import Database

pytestmark = ON_BOTH_DATABASES


def _add_account(tx: Connection, name: str) -> int:
    """Add an account to a database of an older version. Return its id."""
    names = "email, email_key, username, username_key, password, language"
    columns = f"{names}, password_changed, plan, owner, suspended, registered, stored, revoked_start, revoked_used"
    values = ":email, :email, :name, :name, '*', '', 0, 1, false, false, 0, 0, 0, 0"
    insert = text(f"INSERT INTO accounts ({columns}) VALUES ({values}) RETURNING id")
    return int(tx.execute(insert, {"email": f"{name}@example.com", "name": name}).scalar_one())


def test_database_of_older_version_gets_the_table(plain_url: str) -> None:
    with closing(Database(plain_url)) as database:
        database.write(lambda tx: upgrade.migrate(tx, "0010"))
        ana, ben = (database.write(partial(_add_account, name=name)) for name in ("ana", "ben"))
        upgrade.upgrade(database)
        for account in (ana, ben):
            for name in ("One", "ONE", "Two"):
                database.write(lambda tx: presets.save(tx, account, "links", name, {"q": name}))  # noqa: B023
        database.write(lambda tx: presets.save(tx, ana, "qr", "One", {}))
        saved = database.read(lambda tx: presets.listed(tx, ana, "links"))
        assert [(preset.name, preset.settings) for preset in saved] == [("ONE", {"q": "ONE"}), ("Two", {"q": "Two"})]
        database.write(lambda tx: tx.execute(delete(schema.accounts).where(schema.accounts.c.id == ana)))
        assert database.read(lambda tx: presets.listed(tx, ana, "links")) == []
        assert [preset.name for preset in database.read(lambda tx: presets.listed(tx, ben, "links"))] == ["ONE", "Two"]
