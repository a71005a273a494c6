"""The table of presets."""

from sqlalchemy import JSON, Column, Index, String, Table, Text

from waypost.db.schema.columns import id_column, metadata, name_key, parent

# Settings that an account saved under a name: views of the list of links, and styles of QR codes
# (waypost.dashboard.presets).
presets = Table(
    "presets",
    metadata,
    id_column(),
    parent("account", "accounts", "CASCADE"),
    Column("kind", String(8), nullable=False, doc="links for a view of the list of links, qr for a style of QR codes."),
    Column("name", Text, nullable=False, doc="Name."),
    name_key(),
    Column("settings", JSON, nullable=False, doc="Settings, as JSON."),
    Index("presets_account_kind_name_key_unique", "account", "kind", "name_key", unique=True),
    sqlite_autoincrement=True,
)
