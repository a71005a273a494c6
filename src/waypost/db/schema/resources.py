"""The tables of the resources that accounts own, and of their aliases and counters."""

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from waypost.db.schema.columns import (
    Id,
    flag,
    id_column,
    inherited_account,
    metadata,
    name_key,
    number,
    owned,
    parent,
    string,
    timestamp,
)

# The aliases of every host. A row is never deleted: without `kind` it is a tombstone that reserves the alias for the
# account that had it before (decision 19); its `item` is then the id of a row of `trash` that has the alias, if any.
aliases = Table(
    "aliases",
    metadata,
    Column("host", Text, primary_key=True),
    Column("alias", String(190), primary_key=True),
    Column("account", Id, ForeignKey("accounts.id", ondelete="SET NULL")),
    Column("kind", String(8)),
    Column("item", Id),
    sqlite_with_rowid=False,
)

domains = owned(
    "domains",
    Column("host", Text, nullable=False),
    Column("scheme", String(5), nullable=False),
    string("redirectroot"),
    string("redirect404"),
    flag("ignorecase"),
    string("brandname"),
    string("brandcolor"),
    string("brandlogo"),
    UniqueConstraint("host"),
)

campaigns = owned(
    "campaigns",
    Column("name", Text, nullable=False),
    name_key(),
    Column("slug", String(50)),
    flag("public"),
    flag("indexable"),
    number("views"),
    Column("rotation", String(8), nullable=False, default="random"),
    flag("sticky"),
    Column("winner", BigInteger),
    UniqueConstraint("account", "name"),
    Index("campaigns_account_name_key_unique", "account", "name_key", unique=True),
)

splashes = owned(
    "splashes",
    Column("name", Text, nullable=False),
    string("title"),
    string("message"),
    number("counter"),
    number("skip"),
    string("link"),
    string("banner"),
    string("logo"),
)

overlays = owned(
    "overlays",
    Column("name", Text, nullable=False),
    Column("type", String(16), nullable=False),
    string("message"),
    string("label"),
    string("link"),
    string("position", "bottom-right"),
    string("color", "#000000"),
    string("background", "#ffffff"),
    number("delay"),
    string("button"),
    string("thanks"),
    Column("options", JSON, nullable=False, default=[]),
    string("code"),
    string("image"),
    string("webhook"),
)

# Responses that visitors sent with an overlay: a message, an e-mail address, a vote. Deleted with the overlay.
submissions = Table(
    "submissions",
    metadata,
    id_column(),
    inherited_account(),
    parent("overlay", "overlays", "CASCADE"),
    parent("link", "links", "SET NULL"),
    string("name"),
    string("email"),
    string("message"),
    string("choice"),
    timestamp("created"),
    Index("submissions_overlay_id", "overlay", "id"),
    Index("submissions_link", "link"),
    sqlite_autoincrement=True,
)

links = owned(
    "links",
    string("host"),
    Column("alias", String(190), nullable=False),
    Column("url", Text, nullable=False),
    number("urlhash"),  # waypost.links.columns.url_hash
    string("title"),
    string("description"),
    string("search"),
    Column("password", Text),
    timestamp("expiry", optional=True),
    Column("clicklimit", BigInteger),
    number("taken"),
    string("expiryurl"),
    Column("type", String(8), nullable=False, default="direct"),
    parent("splash", "splashes", "SET NULL"),
    parent("overlay", "overlays", "SET NULL"),
    Column("status", String(8), nullable=False, default="public"),
    string("metatitle"),
    string("metadescription"),
    string("metaimage"),
    Column("geotarget", JSON, nullable=False, default=[]),
    Column("devicetarget", JSON, nullable=False, default=[]),
    Column("languagetarget", JSON, nullable=False, default=[]),
    Column("deeplink", JSON, nullable=False, default={}),
    Column("parameters", JSON, nullable=False, default=[]),
    flag("dropquery"),
    parent("campaign", "campaigns", "SET NULL"),
    number("clicks"),
    number("uniqueclicks"),
    number("importedclicks"),
    Index("links_account_clicks", "account", "clicks", "id"),
    Index(
        "links_account_imported",
        *("account", "campaign", "id", "importedclicks"),
        sqlite_where=text("importedclicks > 0"),
        postgresql_where=text("importedclicks > 0"),
    ),
    Index("links_account_urlhash", "account", "urlhash", "id"),
    Index("links_campaign", "campaign", "id"),
    Index("links_account_status", "account", "status", "id"),
    Index("links_splash", "splash"),
    Index("links_overlay", "overlay"),
)

qrs = owned(
    "qrs",
    string("name"),
    Column("alias", String(190), nullable=False),
    Column("type", String(16), nullable=False),
    Column("data", JSON, nullable=False),
    string("foreground", "#000000"),
    string("background", "#ffffff"),
    Column("gradient", JSON(none_as_null=True)),
    string("modules", "square"),
    string("eyes", "square"),
    string("level", "auto"),
    number("margin", 4),
    string("caption"),
    Column("logo", LargeBinary),
    flag("dynamic"),
    number("version", 1),
    number("scans"),
    number("uniquescans"),
)

files = owned(
    "files",
    string("host"),
    Column("alias", String(190), nullable=False),
    Column("name", Text, nullable=False),
    string("filename"),
    string("search"),
    Column("object", Text, nullable=False, unique=True),
    number("size"),
    Column("sha256", LargeBinary, nullable=False),
    Column("mime", Text, nullable=False),
    Column("password", Text),
    timestamp("expiry", optional=True),
    Column("maxdownloads", BigInteger),
    number("taken"),
    number("downloads"),
    number("uniquedownloads"),
    timestamp("ended", optional=True),
    timestamp("purged", optional=True),
    Index("files_expiry", "expiry"),
    Index("files_ended", "ended"),
)

# Counted downloads, for as long as the visitor may resume one (decision 22). `visitor` and `address` are hashes,
# `served` are bytes, of which clients closed the connection before they read `unread`. A download that brought next to
# nothing can be started again until `retry_until` (decision 68).
download_grants = Table(
    "download_grants",
    metadata,
    id_column(),
    inherited_account(),
    parent("file", "files", "CASCADE"),
    Column("visitor", LargeBinary, nullable=False),
    Column("address", LargeBinary),
    number("served"),
    timestamp("expires"),
    Column("unread", BigInteger, nullable=False, server_default="0"),
    Column("retry_until", BigInteger),
    Index("download_grants_file_visitor", "file", "visitor", "id"),
    Index("download_grants_expires", "expires"),
    Index(
        "download_grants_retry",
        "file",
        sqlite_where=text("retry_until IS NOT NULL"),
        postgresql_where=text("retry_until IS NOT NULL"),
    ),
    sqlite_autoincrement=True,
)

# Stored objects without a file: uploads in progress, and objects to delete after `due`. One that is `deleting` can no
# longer become a file.
orphan_objects = Table(
    "orphan_objects",
    metadata,
    Column("object", Text, primary_key=True),
    timestamp("due"),
    flag("deleting"),
    Index("orphan_objects_due", "due"),
)

pixels = owned(
    "pixels",
    Column("type", String(32), nullable=False),
    Column("name", Text, nullable=False),
    Column("tag", String(64), nullable=False),
)

link_pixels = Table(
    "link_pixels",
    metadata,
    Column("link", Id, ForeignKey("links.id", ondelete="CASCADE"), primary_key=True),
    Column("pixel", Id, ForeignKey("pixels.id", ondelete="CASCADE"), primary_key=True),
    Column("account", Id, primary_key=True),
    Index("link_pixels_pixel", "pixel"),
)

channels = owned(
    "channels",
    Column("name", Text, nullable=False),
    name_key(),
    string("description"),
    string("color", "#000000"),
    flag("starred"),
    UniqueConstraint("account", "name"),
    Index("channels_account_name_key_unique", "account", "name_key", unique=True),
)

channel_items = Table(
    "channel_items",
    metadata,
    id_column(),
    inherited_account(),
    parent("channel", "channels", "CASCADE"),
    Column("link", Id, ForeignKey("links.id", ondelete="CASCADE")),
    Column("bio", Id, ForeignKey("bios.id", ondelete="CASCADE")),
    Column("qr", Id, ForeignKey("qrs.id", ondelete="CASCADE")),
    timestamp("assigned"),
    CheckConstraint(
        "(link IS NOT NULL AND bio IS NULL AND qr IS NULL) OR (link IS NULL AND bio IS NOT NULL AND qr IS NULL)"
        " OR (link IS NULL AND bio IS NULL AND qr IS NOT NULL)",
        "one_item",
    ),
    UniqueConstraint("channel", "link"),
    UniqueConstraint("channel", "bio"),
    UniqueConstraint("channel", "qr"),
    Index("channel_items_link", "link"),
    Index("channel_items_bio", "bio"),
    Index("channel_items_qr", "qr"),
    Index("channel_items_channel_id", "channel", "id"),
    sqlite_autoincrement=True,
)
