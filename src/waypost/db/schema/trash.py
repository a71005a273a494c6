"""The table of the trash: items that were deleted in the dashboard and can be restored."""

from sqlalchemy import JSON, Column, Index, String

from waypost.db.schema.columns import Id, owned, string

# A deleted item. Its rows are no longer in their tables: `content` has them (waypost.trash.snapshots). `batch` is that
# of the items that were deleted by one action. The alias is a tombstone whose `item` is the id of this row.
trash = owned(
    "trash",
    Column("batch", String(32), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("item", Id, nullable=False),
    string("name"),
    string("host"),
    Column("alias", String(190)),
    Column("content", JSON, nullable=False),
    Index("trash_account_batch", "account", "batch"),
    Index("trash_account_item", "account", "kind", "item"),
)
Index("trash_created", trash.c.created)
