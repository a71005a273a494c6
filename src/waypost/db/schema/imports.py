"""The tables of imports: the plan of an account, its rows, and the sources of imported links."""

from collections.abc import Mapping
from types import MappingProxyType

from sqlalchemy import JSON, Column, Index, String, Table, Text, UniqueConstraint

from waypost.db.schema.columns import Id, id_column, inherited_account, metadata, number, owned, parent, string

# The plan of an import. `state` is reading, failed (with `error`), planned, applying, applied, undoing or undone.
# `ignored` are the columns that were not read. Rows up to (`stage_position`, `rank_position`, `row_position`),
# clicks up to `clicks_position` and parts up to `parts_position` have been applied; `added` are the ids of channels and
# campaigns that this created. `busy_until`: a process reads, applies or undoes the plan until then, and extends it.
import_plans = owned(
    "import_plans",
    Column("source", String(16), nullable=False),
    Column("conflicts", String(8), nullable=False),
    Column("state", String(8), nullable=False),
    Column("ignored", JSON, nullable=False, default=[]),
    Column("added", JSON, nullable=False, default={}),
    string("error"),
    number("busy_until"),
    number("row_count"),
    number("stage_position"),
    number("rank_position"),
    number("row_position"),
    number("clicks_position"),
    number("parts_position"),
)

# A row of the source and its fate. `line` is its line in the file; `item` is the link that it changes or has created,
# or another `kind` of item; `fields` describe it. Rows are applied in the order of (stage, rank, id). `rank` is the
# time of creation, because lists go by id, or the line in an archive, whose rows are in the order of ids.
import_rows = Table(
    "import_rows",
    metadata,
    id_column(),
    inherited_account(),
    parent("plan", "import_plans", "CASCADE"),
    Column("kind", String(10), nullable=False),
    number("stage"),
    number("line"),
    Column("fate", String(10), nullable=False),
    string("reason"),
    string("losses"),
    string("source_id"),
    string("host"),
    string("alias"),
    string("url"),
    number("created"),
    number("rank"),
    Column("digest", String(64), nullable=False),
    Column("item", Id),
    Column("fields", JSON, nullable=False),
    Index("import_rows_plan_alias", "plan", "host", "alias"),
    Index("import_rows_plan_rank", "plan", "stage", "rank", "id"),
    Index("import_rows_plan_source_id", "plan", "source_id"),
    Index("import_rows_plan_line", "plan", "line"),
    sqlite_autoincrement=True,
)

# Clicks of a row of a plan, as lists: the beginning of a quarter of an hour, the number of clicks, and the labels.
import_clicks = Table(
    "import_clicks",
    metadata,
    id_column(),
    inherited_account(),
    parent("plan", "import_plans", "CASCADE"),
    number("line"),
    Column("clicks", JSON, nullable=False),
    Index("import_clicks_plan", "plan", "id"),
    sqlite_autoincrement=True,
)

# Rows of tables of an archive that belong to its items, such as statistics, as JSON.
import_parts = Table(
    "import_parts",
    metadata,
    id_column(),
    inherited_account(),
    parent("plan", "import_plans", "CASCADE"),
    Column("sheet", String(16), nullable=False),
    Column("content", JSON, nullable=False),
    Index("import_parts_plan", "plan", "id"),
    sqlite_autoincrement=True,
)

# The source of each imported link. `digest` is that of the row: another one means that the row has changed.
import_origins = Table(
    "import_origins",
    metadata,
    id_column(),
    inherited_account(),
    Column("source", String(16), nullable=False, doc="Kind of the source."),
    Column("source_id", Text, nullable=False, doc="Id in the source."),
    parent("link", "links", "CASCADE", doc="Id of the link."),
    Column(
        "digest",
        String(64),
        nullable=False,
        doc="SHA-256 of the imported row, by which the next import detects changes.",
    ),
    UniqueConstraint("account", "source", "source_id"),
    Index("import_origins_link", "link"),
    sqlite_autoincrement=True,
)


SOURCE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "bitly": "Bitly",
        "chhoto": "Chhoto URL",
        "csv": "CSV",
        "dub": "Dub",
        "file": "File",
        "kutt": "Kutt",
        "linkstack": "LinkStack",
        "linktree": "Linktree",
        "rebrandly": "Rebrandly",
        "shlink": "Shlink",
        "short.io": "Short.io",
        "waypost": "waypost",
        "yourls": "YOURLS",
    }
)
