"""Create all tables, their partitions, SQLite's search index over links, and the first rows.

Revision: 0001
"""

import secrets
from typing import Literal

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_PARTITIONED = ("click_labels", "click_times", "events", "visitors")
# The trigrams of `links.search`: finds a literal of at least three characters without reading every link.
_SQLITE_SEARCH = (
    """CREATE VIRTUAL TABLE links_search
        USING fts5(search, content='links', content_rowid='id', tokenize='trigram case_sensitive 1')""",
    """CREATE TRIGGER links_search_added AFTER INSERT ON links BEGIN
        INSERT INTO links_search (rowid, search) VALUES (new.id, new.search);
    END""",
    """CREATE TRIGGER links_search_removed AFTER DELETE ON links BEGIN
        INSERT INTO links_search (links_search, rowid, search) VALUES ('delete', old.id, old.search);
    END""",
    """CREATE TRIGGER links_search_changed AFTER UPDATE OF search ON links WHEN old.search <> new.search BEGIN
        INSERT INTO links_search (links_search, rowid, search) VALUES ('delete', old.id, old.search);
        INSERT INTO links_search (rowid, search) VALUES (new.id, new.search);
    END""",
)


def upgrade() -> None:
    """Create everything."""
    _create_accounts()
    _create_resources()
    _create_links_and_parts()
    _create_other_tables()
    if _is_postgresql():
        for table in _PARTITIONED:
            op.execute(f"CREATE TABLE {table}_rest PARTITION OF {table} DEFAULT")
        # Totals over all days have the day -1.
        op.execute("CREATE TABLE click_labels_all PARTITION OF click_labels FOR VALUES FROM (-1) TO (0)")
    else:
        for statement in _SQLITE_SEARCH:
            op.execute(statement)
    op.execute("INSERT INTO plans (name, status, rate_limit, upload_limit) VALUES ('free', 'free', 30, 536870912)")
    op.bulk_insert(
        sa.table("installation", sa.column("name", sa.String()), sa.column("value", sa.LargeBinary())),
        [{"name": "secret", "value": secrets.token_bytes(32)}],
    )


def _create_accounts() -> None:
    op.create_table(
        "installation",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("installation_pk")),
    )
    op.create_table(
        "plans",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        *_numbers("rate_limit", "upload_limit"),
        sa.Column("storage_limit", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("plans_pk")),
        sa.UniqueConstraint("name", name=op.f("plans_name_unique")),
        sa.CheckConstraint("status IN ('free', 'pro')", name=op.f("plans_status_check")),
    )
    op.create_table(
        "accounts",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_texts("email", "email_key"),
        sa.Column("username", sa.String(64), nullable=False),
        sa.Column("username_key", sa.String(64), nullable=False),
        *_texts("password"),
        *_numbers("password_changed"),
        *_ids("plan"),
        sa.Column("rate_limit", sa.BigInteger(), nullable=True),
        *_flags("owner", "suspended"),
        sa.Column("expires", sa.BigInteger(), nullable=True),
        *_numbers("registered", "stored"),
        sa.PrimaryKeyConstraint("id", name=op.f("accounts_pk")),
        sa.UniqueConstraint("email_key", name=op.f("accounts_email_key_unique")),
        sa.UniqueConstraint("username_key", name=op.f("accounts_username_key_unique")),
        sa.ForeignKeyConstraint(["plan"], ["plans.id"], name=op.f("accounts_plan_fk"), ondelete="RESTRICT"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "api_keys",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        *_texts("name"),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("hint", sa.String(16), nullable=False),
        sa.Column("scope", sa.String(8), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=True),
        *_numbers("created"),
        sa.Column("last_used", sa.BigInteger(), nullable=True),
        *_numbers("window_start", "window_used"),
        _primary_key("api_keys", "id"),
        _unique("api_keys", "digest"),
        sa.CheckConstraint("scope IN ('read', 'write')", name=op.f("api_keys_scope_check")),
        _owner("api_keys"),
        sqlite_autoincrement=True,
    )
    op.create_index("api_keys_account_id", "api_keys", ["account", "id"])
    op.create_table(
        "sessions",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        *_texts("agent"),
        *_numbers("created", "seen"),
        _primary_key("sessions", "id"),
        _unique("sessions", "digest"),
        _owner("sessions"),
        sqlite_autoincrement=True,
    )
    op.create_index("sessions_account_id", "sessions", ["account", "id"])
    op.create_index("sessions_seen", "sessions", ["seen"])
    op.create_table(
        "totp_secrets",
        sa.Column("account", _ID, autoincrement=False, nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        *_numbers("last_step", "created"),
        sa.PrimaryKeyConstraint("account", name=op.f("totp_secrets_pk")),
        _owner("totp_secrets"),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("account", _ID, autoincrement=False, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("account", "digest", name=op.f("recovery_codes_pk")),
        _owner("recovery_codes"),
        sqlite_with_rowid=False,
    )


def _create_resources() -> None:
    op.create_table(
        "aliases",
        *_texts("host"),
        sa.Column("alias", sa.String(50), nullable=False),
        sa.Column("account", _ID, nullable=True),
        sa.Column("kind", sa.String(8), nullable=True),
        sa.Column("item", _ID, nullable=True),
        sa.PrimaryKeyConstraint("host", "alias", name=op.f("aliases_pk")),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("aliases_account_fk"), ondelete="SET NULL"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "page_counters",
        *_ids("account"),
        sa.Column("noun", sa.String(16), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        *_numbers("block", "rows"),
        sa.PrimaryKeyConstraint("account", "noun", "level", "block", name=op.f("page_counters_pk")),
        _owner("page_counters"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "domains",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        *_texts("host"),
        sa.Column("scheme", sa.String(5), nullable=False),
        *_texts("redirectroot", "redirect404"),
        *_numbers("created"),
        _primary_key("domains", "id"),
        sa.UniqueConstraint("host", name=op.f("domains_host_unique")),
        _owner("domains"),
        sqlite_autoincrement=True,
    )
    op.create_index("domains_account_id", "domains", ["account", "id"])
    op.create_table(
        "campaigns",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        *_texts("name"),
        sa.Column("slug", sa.String(50), nullable=True),
        *_flags("public"),
        *_numbers("views"),
        sa.Column("rotation", sa.String(8), nullable=False),
        *_flags("sticky"),
        sa.Column("winner", sa.BigInteger(), nullable=True),
        *_numbers("created"),
        _primary_key("campaigns", "id"),
        sa.UniqueConstraint("account", "name", name=op.f("campaigns_account_name_unique")),
        _owner("campaigns"),
        sqlite_autoincrement=True,
    )
    op.create_index("campaigns_account_id", "campaigns", ["account", "id"])
    op.create_table(
        "splashes",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        *_texts("name", "title", "message"),
        *_numbers("counter", "skip"),
        *_texts("link", "banner", "logo"),
        *_numbers("created"),
        _primary_key("splashes", "id"),
        _owner("splashes"),
        sqlite_autoincrement=True,
    )
    op.create_index("splashes_account_id", "splashes", ["account", "id"])
    op.create_table(
        "overlays",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        *_texts("name"),
        sa.Column("type", sa.String(16), nullable=False),
        *_texts("message", "label", "link", "position", "color", "background"),
        *_numbers("delay"),
        *_texts("button", "thanks"),
        sa.Column("options", sa.JSON(), nullable=False),
        *_texts("code", "image", "webhook"),
        *_numbers("created"),
        _primary_key("overlays", "id"),
        _owner("overlays"),
        sqlite_autoincrement=True,
    )
    op.create_index("overlays_account_id", "overlays", ["account", "id"])
    op.create_table(
        "pixels",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        sa.Column("type", sa.String(32), nullable=False),
        *_texts("name"),
        sa.Column("tag", sa.String(64), nullable=False),
        *_numbers("created"),
        _primary_key("pixels", "id"),
        _owner("pixels"),
        sqlite_autoincrement=True,
    )
    op.create_index("pixels_account_id", "pixels", ["account", "id"])
    op.create_table(
        "channels",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        *_texts("name", "description", "color"),
        *_flags("starred"),
        *_numbers("created"),
        _primary_key("channels", "id"),
        sa.UniqueConstraint("account", "name", name=op.f("channels_account_name_unique")),
        _owner("channels"),
        sqlite_autoincrement=True,
    )
    op.create_index("channels_account_id", "channels", ["account", "id"])
    op.create_table(
        "bios",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        *_texts("name"),
        sa.Column("alias", sa.String(50), nullable=False),
        *_texts("title", "description", "theme"),
        sa.Column("blocks", sa.JSON(), nullable=False),
        *_flags("sensitive"),
        *_numbers("clicks", "uniqueclicks", "created"),
        _primary_key("bios", "id"),
        _owner("bios"),
        sqlite_autoincrement=True,
    )
    op.create_index("bios_account_id", "bios", ["account", "id"])
    op.create_table(
        "qrs",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        *_texts("name"),
        sa.Column("alias", sa.String(50), nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        *_texts("foreground", "background"),
        sa.Column("gradient", sa.JSON(), nullable=True),
        *_texts("modules", "eyes", "level"),
        *_numbers("margin"),
        *_texts("caption"),
        sa.Column("logo", sa.LargeBinary(), nullable=True),
        *_flags("dynamic"),
        *_numbers("version", "scans", "uniquescans", "created"),
        _primary_key("qrs", "id"),
        _owner("qrs"),
        sqlite_autoincrement=True,
    )
    op.create_index("qrs_account_id", "qrs", ["account", "id"])
    op.create_table(
        "files",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        *_texts("host"),
        sa.Column("alias", sa.String(50), nullable=False),
        *_texts("name", "filename", "search", "object"),
        *_numbers("size"),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        *_texts("mime"),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("expiry", sa.BigInteger(), nullable=True),
        sa.Column("maxdownloads", sa.BigInteger(), nullable=True),
        *_numbers("taken", "downloads", "uniquedownloads"),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("purged", sa.BigInteger(), nullable=True),
        *_numbers("created"),
        _primary_key("files", "id"),
        _unique("files", "object"),
        _owner("files"),
        sqlite_autoincrement=True,
    )
    op.create_index("files_account_id", "files", ["account", "id"])
    op.create_index("files_ended", "files", ["ended"])
    op.create_index("files_expiry", "files", ["expiry"])


def _create_links_and_parts() -> None:
    op.create_table(
        "links",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        *_texts("host"),
        sa.Column("alias", sa.String(50), nullable=False),
        *_texts("url", "title", "description", "search"),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("expiry", sa.BigInteger(), nullable=True),
        sa.Column("clicklimit", sa.BigInteger(), nullable=True),
        *_numbers("taken"),
        *_texts("expiryurl"),
        sa.Column("type", sa.String(8), nullable=False),
        sa.Column("splash", _ID, nullable=True),
        sa.Column("overlay", _ID, nullable=True),
        sa.Column("status", sa.String(8), nullable=False),
        *_texts("metatitle", "metadescription", "metaimage"),
        sa.Column("geotarget", sa.JSON(), nullable=False),
        sa.Column("devicetarget", sa.JSON(), nullable=False),
        sa.Column("languagetarget", sa.JSON(), nullable=False),
        sa.Column("deeplink", sa.JSON(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("campaign", _ID, nullable=True),
        *_numbers("clicks", "uniqueclicks", "created"),
        _primary_key("links", "id"),
        _owner("links"),
        _reference("links", "campaign", "campaigns", "SET NULL"),
        _reference("links", "overlay", "overlays", "SET NULL"),
        _reference("links", "splash", "splashes", "SET NULL"),
        sqlite_autoincrement=True,
    )
    op.create_index("links_account_clicks", "links", ["account", "clicks", "id"])
    op.create_index("links_account_id", "links", ["account", "id"])
    op.create_index("links_account_status", "links", ["account", "status", "id"])
    op.create_index("links_campaign", "links", ["campaign", "id"])
    op.create_index("links_overlay", "links", ["overlay"])
    op.create_index("links_splash", "links", ["splash"])
    op.create_table(
        "link_pixels",
        *_ids("link", "pixel", "account"),
        sa.PrimaryKeyConstraint("link", "pixel", "account", name=op.f("link_pixels_pk")),
        _reference("link_pixels", "link", "links", "CASCADE"),
        _reference("link_pixels", "pixel", "pixels", "CASCADE"),
    )
    op.create_index("link_pixels_pixel", "link_pixels", ["pixel"])
    op.create_table(
        "link_checks",
        *_ids("account", "link"),
        *_numbers("due"),
        sa.Column("checked", sa.BigInteger(), nullable=True),
        *_numbers("status"),
        sa.Column("failing_since", sa.BigInteger(), nullable=True),
        *_numbers("failures"),
        *_flags("dead"),
        sa.PrimaryKeyConstraint("account", "link", name=op.f("link_checks_pk")),
        _owner("link_checks"),
        _reference("link_checks", "link", "links", "CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index("link_checks_dead_account", "link_checks", ["dead", "account", "link"])
    op.create_index("link_checks_due", "link_checks", ["due"])
    op.create_index("link_checks_link", "link_checks", ["link"])
    op.create_table(
        "submissions",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account", "overlay"),
        sa.Column("link", _ID, nullable=True),
        *_texts("name", "email", "message", "choice"),
        *_numbers("created"),
        _primary_key("submissions", "id"),
        _reference("submissions", "link", "links", "SET NULL"),
        _reference("submissions", "overlay", "overlays", "CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("submissions_link", "submissions", ["link"])
    op.create_index("submissions_overlay_id", "submissions", ["overlay", "id"])
    op.create_table(
        "bio_blocks",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account", "bio"),
        *_numbers("clicks", "uniqueclicks"),
        _primary_key("bio_blocks", "id"),
        _reference("bio_blocks", "bio", "bios", "CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("bio_blocks_bio", "bio_blocks", ["bio", "id"])
    op.create_table(
        "channel_items",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account", "channel"),
        sa.Column("link", _ID, nullable=True),
        sa.Column("bio", _ID, nullable=True),
        sa.Column("qr", _ID, nullable=True),
        *_numbers("assigned"),
        _primary_key("channel_items", "id"),
        _unique("channel_items", "channel", "bio"),
        _unique("channel_items", "channel", "link"),
        _unique("channel_items", "channel", "qr"),
        sa.CheckConstraint(
            "(link IS NOT NULL AND bio IS NULL AND qr IS NULL) OR (link IS NULL AND bio IS NOT NULL AND qr IS NULL) OR (link IS NULL AND bio IS NULL AND qr IS NOT NULL)",
            name=op.f("channel_items_one_item_check"),
        ),
        _reference("channel_items", "bio", "bios", "CASCADE"),
        _reference("channel_items", "channel", "channels", "CASCADE"),
        _reference("channel_items", "link", "links", "CASCADE"),
        _reference("channel_items", "qr", "qrs", "CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("channel_items_bio", "channel_items", ["bio"])
    op.create_index("channel_items_channel_id", "channel_items", ["channel", "id"])
    op.create_index("channel_items_link", "channel_items", ["link"])
    op.create_index("channel_items_qr", "channel_items", ["qr"])
    op.create_table(
        "download_grants",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account", "file"),
        sa.Column("visitor", sa.LargeBinary(), nullable=False),
        *_numbers("served", "expires"),
        _primary_key("download_grants", "id"),
        _reference("download_grants", "file", "files", "CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("download_grants_expires", "download_grants", ["expires"])
    op.create_index("download_grants_file_visitor", "download_grants", ["file", "visitor", "id"])
    op.create_table(
        "orphan_objects",
        *_texts("object"),
        *_numbers("due"),
        *_flags("deleting"),
        sa.PrimaryKeyConstraint("object", name=op.f("orphan_objects_pk")),
    )
    op.create_index("orphan_objects_due", "orphan_objects", ["due"])
    op.create_table(
        "rotator_links",
        *_ids("campaign", "link", "account"),
        *_numbers("weight"),
        sa.Column("quota", sa.BigInteger(), nullable=True),
        *_numbers("given"),
        sa.PrimaryKeyConstraint("campaign", "link", "account", name=op.f("rotator_links_pk")),
        _reference("rotator_links", "campaign", "campaigns", "CASCADE"),
        _reference("rotator_links", "link", "links", "CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index("rotator_links_link", "rotator_links", ["link"])
    op.create_table(
        "rotator_state",
        *_ids("campaign", "account"),
        sa.Column("last_link", _ID, nullable=True),
        *_numbers("clicks"),
        sa.Column("winner", _ID, nullable=True),
        sa.PrimaryKeyConstraint("campaign", "account", name=op.f("rotator_state_pk")),
        _reference("rotator_state", "campaign", "campaigns", "CASCADE"),
    )


def _create_other_tables() -> None:
    op.create_table(
        "attempt_limits",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        *_numbers("window_start", "remaining"),
        sa.PrimaryKeyConstraint("digest", name=op.f("attempt_limits_pk")),
    )
    op.create_index("attempt_limits_window_start", "attempt_limits", ["window_start"])
    op.create_table(
        "blocklist_entries",
        sa.Column("kind", sa.String(8), nullable=False),
        *_texts("value"),
        *_numbers("created"),
        sa.PrimaryKeyConstraint("kind", "value", name=op.f("blocklist_entries_pk")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "changes",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_texts("host", "alias"),
        *_numbers("at"),
        sa.PrimaryKeyConstraint("id", name=op.f("changes_pk")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "click_labels",
        sa.Column("kind", sa.String(8), nullable=False),
        *_ids("item"),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("dimension", sa.String(10), nullable=False),
        *_texts("label"),
        *_ids("account"),
        *_numbers("n"),
        sa.PrimaryKeyConstraint("kind", "item", "day", "dimension", "label", "account", name=op.f("click_labels_pk")),
        sqlite_with_rowid=False,
        postgresql_partition_by="RANGE (day)",
    )
    op.create_table(
        "click_times",
        sa.Column("kind", sa.String(8), nullable=False),
        *_ids("item"),
        *_numbers("at"),
        *_ids("account"),
        *_numbers("clicks", "uniques", "bots", "previews", "others", "late"),
        sa.PrimaryKeyConstraint("kind", "item", "at", "account", name=op.f("click_times_pk")),
        sqlite_with_rowid=False,
        postgresql_partition_by="RANGE (at)",
    )
    op.create_table(
        "events",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_ids("account"),
        sa.Column("kind", sa.String(8), nullable=False),
        *_ids("item"),
        *_numbers("at_ms"),
        sa.Column("sort", sa.String(8), nullable=False),
        *_flags("first"),
        *_texts("country", "referrer", "browser", "os", "device", "language", "source"),
        sa.PrimaryKeyConstraint("id").ddl_if(dialect="sqlite"),
        sqlite_autoincrement=True,
        postgresql_partition_by="RANGE (at_ms)",
    )
    op.create_index("events_account_id", "events", ["account", "id"])
    op.create_table(
        "leases",
        sa.Column("name", sa.String(32), nullable=False),
        *_numbers("until"),
        sa.PrimaryKeyConstraint("name", name=op.f("leases_pk")),
    )
    op.create_table(
        "reports",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        *_texts("host"),
        sa.Column("alias", sa.String(50), nullable=False),
        sa.Column("reason", sa.String(16), nullable=False),
        *_texts("comment"),
        sa.Column("reporter", sa.LargeBinary(), nullable=False),
        *_numbers("created"),
        sa.Column("closed", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("reports_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("reports_name", "reports", ["host", "alias"])
    op.create_index("reports_reporter", "reports", ["reporter", "created"])
    op.create_table(
        "segments",
        sa.Column("name", sa.String(80), nullable=False),
        *_numbers("position"),
        sa.PrimaryKeyConstraint("name", name=op.f("segments_pk")),
    )
    op.create_table(
        "visitor_salts",
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("visitor_salts_pk")),
    )
    op.create_table(
        "visitors",
        sa.Column("day", sa.Integer(), nullable=False),
        *_ids("account"),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("day", "account", "digest", name=op.f("visitors_pk")),
        sqlite_with_rowid=False,
        postgresql_partition_by="RANGE (day)",
    )


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def _flags(*names: str) -> list[sa.Column[bool]]:
    return [sa.Column(name, sa.Boolean(), nullable=False) for name in names]


def _ids(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, _ID, nullable=False) for name in names]


def _owner(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f(f"{table}_account_fk"), ondelete="CASCADE")


def _is_postgresql() -> bool:
    return op.get_bind().dialect.name == "postgresql"


def _with_account(*columns: str) -> tuple[str, ...]:
    """The columns of a key. On PostgreSQL they include the account (ADR 11)."""
    return (*columns, "account") if _is_postgresql() else columns


def _primary_key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*_with_account(*columns), name=op.f(f"{table}_pk"))


def _unique(table: str, *columns: str) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(*_with_account(*columns), name=op.f(f"{table}_{'_'.join(columns)}_unique"))


def _reference(
    table: str, column: str, parent: str, on_delete: Literal["CASCADE", "SET NULL"]
) -> sa.ForeignKeyConstraint:
    """A reference to a row of the same account. A distributed PostgreSQL does not support SET NULL on it."""
    return sa.ForeignKeyConstraint(
        _with_account(column),
        [f"{parent}.{name}" for name in _with_account("id")],
        name=op.f(f"{table}_{column}_fk"),
        ondelete=None if _is_postgresql() and on_delete == "SET NULL" else on_delete,
    )
