"""The events that the audit log has recorded."""

from collections.abc import Callable, Sequence
from dataclasses import fields

import pytest
from sqlalchemy import select

from waypost.audit.log import Entry
from waypost.db.database import Database
from waypost.db.schema import audit

Recorded = Callable[[], Sequence[Entry]]
"""Returns the events since the last call, of all accounts and the installation, oldest first."""


@pytest.fixture
def recorded(database: Database) -> Recorded:
    """The new events of the log."""
    last = 0
    columns = [audit.c[field.name] for field in fields(Entry)]

    def read() -> Sequence[Entry]:
        nonlocal last
        query = select(*columns).where(audit.c.id > last).order_by(audit.c.id)
        entries = [Entry(**row) for row in database.read(lambda tx: tx.execute(query).mappings().all())]
        last = max([last, *(entry.id for entry in entries)])
        return entries

    read()
    return read
