"""The tables of bio pages."""

from sqlalchemy import JSON, Column, Index, LargeBinary, String, Table, Text

from waypost.db.schema.columns import (
    flag,
    id_column,
    inherited_account,
    metadata,
    number,
    owned,
    parent,
    string,
)

bios = owned(
    "bios",
    Column("name", Text, nullable=False),
    Column("alias", String(190), nullable=False),
    string("title"),
    string("description"),
    string("theme", "default"),
    string("avatar"),
    Column("design", JSON(none_as_null=True)),
    Column("blocks", JSON, nullable=False, default=[]),
    flag("sensitive"),
    number("clicks"),
    number("uniqueclicks"),
)

# Clicks of the blocks of bio pages that are links. `bios.blocks` contains their ids.
bio_blocks = Table(
    "bio_blocks",
    metadata,
    id_column(),
    inherited_account(),
    parent("bio", "bios", "CASCADE"),
    number("clicks"),
    number("uniqueclicks"),
    Index("bio_blocks_bio", "bio", "id"),
    sqlite_autoincrement=True,
)

# Pictures that were uploaded for a bio page, as our own copies. `bios.avatar`, `bios.design` and `bios.blocks`
# contain `picture-<id>`.
bio_pictures = Table(
    "bio_pictures",
    metadata,
    id_column(),
    inherited_account(),
    parent("bio", "bios", "CASCADE"),
    Column("data", LargeBinary, nullable=False),
    Index("bio_pictures_bio", "bio", "id"),
    sqlite_autoincrement=True,  # ids are never reused: browsers keep the pictures
)
