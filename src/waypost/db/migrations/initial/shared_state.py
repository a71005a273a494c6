"""State of the whole installation: limits, leases, pending work, and moderation."""

from alembic import op
from sqlalchemy import String

from waypost.db.migrations.initial.tables import ALIAS, BYTES, FLAG, KIND, NUMBER, TEXT, columns, create_table, optional


def create() -> None:
    """Create the tables, in the order of their references."""
    _create_attempt_limits()
    _create_blocklist_entries()
    _create_changes()
    _create_leases()
    _create_orphan_objects()
    _create_reports()


def _create_attempt_limits() -> None:
    create_table(
        "attempt_limits", columns(BYTES, "digest"), columns(NUMBER, "window_end", "remaining"), key=("digest",)
    )
    op.create_index("attempt_limits_window_end", "attempt_limits", ["window_end"])


def _create_blocklist_entries() -> None:
    create_table(
        "blocklist_entries",
        columns(KIND, "kind"),
        columns(TEXT, "value"),
        columns(NUMBER, "created"),
        key=("kind", "value"),
    )


def _create_changes() -> None:
    create_table("changes", columns(TEXT, "host", "alias"), columns(NUMBER, "at"))


def _create_leases() -> None:
    create_table("leases", columns(String(32), "name"), columns(NUMBER, "until"), key=("name",))


def _create_orphan_objects() -> None:
    create_table(
        "orphan_objects",
        columns(TEXT, "object"),
        columns(NUMBER, "due"),
        columns(FLAG, "deleting"),
        key=("object",),
    )
    op.create_index("orphan_objects_due", "orphan_objects", ["due"])


def _create_reports() -> None:
    create_table(
        "reports",
        columns(TEXT, "host"),
        columns(ALIAS, "alias"),
        columns(String(16), "reason"),
        columns(TEXT, "comment"),
        columns(BYTES, "reporter"),
        columns(NUMBER, "created"),
        optional(NUMBER, "closed"),
    )
    op.create_index("reports_name", "reports", ["host", "alias"])
    op.create_index("reports_reporter", "reports", ["reporter", "created"])
