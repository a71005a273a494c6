"""The tables of what accounts own, and of the names and counts that go with it."""

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from waypost.db.schema.columns import Id, flag, id_column, metadata, moment, number, owned, parent, whose, words

# How many rows an account has in a table, whole and by block of ids: exact totals and any page at one price
# (docs/adr/0002-page-counters.md). Kept by rows.add and rows.remove.
tallies = Table(
    "tallies",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("noun", String(16), primary_key=True),
    Column("level", Integer, primary_key=True),
    Column("block", BigInteger, primary_key=True),
    number("n"),
    sqlite_with_rowid=False,
)

# The names under every host. A row is never deleted: without `kind` it is a tombstone that keeps the name with the
# account that once had it (decision 19).
aliases = Table(
    "aliases",
    metadata,
    Column("host", Text, primary_key=True),
    Column("alias", String(50), primary_key=True),
    Column("account", Id, ForeignKey("accounts.id", ondelete="SET NULL")),
    Column("kind", String(8)),
    Column("item", Id),
    sqlite_with_rowid=False,
)

domains = owned(
    "domains",
    Column("host", Text, nullable=False),
    Column("scheme", String(5), nullable=False),
    words("redirectroot"),
    words("redirect404"),
    UniqueConstraint("host"),
)

campaigns = owned(
    "campaigns",
    Column("name", Text, nullable=False),
    Column("slug", String(50)),
    flag("public"),
    number("views"),
    Column("rotation", String(8), nullable=False, default="random"),
    flag("sticky"),
    Column("winner", BigInteger),
    UniqueConstraint("account", "name"),
)

splashes = owned(
    "splashes",
    Column("name", Text, nullable=False),
    words("title"),
    words("message"),
    number("counter"),
    number("skip"),
    words("link"),
    words("banner"),
    words("logo"),
)

overlays = owned(
    "overlays",
    Column("name", Text, nullable=False),
    Column("type", String(16), nullable=False),
    words("message"),
    words("label"),
    words("link"),
    words("position", "bottom-right"),
    words("color", "#000000"),
    words("background", "#ffffff"),
    number("delay"),
    words("button"),
    words("thanks"),
    Column("options", JSON, nullable=False, default=[]),
    words("code"),
    words("image"),
    words("webhook"),
)

# What visitors sent by an overlay: an answer, an address, a vote. Goes with the overlay.
submissions = Table(
    "submissions",
    metadata,
    id_column(),
    whose(),
    parent("overlay", "overlays", "CASCADE"),
    parent("link", "links", "SET NULL"),
    words("name"),
    words("email"),
    words("message"),
    words("choice"),
    moment("created"),
    Index("submissions_overlay_id", "overlay", "id"),
    Index("submissions_link", "link"),
    sqlite_autoincrement=True,
)

links = owned(
    "links",
    words("host"),
    Column("alias", String(50), nullable=False),
    Column("url", Text, nullable=False),
    words("title"),
    words("description"),
    words("search"),
    Column("password", Text),
    moment("expiry", optional=True),
    Column("clicklimit", BigInteger),
    number("taken"),
    words("expiryurl"),
    Column("type", String(8), nullable=False, default="direct"),
    parent("splash", "splashes", "SET NULL"),
    parent("overlay", "overlays", "SET NULL"),
    Column("status", String(8), nullable=False, default="public"),
    words("metatitle"),
    words("metadescription"),
    words("metaimage"),
    Column("geotarget", JSON, nullable=False, default=[]),
    Column("devicetarget", JSON, nullable=False, default=[]),
    Column("languagetarget", JSON, nullable=False, default=[]),
    Column("deeplink", JSON, nullable=False, default={}),
    Column("parameters", JSON, nullable=False, default=[]),
    parent("campaign", "campaigns", "SET NULL"),
    number("clicks"),
    number("uniqueclicks"),
    Index("links_account_clicks", "account", "clicks", "id"),
    Index("links_campaign", "campaign", "id"),
    Index("links_account_status", "account", "status", "id"),
    Index("links_splash", "splash"),
    Index("links_overlay", "overlay"),
)

bios = owned(
    "bios",
    Column("name", Text, nullable=False),
    Column("alias", String(50), nullable=False),
    words("title"),
    words("description"),
    words("theme", "default"),
    Column("blocks", JSON, nullable=False, default=[]),
    flag("sensitive"),
    number("clicks"),
    number("uniqueclicks"),
)

# The blocks of bio pages that can be followed: `bios.blocks` has their ids, and here is how often they were.
bio_blocks = Table(
    "bio_blocks",
    metadata,
    id_column(),
    whose(),
    parent("bio", "bios", "CASCADE"),
    number("clicks"),
    number("uniqueclicks"),
    Index("bio_blocks_bio", "bio", "id"),
    sqlite_autoincrement=True,
)

qrs = owned(
    "qrs",
    words("name"),
    Column("alias", String(50), nullable=False),
    Column("type", String(16), nullable=False),
    Column("data", JSON, nullable=False),
    words("foreground", "#000000"),
    words("background", "#ffffff"),
    Column("gradient", JSON(none_as_null=True)),
    words("modules", "square"),
    words("eyes", "square"),
    words("level", "auto"),
    number("margin", 4),
    words("caption"),
    Column("logo", LargeBinary),
    flag("dynamic"),
    number("version", 1),
    number("scans"),
    number("uniquescans"),
)

files = owned(
    "files",
    words("host"),
    Column("alias", String(50), nullable=False),
    Column("name", Text, nullable=False),
    words("filename"),
    words("search"),
    Column("object", Text, nullable=False, unique=True),
    number("size"),
    Column("sha256", LargeBinary, nullable=False),
    Column("mime", Text, nullable=False),
    Column("password", Text),
    moment("expiry", optional=True),
    Column("maxdownloads", BigInteger),
    number("taken"),
    number("downloads"),
    number("uniquedownloads"),
    moment("ended", optional=True),
    moment("purged", optional=True),
    Index("files_expiry", "expiry"),
    Index("files_ended", "ended"),
)

# Downloads that were counted, for as long as their visitor may go on with one (decision 22). `visitor` is a hash.
claims = Table(
    "claims",
    metadata,
    id_column(),
    whose(),
    parent("file", "files", "CASCADE"),
    Column("visitor", LargeBinary, nullable=False),
    number("served"),
    moment("until"),
    Index("claims_file_visitor", "file", "visitor", "id"),
    Index("claims_until", "until"),
    sqlite_autoincrement=True,
)

# Objects in the store that no file has: uploads under way, and what is to be removed once `due` is past. A `doomed`
# one is being removed, and cannot become a file any more.
leftovers = Table(
    "leftovers",
    metadata,
    Column("object", Text, primary_key=True),
    moment("due"),
    flag("doomed"),
    Index("leftovers_due", "due"),
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
    words("description"),
    words("color", "#000000"),
    flag("starred"),
    UniqueConstraint("account", "name"),
)

channel_items = Table(
    "channel_items",
    metadata,
    id_column(),
    whose(),
    parent("channel", "channels", "CASCADE"),
    Column("link", Id, ForeignKey("links.id", ondelete="CASCADE")),
    Column("bio", Id, ForeignKey("bios.id", ondelete="CASCADE")),
    Column("qr", Id, ForeignKey("qrs.id", ondelete="CASCADE")),
    moment("assigned"),
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
