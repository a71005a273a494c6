"""The table of presets: its migration on existing data, and the deletion of its rows with their account."""

from contextlib import closing
from functools import partial

from sqlalchemy import delete

from tests.support import old_accounts
from tests.support.databases import ON_BOTH_DATABASES
from waypost.dashboard import presets
from waypost.db import schema, upgrade
from waypost.db.database import Database

pytestmark = ON_BOTH_DATABASES


def test_database_of_older_version_gets_the_table(plain_url: str) -> None:
    with closing(Database(plain_url)) as database:
        database.write(lambda tx: upgrade.migrate(tx, "0010"))
        ana, ben = (database.write(partial(old_accounts.add, name=name)) for name in ("ana", "ben"))
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
