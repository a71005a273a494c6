"""Keys with the account: of the visitors of a day, of the parts of things, and on PostgreSQL of everything.

Revision: 0010, after 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Parts, and the column and table of the whole that says whose they are.
_NUMBERED = {
    "bio_blocks": ("bio", "bios"),
    "channel_items": ("channel", "channels"),
    "claims": ("file", "files"),
    "submissions": ("overlay", "overlays"),
}
_UNNUMBERED = {
    "link_pixels": ("link", "links"),
    "rotations": ("campaign", "campaigns"),
    "turns": ("campaign", "campaigns"),
}
_OWNED = ("bios", "campaigns", "channels", "domains", "files", "links", "overlays", "pixels", "qrs", "splashes")
# PostgreSQL: the columns of the keys that the account joins.
_KEYS = {
    **dict.fromkeys((*_OWNED, "api_keys", "sessions", *_NUMBERED), "id"),
    "link_pixels": "link, pixel",
    "rotations": "campaign, link",
    "turns": "campaign",
}
_UNIQUE = {
    "api_keys": ("digest",),
    "channel_items": ("channel, link", "channel, bio", "channel, qr"),
    "files": ("object",),
    "sessions": ("digest",),
}
_CASCADE = " ON DELETE CASCADE"
_REFERENCES = (
    ("bio_blocks", "bio", "bios", _CASCADE),
    ("channel_items", "channel", "channels", _CASCADE),
    ("channel_items", "link", "links", _CASCADE),
    ("channel_items", "bio", "bios", _CASCADE),
    ("channel_items", "qr", "qrs", _CASCADE),
    ("claims", "file", "files", _CASCADE),
    ("link_pixels", "link", "links", _CASCADE),
    ("link_pixels", "pixel", "pixels", _CASCADE),
    ("links", "splash", "splashes", ""),
    ("links", "overlay", "overlays", ""),
    ("links", "campaign", "campaigns", ""),
    ("rotations", "campaign", "campaigns", _CASCADE),
    ("rotations", "link", "links", _CASCADE),
    ("submissions", "overlay", "overlays", _CASCADE),
    ("submissions", "link", "links", ""),
    ("turns", "campaign", "campaigns", _CASCADE),
)


def upgrade() -> None:
    """Add the account to keys; -1 for the visitors that are there, as nobody can tell whose they are."""
    if op.get_bind().dialect.name == "postgresql":
        _visitors_on_postgres()
        _keys_on_postgres()
        return
    for table, (column, whole) in _NUMBERED.items():
        op.execute(f"ALTER TABLE {table} ADD COLUMN account INTEGER NOT NULL DEFAULT 0")
        op.execute(f"UPDATE {table} SET account = (SELECT w.account FROM {whole} w WHERE w.id = {table}.{column})")
    visitors = [sa.Column("day", sa.Integer(), nullable=False), sa.Column("digest", sa.LargeBinary(), nullable=False)]
    _rebuild("visitors", visitors, ["day", "account", "digest"], "-1", sqlite_with_rowid=False)
    of_links = [_reference("link_pixels", "link", "links"), _reference("link_pixels", "pixel", "pixels")]
    of_campaigns = [_reference("rotations", "campaign", "campaigns"), _reference("rotations", "link", "links")]
    _rebuild("link_pixels", [*map(_id, ("link", "pixel")), *of_links], ["link", "pixel", "account"])
    counts = [sa.Column("weight", sa.BigInteger(), nullable=False), sa.Column("quota", sa.BigInteger())]
    rotations = [*map(_id, ("campaign", "link")), *counts, _given(), *of_campaigns]
    _rebuild("rotations", rotations, ["campaign", "link", "account"], sqlite_with_rowid=False)
    last = [sa.Column("link", _ID), _given(), sa.Column("winner", _ID)]
    _rebuild("turns", [_id("campaign"), *last, _reference("turns", "campaign", "campaigns")], ["campaign", "account"])
    op.create_index("link_pixels_pixel", "link_pixels", ["pixel"], unique=False)
    op.create_index("rotations_link", "rotations", ["link"], unique=False)


def _visitors_on_postgres() -> None:
    op.execute("ALTER TABLE visitors ADD COLUMN account bigint NOT NULL DEFAULT -1")
    op.execute("ALTER TABLE visitors ALTER COLUMN account DROP DEFAULT")
    op.execute("ALTER TABLE visitors DROP CONSTRAINT visitors_pk")
    op.execute("ALTER TABLE visitors ADD CONSTRAINT visitors_pk PRIMARY KEY (day, account, digest)")


def _keys_on_postgres() -> None:
    for table, column, *_ in _REFERENCES:
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_fk")
    for table, (column, whole) in (_NUMBERED | _UNNUMBERED).items():
        op.execute(f"ALTER TABLE {table} ADD COLUMN account bigint")
        op.execute(f"UPDATE {table} SET account = w.account FROM {whole} w WHERE w.id = {table}.{column}")
        op.execute(f"ALTER TABLE {table} ALTER COLUMN account SET NOT NULL")
    for table, key in _KEYS.items():
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_pk")
        op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {table}_pk PRIMARY KEY ({key}, account)")
    for table, several in _UNIQUE.items():
        for columns in several:
            name = f"{table}_{columns.replace(', ', '_')}_unique"
            op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
            op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} UNIQUE ({columns}, account)")
    for table, column, whole, on_delete in _REFERENCES:
        refers = f"FOREIGN KEY ({column}, account) REFERENCES {whole} (id, account){on_delete}"
        op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_fk {refers}")


def _rebuild(table: str, parts: list[sa.schema.SchemaItem], key: list[str], account: str = "", **options: bool) -> None:
    """SQLite cannot change a key: make the table anew with what is in the old one, and whose it is."""
    op.rename_table(table, "before")
    op.create_table(table, *parts, _id("account"), sa.PrimaryKeyConstraint(*key, name=op.f(f"{table}_pk")), **options)
    names = ", ".join(part.name for part in parts if isinstance(part, sa.Column))
    if not account:
        column, whole = _UNNUMBERED[table]
        account = f"(SELECT w.account FROM {whole} w WHERE w.id = b.{column})"  # noqa: S608  # our own names
    op.execute(f"INSERT INTO {table} ({names}, account) SELECT {names}, {account} FROM before b")
    op.drop_table("before")


def _id(name: str) -> sa.Column[int]:
    return sa.Column(name, _ID, nullable=False)


def _given() -> sa.Column[int]:
    return sa.Column("given", sa.BigInteger(), nullable=False)


def _reference(table: str, column: str, whole: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{whole}.id"], name=op.f(f"{table}_{column}_fk"), ondelete="CASCADE")
