"""Fold the search columns again: texts are compared in one Unicode form, without invisible characters.

Revision: 0004
"""

import sqlalchemy as sa
from alembic import op

from waypost.core.text_folding import folded

revision = "0004"
down_revision = "0003"
_BATCH = 2_000
_TABLES = ("links", "files")
# ASCII texts are folded already. Triggers update the search index.
_IS_NOT_ASCII = {
    "sqlite": "length(CAST(search AS BLOB)) > length(search)",
    "postgresql": "octet_length(search) > char_length(search)",
}


def upgrade() -> None:
    """Update the rows that differ, in batches."""
    connection = op.get_bind()
    condition = _IS_NOT_ASCII[connection.dialect.name]
    for table in _TABLES:
        rows = sa.text(
            f"SELECT account, id, search FROM {table} WHERE (account, id) > (:account, :id) AND {condition}"  # noqa: S608  # constants
            f" ORDER BY account, id LIMIT {_BATCH}"
        )
        change = sa.text(f"UPDATE {table} SET search = :search WHERE account = :account AND id = :id")  # noqa: S608  # constants
        last = {"account": 0, "id": 0}
        while batch := connection.execute(rows, last).all():
            last = {"account": batch[-1].account, "id": batch[-1].id}
            changed = [
                {"account": row.account, "id": row.id, "search": text}
                for row in batch
                if (text := folded(row.search)) != row.search
            ]
            if changed:
                connection.execute(change, changed)
