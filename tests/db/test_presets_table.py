"""The table of presets: its migration on existing data, and the deletion of its rows with their account."""

from contextlib import closing

from sqlalchemy import delete

from tests.support.databases import ON_BOTH_DATABASES
from waypost.dashboard import presets
from waypost.db import schema, upgrade
from waypost.db.database import Database
from waypost.items.accounts import ops as accounts

pytestmark = ON_BOTH_DATABASES


def test_database_of_older_version_gets_the_table(plain_url: str) -> None:
    with closing(Database(plain_url)) as database:
        database.write(lambda tx: upgrade.migrate(tx, "0010"))
        ana = database.write(lambda tx: accounts.add(tx, email="ana@example.com", username="ana", password="*").id)
        ben = database.write(lambda tx: accounts.add(tx, email="ben@example.com", username="ben", password="*").id)
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
