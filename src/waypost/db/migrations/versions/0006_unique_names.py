"""Add the folded form of names that must be unique, so that neither case nor Unicode form makes a second one.

Of rows whose names are equal in that form already, the oldest one gets it. The others keep their names without it.

Revision: 0006
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
_BATCH = 2_000
_TABLES = {"campaigns": "account", "channels": "account", "utm_templates": "account", "plans": "0"}
"""The tables, each with the column in whose rows names are unique; 0 if they are in the whole table."""
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def upgrade() -> None:
    """Add the columns, fill them in batches, add the indexes."""
    for table, scope in _TABLES.items():
        op.add_column(table, sa.Column("name_key", sa.Text))
        _fill(table, scope)
        columns = ["name_key"] if scope == "0" else [scope, "name_key"]
        op.create_index("_".join([table, *columns, "unique"]), table, columns, unique=True)
    _fold_email_keys()


def _fill(table: str, scope: str) -> None:
    change = sa.text(f"UPDATE {table} SET name_key = :key WHERE id = :id AND {scope} = :scope")  # noqa: S608  # constants
    known = set[tuple[int, str]]()
    for rows in _batches(table, f"{scope} AS scope, id, name"):
        changed = []
        for row in rows:
            if (key := (row.scope, _folded(row.name))) not in known:
                known.add(key)
                changed.append({"id": row.id, "scope": row.scope, "key": key[1]})
        if changed:
            op.get_bind().execute(change, changed)


def _fold_email_keys() -> None:
    """Fold the keys of e-mail addresses again, unless another account has that key: then both keep theirs."""
    change = sa.text(
        "UPDATE accounts SET email_key = :key"
        " WHERE id = :id AND NOT EXISTS (SELECT 1 FROM accounts AS other WHERE other.email_key = :key)"
    )
    for rows in _batches("accounts", "id, email_key"):
        for row in rows:
            if (key := _folded(row.email_key)) != row.email_key:
                op.get_bind().execute(change, {"id": row.id, "key": key})


def _batches(table: str, columns: str) -> Iterator[Sequence[sa.Row[Any]]]:
    """Yield the rows, the oldest first."""
    query = sa.text(f"SELECT {columns} FROM {table} WHERE id > :id ORDER BY id LIMIT {_BATCH}")  # noqa: S608  # constants
    last = 0
    while rows := op.get_bind().execute(query, {"id": last}).all():
        last = rows[-1].id
        yield rows


def _folded(text: str) -> str:
    visible = unicodedata.normalize("NFC", _INVISIBLE.sub("", text))
    return unicodedata.normalize("NFC", visible.casefold()).replace("i\u0307", "i").strip()
