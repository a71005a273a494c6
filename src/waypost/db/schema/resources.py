"""The tables of the resources that accounts own, of their parts, and of their aliases and counters."""

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
    HOST,
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

_EXPIRES = text("expiry IS NOT NULL")

# The aliases of every host. A row is never deleted: without `kind` it is a tombstone that reserves the alias for the
# account that had it before (decision 19); its `item` is then the id of a row of `trash` that has the alias, if any.
aliases = Table(
    "aliases",
    metadata,
    Column("host", Text, primary_key=True, doc=HOST),
    Column("alias", String(190), primary_key=True, doc="Alias."),
    Column("account", Id, ForeignKey("accounts.id", ondelete="SET NULL")),
    Column("kind", String(8), doc="Kind of the item; empty for a reserved alias."),
    Column("item", Id, doc="Id of the item; empty for a reserved alias."),
    sqlite_with_rowid=False,
)

# With `alsowww`, a domain answers the same host with or without `www.` too. The last two indexes are over the host name
# without and with it that each domain answers, so that no other domain has one of both (waypost.urls.hostnames).
domains = owned(
    "domains",
    Column("host", Text, nullable=False, doc="Host name."),
    Column("scheme", String(5), nullable=False, doc="http or https."),
    string("redirectroot", doc="Destination of the domain without a path."),
    string("redirect404", doc="Destination of unknown aliases."),
    flag("ignorecase", doc="True if aliases ignore case."),
    flag("alsowww", doc="True if the host is answered with and without www."),
    string("brandname", doc="Name on the pages of the domain."),
    string("brandcolor", doc="Color of the pages of the domain."),
    string("brandlogo", doc="Logo on the pages of the domain, a PNG as a data: URL."),
    UniqueConstraint("host"),
    Index(
        "domains_bare_host_unique",
        text("(CASE WHEN substr(host, 1, 4) <> 'www.' THEN host WHEN alsowww THEN substr(host, 5) END)"),
        unique=True,
    ),
    Index(
        "domains_www_host_unique",
        text("(CASE WHEN substr(host, 1, 4) = 'www.' THEN host WHEN alsowww THEN 'www.' || host END)"),
        unique=True,
    ),
)

# The next check of each branded domain, its failures in a row (-1 before the first result), and the problem that it
# has; "" while it works.
domain_checks = Table(
    "domain_checks",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("domain", Id, ForeignKey("domains.id", ondelete="CASCADE"), primary_key=True),
    timestamp("due"),
    number("failures"),
    string("problem"),
    Index("domain_checks_due", "due"),
    Index("domain_checks_domain", "domain"),
    sqlite_with_rowid=False,
)

campaigns = owned(
    "campaigns",
    Column("name", Text, nullable=False, doc="Name."),
    name_key(),
    Column("slug", String(50), doc="Last part of the URL of the rotator; empty without one."),
    flag("public", doc="True if the list page is public."),
    flag("indexable", doc="True if search engines may index the list page."),
    number("views", doc="Visits of rotator and list page."),
    Column("rotation", String(8), nullable=False, default="random", doc="How the rotator selects a link."),
    flag("sticky", doc="True if a visitor always gets the same link."),
    Column("winner", BigInteger, doc="Clicks after which the best link gets all visitors; empty for none."),
    UniqueConstraint("account", "name"),
    Index("campaigns_account_name_key_unique", "account", "name_key", unique=True),
)

splashes = owned(
    "splashes",
    Column("name", Text, nullable=False, doc="Name."),
    string("title", doc="Title."),
    string("message", doc="Text."),
    number("counter", doc="Seconds until visitors are redirected."),
    number("skip", doc="Seconds until visitors can skip the page."),
    string("link", doc="URL of the button."),
    string("banner", doc="URL of the banner."),
    string("logo", doc="URL of the logo."),
)

overlays = owned(
    "overlays",
    Column("name", Text, nullable=False, doc="Name."),
    Column("type", String(16), nullable=False, doc="Type, such as message or poll."),
    string("message", doc="Text."),
    string("label", doc="Label."),
    string("link", doc="URL of the button."),
    string("position", "bottom-right", doc="Position on the page."),
    string("color", "#000000", doc="Color of the text."),
    string("background", "#ffffff", doc="Color of the background."),
    number("delay", doc="Seconds until it appears."),
    string("button", doc="Text of the button."),
    string("thanks", doc="Text after a response."),
    Column("options", JSON, nullable=False, default=[], doc="Options of a poll, as JSON."),
    string("code", doc="Coupon code."),
    string("image", doc="URL of the image."),
    string("webhook", doc="URL that gets the responses."),
)

# Responses that visitors sent with an overlay: a message, an e-mail address, a vote. Deleted with the overlay.
submissions = Table(
    "submissions",
    metadata,
    id_column(),
    inherited_account(),
    parent("overlay", "overlays", "CASCADE", doc="Id of the overlay."),
    parent("link", "links", "SET NULL", doc="Id of the link."),
    string("name", doc="Name of the visitor."),
    string("email", doc="E-mail address of the visitor."),
    string("message", doc="Message."),
    string("choice", doc="Option of a poll."),
    timestamp("created", doc="Time of the response, UTC."),
    Index("submissions_overlay_id", "overlay", "id"),
    Index("submissions_link", "link"),
    sqlite_autoincrement=True,
)

links = owned(
    "links",
    string("host", doc=HOST),
    Column("alias", String(190), nullable=False, doc="Alias."),
    Column("url", Text, nullable=False, doc="Destination."),
    number("urlhash"),  # waypost.items.links.columns.url_hash
    string("title", doc="Title."),
    string("description", doc="Private note."),
    string("search"),
    Column("password", Text),
    timestamp("expiry", optional=True, doc="Last second in which the link works, UTC; empty for none."),
    Column("clicklimit", BigInteger, doc="Clicks after which the link is expired; empty for none."),
    number("taken", doc="Clicks that count toward the limit."),
    string("expiryurl", doc="Destination after the end; empty for an error page."),
    Column("type", String(8), nullable=False, default="direct", doc="direct, frame, splash or overlay."),
    parent("splash", "splashes", "SET NULL", doc="Id of the splash page."),
    parent("overlay", "overlays", "SET NULL", doc="Id of the overlay."),
    Column("status", String(8), nullable=False, default="public", doc="public, private or disabled."),
    string("metatitle", doc="Title for previews in other services."),
    string("metadescription", doc="Description for visitors, on the default splash page and in previews."),
    string("metaimage", doc="URL of the image for previews."),
    Column("geotarget", JSON, nullable=False, default=[], doc="Destinations by country, as JSON."),
    Column("devicetarget", JSON, nullable=False, default=[], doc="Destinations by device, as JSON."),
    Column("languagetarget", JSON, nullable=False, default=[], doc="Destinations by language, as JSON."),
    Column("deeplink", JSON, nullable=False, default={}, doc="App stores and destinations in apps, as JSON."),
    Column(
        "parameters", JSON, nullable=False, default=[], doc="Parameters that are added to the destination, as JSON."
    ),
    flag("dropquery", doc="True if the destination does not get the parameters of the visited URL."),
    parent("campaign", "campaigns", "SET NULL", doc="Id of the campaign."),
    number("clicks", doc="Clicks, including imported ones."),
    number("uniqueclicks", doc="Clicks of distinct visitors of a day."),
    number("importedclicks", doc="Clicks that were imported with the link."),
    Index("links_account_clicks", "account", "clicks", "id"),
    Index(
        "links_account_imported",
        *("account", "campaign", "id", "importedclicks"),
        sqlite_where=text("importedclicks > 0"),
        postgresql_where=text("importedclicks > 0"),
    ),
    Index("links_account_urlhash", "account", "urlhash", "id"),
    Index("links_campaign", "campaign", "account", "id"),
    Index("links_account_status", "account", "status", "id"),
    Index("links_splash", "splash"),
    Index("links_overlay", "overlay"),
    Index("links_expiry", "expiry", "id", sqlite_where=_EXPIRES, postgresql_where=_EXPIRES),
    id_doc="Id, which other tables refer to.",
)

qrs = owned(
    "qrs",
    string("name", doc="Name."),
    Column("alias", String(190), nullable=False, doc="Alias."),
    Column("type", String(16), nullable=False, doc="Type of the content."),
    Column("data", JSON, nullable=False, doc="Content, as JSON."),
    string("foreground", "#000000", doc="Color of the modules."),
    string("background", "#ffffff", doc="Color of the background."),
    Column("gradient", JSON(none_as_null=True), doc="Gradient of the modules, as JSON; empty for none."),
    string("modules", "square", doc="Shape of the modules."),
    string("eyes", "square", doc="Shape of the eyes."),
    string("level", "auto", doc="Error correction."),
    number("margin", 4, doc="Quiet zone, in modules."),
    string("caption", doc="Text below the code."),
    Column("logo", LargeBinary),
    flag("dynamic", doc="True if the code contains the short URL, so that scans are counted."),
    number("version", 1, doc="Number of changes, plus one."),
    number("scans", doc="Scans."),
    number("uniquescans", doc="Scans of distinct visitors of a day."),
    id_doc="Id, which is the name of the picture.",
)

files = owned(
    "files",
    string("host", doc=HOST),
    Column("alias", String(190), nullable=False, doc="Alias."),
    Column("name", Text, nullable=False, doc="Title."),
    string("filename", doc="Name of the file."),
    string("search"),
    Column("object", Text, nullable=False, unique=True),
    number("size", doc="Size in bytes."),
    Column("sha256", LargeBinary, nullable=False, doc="SHA-256 of the bytes, hexadecimal."),
    Column("mime", Text, nullable=False, doc="Media type."),
    Column("password", Text),
    timestamp("expiry", optional=True, doc="Last second in which the file can be downloaded, UTC; empty for none."),
    Column("maxdownloads", BigInteger, doc="Downloads after which the file is expired; empty for none."),
    number("taken", doc="Downloads that count toward the limit."),
    number("downloads", doc="Downloads."),
    number("uniquedownloads", doc="Downloads of distinct visitors of a day."),
    timestamp("ended", optional=True, doc="Time when the expiry was noted, UTC."),
    timestamp("purged", optional=True, doc="Time when the bytes were deleted, UTC."),
    Index("files_expiry", "expiry"),
    Index("files_ended", "ended"),
    id_doc="Id, with which the name of the entry begins.",
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
    Column("type", String(32), nullable=False, doc="Provider."),
    Column("name", Text, nullable=False, doc="Name."),
    Column("tag", String(64), nullable=False, doc="Id at the provider."),
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
    Column("name", Text, nullable=False, doc="Name."),
    name_key(),
    string("description", doc="Description."),
    string("color", "#000000", doc="Color."),
    flag("starred", doc="True if it is at the top of the list."),
    UniqueConstraint("account", "name"),
    Index("channels_account_name_key_unique", "account", "name_key", unique=True),
)

channel_items = Table(
    "channel_items",
    metadata,
    id_column(),
    inherited_account(),
    parent("channel", "channels", "CASCADE", doc="Id of the channel."),
    Column("link", Id, ForeignKey("links.id", ondelete="CASCADE"), doc="Id of the link."),
    Column("bio", Id, ForeignKey("bios.id", ondelete="CASCADE"), doc="Id of the bio page."),
    Column("qr", Id, ForeignKey("qrs.id", ondelete="CASCADE"), doc="Id of the QR code."),
    timestamp("assigned", doc="Time of the assignment, UTC."),
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


# Values of UTM parameters, under a name. Links do not refer to them: they are written into destinations.
utm_templates = owned(
    "utm_templates",
    Column("name", Text, nullable=False, doc="Name."),
    name_key(),
    string("utm_source", doc="Value of utm_source."),
    string("utm_medium", doc="Value of utm_medium."),
    string("utm_campaign", doc="Value of utm_campaign."),
    string("utm_term", doc="Value of utm_term."),
    string("utm_content", doc="Value of utm_content."),
    UniqueConstraint("account", "name"),
    Index("utm_templates_account_name_key_unique", "account", "name_key", unique=True),
)


# One of link, qr, bio and campaign has an id; without one, the whole account is shared. With a `slug` the address is
# public and ends with the id of the share; otherwise it is `token`. `password` is a hash, `firstday` and `lastday` are
# in `timezone`, "" for none; `days` are the last ones until today.
shares = owned(
    "shares",
    Column("link", Id, ForeignKey("links.id", ondelete="CASCADE"), doc="Id of the link."),
    Column("qr", Id, ForeignKey("qrs.id", ondelete="CASCADE"), doc="Id of the QR code."),
    Column("bio", Id, ForeignKey("bios.id", ondelete="CASCADE"), doc="Id of the bio page."),
    Column("campaign", Id, ForeignKey("campaigns.id", ondelete="CASCADE"), doc="Id of the campaign."),
    string("title", doc="Heading of the page."),
    Column("slug", String(50), nullable=False, default="", doc="Part of a public address; empty for a secret one."),
    Column("token", Text, nullable=False, unique=True),
    Column("password", Text),
    string("firstday", doc="First day that is shown; empty for all."),
    string("lastday", doc="Last day that is shown; empty for all."),
    Column("days", BigInteger, doc="Days until today that are shown; empty for all."),
    string("timezone", "UTC", doc="Time zone of the days."),
    timestamp("expiry", optional=True, doc="Last second in which the page works, UTC; empty for none."),
    CheckConstraint(
        "(CASE WHEN link IS NULL THEN 0 ELSE 1 END + CASE WHEN qr IS NULL THEN 0 ELSE 1 END"
        " + CASE WHEN bio IS NULL THEN 0 ELSE 1 END + CASE WHEN campaign IS NULL THEN 0 ELSE 1 END) <= 1",
        "one_item",
    ),
    Index("shares_link", "link"),
    Index("shares_qr", "qr"),
    Index("shares_bio", "bio"),
    Index("shares_campaign", "campaign"),
)
