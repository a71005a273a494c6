"""Plans of imports, their rows, and the sources of imported links."""

from alembic import op
from sqlalchemy import String

from waypost.db.migrations.initial.tables import (
    ID,
    JSON,
    KIND,
    NUMBER,
    TEXT,
    columns,
    create_owned,
    create_table,
    optional,
    part_of,
)


def create() -> None:
    """Create the tables, in the order of their references."""
    _create_import_plans()
    _create_import_rows()
    _create_import_clicks()
    _create_import_parts()
    _create_import_origins()


def _create_import_plans() -> None:
    create_owned(
        "import_plans",
        columns(String(16), "source"),
        columns(KIND, "conflicts", "state"),
        columns(JSON, "ignored", "added"),
        columns(TEXT, "error"),
        columns(NUMBER, "busy_until", "row_count", "stage_position", "rank_position", "row_position"),
        columns(NUMBER, "clicks_position", "parts_position"),
    )


def _create_import_rows() -> None:
    create_table(
        "import_rows",
        columns(ID, "account", "plan"),
        columns(String(10), "kind"),
        columns(NUMBER, "stage", "line"),
        columns(String(10), "fate"),
        columns(TEXT, "reason", "losses", "source_id", "host", "alias", "url"),
        columns(NUMBER, "created", "rank"),
        columns(String(64), "digest"),
        optional(ID, "item"),
        columns(JSON, "fields"),
        part_of("import_rows", "plan", "import_plans", "CASCADE"),
    )
    op.create_index("import_rows_plan_alias", "import_rows", ["plan", "host", "alias"])
    op.create_index("import_rows_plan_rank", "import_rows", ["plan", "stage", "rank", "id"])
    op.create_index("import_rows_plan_source_id", "import_rows", ["plan", "source_id"])
    op.create_index("import_rows_plan_line", "import_rows", ["plan", "line"])


def _create_import_clicks() -> None:
    create_table(
        "import_clicks",
        columns(ID, "account", "plan"),
        columns(NUMBER, "line"),
        columns(JSON, "clicks"),
        part_of("import_clicks", "plan", "import_plans", "CASCADE"),
    )
    op.create_index("import_clicks_plan", "import_clicks", ["plan", "id"])


def _create_import_parts() -> None:
    create_table(
        "import_parts",
        columns(ID, "account", "plan"),
        columns(String(16), "sheet"),
        columns(JSON, "content"),
        part_of("import_parts", "plan", "import_plans", "CASCADE"),
    )
    op.create_index("import_parts_plan", "import_parts", ["plan", "id"])


def _create_import_origins() -> None:
    create_table(
        "import_origins",
        columns(ID, "account"),
        columns(String(16), "source"),
        columns(TEXT, "source_id"),
        columns(ID, "link"),
        columns(String(64), "digest"),
        part_of("import_origins", "link", "links", "CASCADE"),
        unique=[("account", "source", "source_id")],
    )
    op.create_index("import_origins_link", "import_origins", ["link"])
