"""Fixtures for tests of click counting below HTTP."""

import pytest
from sqlalchemy import Connection

from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.accounts import ops as accounts
from waypost.items.links import ops as links


@pytest.fixture
def link(database: Database, settings: Settings) -> int:
    """A link of an account."""

    def work(tx: Connection) -> int:
        ana = accounts.add(tx, email="ana@example.com", username="ana", password="*")
        return links.add(tx, ana.id, settings=settings, url="https://example.com/").id

    return database.write(work)
