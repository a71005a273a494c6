"""The trash."""

from alembic import op
from sqlalchemy import String

from waypost.db.migrations.initial.tables import ALIAS, ID, JSON, KIND, TEXT, columns, create_owned, optional


def create() -> None:
    """Create the table."""
    create_owned(
        "trash",
        columns(String(32), "batch"),
        columns(KIND, "kind"),
        columns(ID, "item"),
        columns(TEXT, "name", "host"),
        optional(ALIAS, "alias"),
        columns(JSON, "content"),
    )
    op.create_index("trash_account_batch", "trash", ["account", "batch"])
    op.create_index("trash_account_item", "trash", ["account", "kind", "item"])
    op.create_index("trash_created", "trash", ["created"])
