"""Clicks, visitors, and the progress of the ingester."""

from alembic import op
from sqlalchemy import PrimaryKeyConstraint, String

from waypost.db.migrations.initial.tables import (
    BYTES,
    DAY,
    FLAG,
    ID,
    KIND,
    NUMBER,
    TEXT,
    columns,
    create_table,
    is_postgresql,
    reference,
)


def create() -> None:
    """Create the tables, in the order of their references."""
    _create_click_labels()
    _create_click_times()
    _create_edits()
    _create_events()
    _create_segments()
    _create_visit_blocks()
    _create_visitor_salts()
    _create_visitors()


def _create_click_labels() -> None:
    create_table(
        "click_labels",
        columns(KIND, "kind"),
        columns(ID, "item"),
        columns(DAY, "day"),
        columns(String(10), "dimension"),
        columns(TEXT, "label"),
        columns(ID, "account"),
        columns(NUMBER, "n"),
        key=("kind", "item", "day", "dimension", "label", "account"),
    )


def _create_click_times() -> None:
    create_table(
        "click_times",
        columns(KIND, "kind"),
        columns(ID, "item"),
        columns(NUMBER, "at"),
        columns(ID, "account"),
        columns(NUMBER, "clicks", "uniques", "bots", "previews", "others", "late"),
        key=("kind", "item", "at", "account"),
    )


def _create_edits() -> None:
    create_table(
        "edits",
        columns(ID, "account"),
        columns(KIND, "kind"),
        columns(ID, "item"),
        columns(NUMBER, "at"),
        reference("edits", "account", "accounts", "CASCADE"),
        key=("kind", "item", "at"),
    )
    op.create_index("edits_account_at", "edits", ["account", "at"])


def _create_events() -> None:
    create_table(
        "events",
        columns(ID, "id", "account"),
        columns(KIND, "kind"),
        columns(ID, "item"),
        columns(NUMBER, "at_ms"),
        columns(KIND, "sort"),
        columns(FLAG, "first"),
        columns(TEXT, "country", "referrer", "browser", "os", "device", "language", "source"),
        [PrimaryKeyConstraint("id").ddl_if(dialect="sqlite")],
        key=(),
        sqlite_autoincrement=True,
    )
    op.create_index("events_account_id", "events", ["account", "id"])


def _create_segments() -> None:
    create_table("segments", columns(String(80), "name"), columns(NUMBER, "position"), key=("name",))


def _create_visit_blocks() -> None:
    create_table(
        "visit_blocks",
        columns(ID, "account"),
        columns(NUMBER, "last_id", "first_id", "first_ms", "last_ms", "visits"),
        columns(TEXT, "layout"),
        columns(BYTES, "content"),
        key=("account", "last_id"),
    )
    if is_postgresql():
        # Not compressed: a filter reads all blocks of a period, and decompressing takes longer than counting.
        op.execute("ALTER TABLE visit_blocks ALTER COLUMN content SET STORAGE EXTERNAL")


def _create_visitor_salts() -> None:
    create_table("visitor_salts", columns(DAY, "day"), columns(BYTES, "salt"), key=("day",))


def _create_visitors() -> None:
    create_table(
        "visitors",
        columns(DAY, "day"),
        columns(ID, "account"),
        columns(BYTES, "digest"),
        key=("day", "account", "digest"),
    )
