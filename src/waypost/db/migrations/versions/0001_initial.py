"""Create all tables, their partitions, SQLite's search index over links, and the first rows.

Revision: 0001
"""

import secrets
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

revision = "0001"
down_revision = None
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_NUMBER, _DAY, _FLAG = sa.BigInteger(), sa.Integer(), sa.Boolean()
_TEXT, _BYTES, _JSON = sa.Text(), sa.LargeBinary(), sa.JSON()
_KIND, _ALIAS = sa.String(8), sa.String(50)
_PARTITIONED = {"click_labels": "day", "click_times": "at", "events": "at_ms", "visitors": "day"}
_WITHOUT_ROWID = {
    *("aliases", "blocklist_entries", "click_labels", "click_times", "link_checks", "page_counters"),
    *("recovery_codes", "rotator_links", "visitors"),
}
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
    _create_links()
    _create_parts()
    _create_clicks()
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
        sa.table("installation", sa.column("name", sa.String()), sa.column("value", _BYTES)),
        [{"name": "secret", "value": secrets.token_bytes(32)}],
    )


def _create_accounts() -> None:
    _create_table("installation", _columns(sa.String(64), "name"), _columns(_BYTES, "value"), key=("name",))
    _create_table(
        "plans",
        _columns(sa.String(64), "name"),
        _columns(sa.String(16), "status"),
        _columns(_NUMBER, "rate_limit", "upload_limit"),
        _optional(_NUMBER, "storage_limit", "item_limit"),
        _check("plans_status_check", "status IN ('free', 'pro')"),
        unique=[("name",)],
        sqlite_autoincrement=False,
    )
    _create_table(
        "accounts",
        _columns(_TEXT, "email", "email_key"),
        _columns(sa.String(64), "username", "username_key"),
        _columns(_TEXT, "password"),
        _columns(_NUMBER, "password_changed"),
        _columns(_ID, "plan"),
        _optional(_NUMBER, "rate_limit"),
        _columns(_FLAG, "owner", "suspended"),
        _optional(_NUMBER, "expires"),
        _columns(_NUMBER, "registered", "stored", "revoked_start", "revoked_used"),
        _reference("accounts", "plan", "plans", "RESTRICT"),
        unique=[("email_key",), ("username_key",)],
    )
    _create_table(
        "api_keys",
        _columns(_ID, "account"),
        _columns(_TEXT, "name"),
        _columns(_BYTES, "digest"),
        _columns(sa.String(16), "hint"),
        _columns(_KIND, "scope"),
        _optional(_NUMBER, "expires"),
        _columns(_NUMBER, "created"),
        _optional(_NUMBER, "last_used"),
        _columns(_NUMBER, "window_start", "window_used"),
        _check("api_keys_scope_check", "scope IN ('read', 'write', 'account')"),
        _reference("api_keys", "account", "accounts", "CASCADE"),
        unique=[("digest",)],
    )
    op.create_index("api_keys_account_id", "api_keys", ["account", "id"])
    _create_table(
        "sessions",
        _columns(_ID, "account"),
        _columns(_BYTES, "digest"),
        _columns(_TEXT, "agent"),
        _columns(_NUMBER, "created", "seen"),
        _reference("sessions", "account", "accounts", "CASCADE"),
        unique=[("digest",)],
    )
    op.create_index("sessions_account_id", "sessions", ["account", "id"])
    op.create_index("sessions_seen", "sessions", ["seen"])
    _create_table(
        "totp_secrets",
        _columns(_ID, "account"),
        _columns(sa.String(64), "secret"),
        _columns(_NUMBER, "last_step", "created", "failures", "day_failures", "day_end", "blocked_until"),
        _reference("totp_secrets", "account", "accounts", "CASCADE"),
        key=("account",),
    )
    _create_table(
        "recovery_codes",
        _columns(_ID, "account"),
        _columns(_BYTES, "digest"),
        _reference("recovery_codes", "account", "accounts", "CASCADE"),
        key=("account", "digest"),
    )


def _create_resources() -> None:
    _create_table(
        "aliases",
        _columns(_TEXT, "host"),
        _columns(_ALIAS, "alias"),
        _optional(_ID, "account"),
        _optional(_KIND, "kind"),
        _optional(_ID, "item"),
        _reference("aliases", "account", "accounts", "SET NULL"),
        key=("host", "alias"),
    )
    _create_table(
        "page_counters",
        _columns(_ID, "account"),
        _columns(sa.String(16), "noun"),
        _columns(_DAY, "level"),
        _columns(_NUMBER, "block", "rows"),
        _reference("page_counters", "account", "accounts", "CASCADE"),
        key=("account", "noun", "level", "block"),
    )
    _create_owned(
        "domains",
        _columns(_TEXT, "host"),
        _columns(sa.String(5), "scheme"),
        _columns(_TEXT, "redirectroot", "redirect404"),
        unique=[("host",)],
    )
    _create_owned(
        "campaigns",
        _columns(_TEXT, "name"),
        _optional(_ALIAS, "slug"),
        _columns(_FLAG, "public"),
        _columns(_NUMBER, "views"),
        _columns(_KIND, "rotation"),
        _columns(_FLAG, "sticky"),
        _optional(_NUMBER, "winner"),
        unique=[("account", "name")],
    )
    _create_owned(
        "splashes",
        _columns(_TEXT, "name", "title", "message"),
        _columns(_NUMBER, "counter", "skip"),
        _columns(_TEXT, "link", "banner", "logo"),
    )
    _create_owned(
        "overlays",
        _columns(_TEXT, "name"),
        _columns(sa.String(16), "type"),
        _columns(_TEXT, "message", "label", "link", "position", "color", "background"),
        _columns(_NUMBER, "delay"),
        _columns(_TEXT, "button", "thanks"),
        _columns(_JSON, "options"),
        _columns(_TEXT, "code", "image", "webhook"),
    )
    _create_owned("pixels", _columns(sa.String(32), "type"), _columns(_TEXT, "name"), _columns(sa.String(64), "tag"))
    _create_owned(
        "channels",
        _columns(_TEXT, "name", "description", "color"),
        _columns(_FLAG, "starred"),
        unique=[("account", "name")],
    )
    _create_owned(
        "bios",
        _columns(_TEXT, "name"),
        _columns(_ALIAS, "alias"),
        _columns(_TEXT, "title", "description", "theme"),
        _columns(_JSON, "blocks"),
        _columns(_FLAG, "sensitive"),
        _columns(_NUMBER, "clicks", "uniqueclicks"),
    )
    _create_owned(
        "qrs",
        _columns(_TEXT, "name"),
        _columns(_ALIAS, "alias"),
        _columns(sa.String(16), "type"),
        _columns(_JSON, "data"),
        _columns(_TEXT, "foreground", "background"),
        _optional(_JSON, "gradient"),
        _columns(_TEXT, "modules", "eyes", "level"),
        _columns(_NUMBER, "margin"),
        _columns(_TEXT, "caption"),
        _optional(_BYTES, "logo"),
        _columns(_FLAG, "dynamic"),
        _columns(_NUMBER, "version", "scans", "uniquescans"),
    )
    _create_owned(
        "files",
        _columns(_TEXT, "host"),
        _columns(_ALIAS, "alias"),
        _columns(_TEXT, "name", "filename", "search", "object"),
        _columns(_NUMBER, "size"),
        _columns(_BYTES, "sha256"),
        _columns(_TEXT, "mime"),
        _optional(_TEXT, "password"),
        _optional(_NUMBER, "expiry", "maxdownloads"),
        _columns(_NUMBER, "taken", "downloads", "uniquedownloads"),
        _optional(_NUMBER, "ended", "purged"),
        unique=[("object",)],
    )
    op.create_index("files_ended", "files", ["ended"])
    op.create_index("files_expiry", "files", ["expiry"])


def _create_links() -> None:
    _create_owned(
        "links",
        _columns(_TEXT, "host"),
        _columns(_ALIAS, "alias"),
        _columns(_TEXT, "url", "title", "description", "search"),
        _optional(_TEXT, "password"),
        _optional(_NUMBER, "expiry", "clicklimit"),
        _columns(_NUMBER, "taken"),
        _columns(_TEXT, "expiryurl"),
        _columns(_KIND, "type"),
        _optional(_ID, "splash", "overlay"),
        _columns(_KIND, "status"),
        _columns(_TEXT, "metatitle", "metadescription", "metaimage"),
        _columns(_JSON, "geotarget", "devicetarget", "languagetarget", "deeplink", "parameters"),
        _optional(_ID, "campaign"),
        _columns(_NUMBER, "clicks", "uniqueclicks"),
        _part_of("links", "campaign", "campaigns", "SET NULL"),
        _part_of("links", "overlay", "overlays", "SET NULL"),
        _part_of("links", "splash", "splashes", "SET NULL"),
    )
    op.create_index("links_account_clicks", "links", ["account", "clicks", "id"])
    op.create_index("links_account_status", "links", ["account", "status", "id"])
    op.create_index("links_campaign", "links", ["campaign", "id"])
    op.create_index("links_overlay", "links", ["overlay"])
    op.create_index("links_splash", "links", ["splash"])
    _create_table(
        "link_pixels",
        _columns(_ID, "link", "pixel", "account"),
        _part_of("link_pixels", "link", "links", "CASCADE"),
        _part_of("link_pixels", "pixel", "pixels", "CASCADE"),
        key=("link", "pixel", "account"),
    )
    op.create_index("link_pixels_pixel", "link_pixels", ["pixel"])
    _create_table(
        "link_checks",
        _columns(_ID, "account", "link"),
        _columns(_NUMBER, "due"),
        _optional(_NUMBER, "checked"),
        _columns(_NUMBER, "status"),
        _optional(_NUMBER, "failing_since"),
        _columns(_NUMBER, "failures"),
        _columns(_FLAG, "dead"),
        _reference("link_checks", "account", "accounts", "CASCADE"),
        _part_of("link_checks", "link", "links", "CASCADE"),
        key=("account", "link"),
    )
    op.create_index("link_checks_dead_account", "link_checks", ["dead", "account", "link"])
    op.create_index("link_checks_due", "link_checks", ["due"])
    op.create_index("link_checks_link", "link_checks", ["link"])


def _create_parts() -> None:
    """The parts of resources; their account is that of the whole."""
    _create_table(
        "submissions",
        _columns(_ID, "account", "overlay"),
        _optional(_ID, "link"),
        _columns(_TEXT, "name", "email", "message", "choice"),
        _columns(_NUMBER, "created"),
        _part_of("submissions", "link", "links", "SET NULL"),
        _part_of("submissions", "overlay", "overlays", "CASCADE"),
    )
    op.create_index("submissions_link", "submissions", ["link"])
    op.create_index("submissions_overlay_id", "submissions", ["overlay", "id"])
    _create_table(
        "bio_blocks",
        _columns(_ID, "account", "bio"),
        _columns(_NUMBER, "clicks", "uniqueclicks"),
        _part_of("bio_blocks", "bio", "bios", "CASCADE"),
    )
    op.create_index("bio_blocks_bio", "bio_blocks", ["bio", "id"])
    _create_table(
        "channel_items",
        _columns(_ID, "account", "channel"),
        _optional(_ID, "link", "bio", "qr"),
        _columns(_NUMBER, "assigned"),
        _check(
            "channel_items_one_item_check",
            "(link IS NOT NULL AND bio IS NULL AND qr IS NULL) OR (link IS NULL AND bio IS NOT NULL AND qr IS NULL)"
            " OR (link IS NULL AND bio IS NULL AND qr IS NOT NULL)",
        ),
        _part_of("channel_items", "bio", "bios", "CASCADE"),
        _part_of("channel_items", "channel", "channels", "CASCADE"),
        _part_of("channel_items", "link", "links", "CASCADE"),
        _part_of("channel_items", "qr", "qrs", "CASCADE"),
        unique=[("channel", "bio"), ("channel", "link"), ("channel", "qr")],
    )
    op.create_index("channel_items_bio", "channel_items", ["bio"])
    op.create_index("channel_items_channel_id", "channel_items", ["channel", "id"])
    op.create_index("channel_items_link", "channel_items", ["link"])
    op.create_index("channel_items_qr", "channel_items", ["qr"])
    _create_table(
        "download_grants",
        _columns(_ID, "account", "file"),
        _columns(_BYTES, "visitor"),
        _columns(_NUMBER, "served", "expires"),
        _part_of("download_grants", "file", "files", "CASCADE"),
    )
    op.create_index("download_grants_expires", "download_grants", ["expires"])
    op.create_index("download_grants_file_visitor", "download_grants", ["file", "visitor", "id"])
    _create_table(
        "rotator_links",
        _columns(_ID, "campaign", "link", "account"),
        _columns(_NUMBER, "weight"),
        _optional(_NUMBER, "quota"),
        _columns(_NUMBER, "given"),
        _part_of("rotator_links", "campaign", "campaigns", "CASCADE"),
        _part_of("rotator_links", "link", "links", "CASCADE"),
        key=("campaign", "link", "account"),
    )
    op.create_index("rotator_links_link", "rotator_links", ["link"])
    _create_table(
        "rotator_state",
        _columns(_ID, "campaign", "account"),
        _optional(_ID, "last_link"),
        _columns(_NUMBER, "clicks"),
        _optional(_ID, "winner"),
        _part_of("rotator_state", "campaign", "campaigns", "CASCADE"),
        key=("campaign", "account"),
    )


def _create_clicks() -> None:
    _create_table(
        "click_labels",
        _columns(_KIND, "kind"),
        _columns(_ID, "item"),
        _columns(_DAY, "day"),
        _columns(sa.String(10), "dimension"),
        _columns(_TEXT, "label"),
        _columns(_ID, "account"),
        _columns(_NUMBER, "n"),
        key=("kind", "item", "day", "dimension", "label", "account"),
    )
    _create_table(
        "click_times",
        _columns(_KIND, "kind"),
        _columns(_ID, "item"),
        _columns(_NUMBER, "at"),
        _columns(_ID, "account"),
        _columns(_NUMBER, "clicks", "uniques", "bots", "previews", "others", "late"),
        key=("kind", "item", "at", "account"),
    )
    _create_table(
        "events",
        _columns(_ID, "id", "account"),
        _columns(_KIND, "kind"),
        _columns(_ID, "item"),
        _columns(_NUMBER, "at_ms"),
        _columns(_KIND, "sort"),
        _columns(_FLAG, "first"),
        _columns(_TEXT, "country", "referrer", "browser", "os", "device", "language", "source"),
        [sa.PrimaryKeyConstraint("id").ddl_if(dialect="sqlite")],
        key=(),
        sqlite_autoincrement=True,
    )
    op.create_index("events_account_id", "events", ["account", "id"])
    _create_table("segments", _columns(sa.String(80), "name"), _columns(_NUMBER, "position"), key=("name",))
    _create_table("visitor_salts", _columns(_DAY, "day"), _columns(_BYTES, "salt"), key=("day",))
    _create_table(
        "visitors",
        _columns(_DAY, "day"),
        _columns(_ID, "account"),
        _columns(_BYTES, "digest"),
        key=("day", "account", "digest"),
    )


def _create_other_tables() -> None:
    _create_table(
        "attempt_limits", _columns(_BYTES, "digest"), _columns(_NUMBER, "window_end", "remaining"), key=("digest",)
    )
    op.create_index("attempt_limits_window_end", "attempt_limits", ["window_end"])
    _create_table(
        "blocklist_entries",
        _columns(_KIND, "kind"),
        _columns(_TEXT, "value"),
        _columns(_NUMBER, "created"),
        key=("kind", "value"),
    )
    _create_table("changes", _columns(_TEXT, "host", "alias"), _columns(_NUMBER, "at"))
    _create_table("leases", _columns(sa.String(32), "name"), _columns(_NUMBER, "until"), key=("name",))
    _create_table(
        "orphan_objects",
        _columns(_TEXT, "object"),
        _columns(_NUMBER, "due"),
        _columns(_FLAG, "deleting"),
        key=("object",),
    )
    op.create_index("orphan_objects_due", "orphan_objects", ["due"])
    _create_table(
        "reports",
        _columns(_TEXT, "host"),
        _columns(_ALIAS, "alias"),
        _columns(sa.String(16), "reason"),
        _columns(_TEXT, "comment"),
        _columns(_BYTES, "reporter"),
        _columns(_NUMBER, "created"),
        _optional(_NUMBER, "closed"),
    )
    op.create_index("reports_name", "reports", ["host", "alias"])
    op.create_index("reports_reporter", "reports", ["reporter", "created"])


def _create_owned(name: str, *parts: Sequence[SchemaItem], unique: Sequence[tuple[str, ...]] = ()) -> None:
    """Create a table whose rows belong to an account and are listed newest first."""
    owner = _reference(name, "account", "accounts", "CASCADE")
    _create_table(name, _columns(_ID, "account"), *parts, _columns(_NUMBER, "created"), owner, unique=unique)
    op.create_index(f"{name}_account_id", name, ["account", "id"])


def _create_table(
    name: str,
    *parts: Sequence[SchemaItem],
    key: tuple[str, ...] = ("id",),
    unique: Sequence[tuple[str, ...]] = (),
    sqlite_autoincrement: bool | None = None,
) -> None:
    """Create a table. The primary key `id` is generated, and SQLite never reuses one."""
    has_id = key == ("id",)
    items = [item for part in parts for item in part]
    has_account = any(isinstance(item, sa.Column) and item.name == "account" and not item.nullable for item in items)
    with_account = _with_account if has_account else lambda *columns: columns
    options: dict[str, Any] = {"sqlite_autoincrement": has_id if sqlite_autoincrement is None else sqlite_autoincrement}
    if name in _WITHOUT_ROWID:
        options["sqlite_with_rowid"] = False
    if name in _PARTITIONED:
        options["postgresql_partition_by"] = f"RANGE ({_PARTITIONED[name]})"
    if has_id:
        items.insert(0, sa.Column("id", _ID, autoincrement=True, nullable=False))
    if key:
        items.append(sa.PrimaryKeyConstraint(*with_account(*key), name=op.f(f"{name}_pk")))
    for columns in unique:
        constraint_name = op.f(f"{name}_{'_'.join(columns)}_unique")
        items.append(sa.UniqueConstraint(*with_account(*columns), name=constraint_name))
    op.create_table(name, *items, **options)


def _columns(kind: TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name in names]


def _optional(kind: TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=True) for name in names]


def _check(name: str, condition: str) -> list[sa.CheckConstraint]:
    return [sa.CheckConstraint(condition, name=op.f(name))]


def _reference(table: str, column: str, parent: str, on_delete: str) -> list[sa.ForeignKeyConstraint]:
    name = op.f(f"{table}_{column}_fk")
    return [sa.ForeignKeyConstraint([column], [f"{parent}.id"], name=name, ondelete=on_delete)]


def _part_of(table: str, column: str, parent: str, on_delete: str) -> list[sa.ForeignKeyConstraint]:
    """A reference to a row of the same account. A distributed PostgreSQL does not support SET NULL on it."""
    if not _is_postgresql():
        return _reference(table, column, parent, on_delete)
    referred, name = [f"{parent}.id", f"{parent}.account"], op.f(f"{table}_{column}_fk")
    cascade = "CASCADE" if on_delete == "CASCADE" else None
    return [sa.ForeignKeyConstraint([column, "account"], referred, name=name, ondelete=cascade)]


def _with_account(*columns: str) -> tuple[str, ...]:
    """The columns of a key. On PostgreSQL keys include the account (ADR 11), except for hosts: those are global."""
    is_complete = not _is_postgresql() or {"account", "host"} & set(columns)
    return columns if is_complete else (*columns, "account")


def _is_postgresql() -> bool:
    return op.get_bind().dialect.name == "postgresql"
