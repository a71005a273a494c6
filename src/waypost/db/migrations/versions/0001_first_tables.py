"""The first tables, and SQLite's search index over links.

Revision: 0001, after None
"""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables, the plan that every new account starts with, and this installation's secret."""
    op.create_table(
        "facts",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("facts_pk")),
    )
    op.create_table(
        "plans",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("rate_limit", sa.BigInteger(), nullable=False),
        sa.Column("upload_limit", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("status IN ('free', 'pro')", name=op.f("plans_status_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("plans_pk")),
        sa.UniqueConstraint("name", name=op.f("plans_name_unique")),
    )
    op.create_table(
        "accounts",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("email_key", sa.Text(), nullable=False),
        sa.Column("username", sa.String(length=64), nullable=False),
        sa.Column("username_key", sa.String(length=64), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("password_changed", sa.BigInteger(), nullable=False),
        sa.Column("plan", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("rate_limit", sa.BigInteger(), nullable=True),
        sa.Column("owner", sa.Boolean(), nullable=False),
        sa.Column("suspended", sa.Boolean(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=True),
        sa.Column("registered", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["plan"], ["plans.id"], name=op.f("accounts_plan_fk"), ondelete="RESTRICT"),
        sa.PrimaryKeyConstraint("id", name=op.f("accounts_pk")),
        sa.UniqueConstraint("email_key", name=op.f("accounts_email_key_unique")),
        sa.UniqueConstraint("username_key", name=op.f("accounts_username_key_unique")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "aliases",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("alias", sa.String(length=50), nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("kind", sa.String(length=8), nullable=True),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("aliases_account_fk"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("host", "alias", name=op.f("aliases_pk")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("hint", sa.String(length=16), nullable=False),
        sa.Column("scope", sa.String(length=8), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=True),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("last_used", sa.BigInteger(), nullable=True),
        sa.Column("window_start", sa.BigInteger(), nullable=False),
        sa.Column("window_used", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("scope IN ('read', 'write')", name=op.f("api_keys_scope_check")),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("api_keys_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("api_keys_pk")),
        sa.UniqueConstraint("digest", name=op.f("api_keys_digest_unique")),
        sqlite_autoincrement=True,
    )
    op.create_index("api_keys_account_id", "api_keys", ["account", "id"], unique=False)
    op.create_table(
        "bios",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("alias", sa.String(length=50), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("theme", sa.Text(), nullable=False),
        sa.Column("blocks", sa.JSON(), nullable=False),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sa.Column("uniqueclicks", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("bios_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("bios_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("bios_account_id", "bios", ["account", "id"], unique=False)
    op.create_table(
        "campaigns",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.String(length=50), nullable=True),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("views", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("campaigns_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("campaigns_pk")),
        sa.UniqueConstraint("account", "name", name=op.f("campaigns_account_name_unique")),
        sqlite_autoincrement=True,
    )
    op.create_index("campaigns_account_id", "campaigns", ["account", "id"], unique=False)
    op.create_table(
        "channels",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("color", sa.Text(), nullable=False),
        sa.Column("starred", sa.Boolean(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("channels_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("channels_pk")),
        sa.UniqueConstraint("account", "name", name=op.f("channels_account_name_unique")),
        sqlite_autoincrement=True,
    )
    op.create_index("channels_account_id", "channels", ["account", "id"], unique=False)
    op.create_table(
        "domains",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("scheme", sa.String(length=5), nullable=False),
        sa.Column("redirectroot", sa.Text(), nullable=False),
        sa.Column("redirect404", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("domains_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("domains_pk")),
        sa.UniqueConstraint("host", name=op.f("domains_host_unique")),
        sqlite_autoincrement=True,
    )
    op.create_index("domains_account_id", "domains", ["account", "id"], unique=False)
    op.create_table(
        "files",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("alias", sa.String(length=50), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("mime", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("expiry", sa.BigInteger(), nullable=True),
        sa.Column("maxdownloads", sa.BigInteger(), nullable=True),
        sa.Column("downloads", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("files_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("files_pk")),
        sa.UniqueConstraint("object", name=op.f("files_object_unique")),
        sqlite_autoincrement=True,
    )
    op.create_index("files_account_id", "files", ["account", "id"], unique=False)
    op.create_table(
        "overlays",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("position", sa.Text(), nullable=False),
        sa.Column("color", sa.Text(), nullable=False),
        sa.Column("background", sa.Text(), nullable=False),
        sa.Column("delay", sa.BigInteger(), nullable=False),
        sa.Column("button", sa.Text(), nullable=False),
        sa.Column("thanks", sa.Text(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("image", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("overlays_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("overlays_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("overlays_account_id", "overlays", ["account", "id"], unique=False)
    op.create_table(
        "pixels",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tag", sa.String(length=64), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("pixels_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pixels_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("pixels_account_id", "pixels", ["account", "id"], unique=False)
    op.create_table(
        "qrs",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("alias", sa.String(length=50), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("foreground", sa.Text(), nullable=False),
        sa.Column("background", sa.Text(), nullable=False),
        sa.Column("logo", sa.LargeBinary(), nullable=True),
        sa.Column("dynamic", sa.Boolean(), nullable=False),
        sa.Column("scans", sa.BigInteger(), nullable=False),
        sa.Column("uniquescans", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("qrs_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("qrs_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("qrs_account_id", "qrs", ["account", "id"], unique=False)
    op.create_table(
        "splashes",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("counter", sa.BigInteger(), nullable=False),
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("banner", sa.Text(), nullable=False),
        sa.Column("logo", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("splashes_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("splashes_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("splashes_account_id", "splashes", ["account", "id"], unique=False)
    op.create_table(
        "tallies",
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("noun", sa.String(length=16), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("tallies_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("account", "noun", "level", "block", name=op.f("tallies_pk")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "links",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("alias", sa.String(length=50), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("expiry", sa.BigInteger(), nullable=True),
        sa.Column("clicklimit", sa.BigInteger(), nullable=True),
        sa.Column("expiryurl", sa.Text(), nullable=False),
        sa.Column("type", sa.String(length=8), nullable=False),
        sa.Column("splash", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("overlay", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("status", sa.String(length=8), nullable=False),
        sa.Column("metatitle", sa.Text(), nullable=False),
        sa.Column("metadescription", sa.Text(), nullable=False),
        sa.Column("metaimage", sa.Text(), nullable=False),
        sa.Column("geotarget", sa.JSON(), nullable=False),
        sa.Column("devicetarget", sa.JSON(), nullable=False),
        sa.Column("languagetarget", sa.JSON(), nullable=False),
        sa.Column("deeplink", sa.JSON(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("campaign", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sa.Column("uniqueclicks", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("links_account_fk"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name=op.f("links_campaign_fk"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["overlay"], ["overlays.id"], name=op.f("links_overlay_fk"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["splash"], ["splashes.id"], name=op.f("links_splash_fk"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("links_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("links_account_clicks", "links", ["account", "clicks", "id"], unique=False)
    op.create_index("links_account_id", "links", ["account", "id"], unique=False)
    op.create_index("links_campaign", "links", ["campaign", "id"], unique=False)
    op.create_index("links_overlay", "links", ["overlay"], unique=False)
    op.create_index("links_splash", "links", ["splash"], unique=False)
    op.create_table(
        "channel_items",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("channel", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("link", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("bio", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("qr", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("assigned", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "(link IS NOT NULL AND bio IS NULL AND qr IS NULL) OR (link IS NULL AND bio IS NOT NULL AND qr IS NULL) OR (link IS NULL AND bio IS NULL AND qr IS NOT NULL)",
            name=op.f("channel_items_one_item_check"),
        ),
        sa.ForeignKeyConstraint(["bio"], ["bios.id"], name=op.f("channel_items_bio_fk"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["channel"], ["channels.id"], name=op.f("channel_items_channel_fk"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["link"], ["links.id"], name=op.f("channel_items_link_fk"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["qr"], ["qrs.id"], name=op.f("channel_items_qr_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("channel_items_pk")),
        sa.UniqueConstraint("channel", "bio", name=op.f("channel_items_channel_bio_unique")),
        sa.UniqueConstraint("channel", "link", name=op.f("channel_items_channel_link_unique")),
        sa.UniqueConstraint("channel", "qr", name=op.f("channel_items_channel_qr_unique")),
        sqlite_autoincrement=True,
    )
    op.create_index("channel_items_bio", "channel_items", ["bio"], unique=False)
    op.create_index("channel_items_channel_id", "channel_items", ["channel", "id"], unique=False)
    op.create_index("channel_items_link", "channel_items", ["link"], unique=False)
    op.create_index("channel_items_qr", "channel_items", ["qr"], unique=False)
    op.create_table(
        "link_pixels",
        sa.Column("link", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("pixel", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["link"], ["links.id"], name=op.f("link_pixels_link_fk"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["pixel"], ["pixels.id"], name=op.f("link_pixels_pixel_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("link", "pixel", name=op.f("link_pixels_pk")),
    )
    op.create_index("link_pixels_pixel", "link_pixels", ["pixel"], unique=False)
    op.execute("INSERT INTO plans (name, status, rate_limit, upload_limit) VALUES ('free', 'free', 30, 536870912)")
    op.bulk_insert(
        sa.table("facts", sa.column("name", sa.String()), sa.column("value", sa.LargeBinary())),
        [{"name": "secret", "value": secrets.token_bytes(32)}],
    )
    if op.get_bind().dialect.name == "sqlite":
        for statement in _SEARCH:
            op.execute(statement)


# `links.search` by its trigrams: a literal part of at least three characters is found without reading every link.
_SEARCH = (
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
