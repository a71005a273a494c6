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
    Column("name", Text, nullable=False, doc="Name."),
    Column("alias", String(190), nullable=False, doc="Alias."),
    string("title", doc="Title."),
    string("description", doc="Description."),
    string("theme", "default", doc="Theme."),
    string("avatar", doc="Name of the picture above the heading, in the folder bio; empty for none."),
    Column("design", JSON(none_as_null=True), doc="Own colors and background, as JSON; empty for those of the theme."),
    Column("blocks", JSON, nullable=False, default=[], doc="Blocks of the page, as JSON."),
    flag("sensitive", doc="True if visitors must confirm a warning."),
    number("clicks", doc="Visits."),
    number("uniqueclicks", doc="Visits of distinct visitors of a day."),
)

# Clicks of the blocks of bio pages that are links. `bios.blocks` contains their ids.
bio_blocks = Table(
    "bio_blocks",
    metadata,
    id_column("Id, which the blocks of the page contain."),
    inherited_account(),
    parent("bio", "bios", "CASCADE", doc="Id of the bio page."),
    number("clicks", doc="Clicks."),
    number("uniqueclicks", doc="Clicks of distinct visitors of a day."),
    Index("bio_blocks_bio", "bio", "id"),
    sqlite_autoincrement=True,
)

# Pictures that were uploaded for a bio page, as our own copies. `bios.avatar`, `bios.design` and `bios.blocks`
# contain `picture-<id>`.
bio_pictures = Table(
    "bio_pictures",
    metadata,
    id_column("Id, with which the name ends."),
    inherited_account(),
    parent("bio", "bios", "CASCADE", doc="Id of the bio page."),
    Column("data", LargeBinary, nullable=False),
    Index("bio_pictures_bio", "bio", "id"),
    sqlite_autoincrement=True,  # ids are never reused: browsers keep the pictures
)
