"""The sheets of items, of their parts, and of the responses of visitors. The schema explains their columns."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import FromClause, Table, func

from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.schema import domains
from waypost.db.schema.nouns import NOUNS, Noun
from waypost.transfer.exports.sheets import Added, Column, Sheet, as_ids, columns_of, related_ids
from waypost.urls import short_urls

_SHORT_URL = Column("shorturl", "Short URL.")
_TEXTS: Mapping[str, str] = {
    "link": "Links with all their rules. Passwords are not in this file, only whether there is one.",
    "qr": "QR codes. Their pictures are in qr/ID.svg, their logos in qr/ID-logo.png.",
    "file": "Files. Their bytes are in files/ID-NAME, unless they were deleted after the expiry.",
    "domain": "Branded domains.",
    "overlay": "CTA overlays.",
    "pixel": "Tracking pixels.",
}
"""The explanation of a sheet, where the label of its kind does not suffice."""


def _has_password(table: Table) -> Column:
    return Column("haspassword", "True if visitors must enter a password.", table.c.password.is_not(None))


def _related(name: str, noun: str, table: Table) -> Column:
    """Return the ids in a table of the items that belong to a link."""
    is_of_link = (table.c.link == schema.links.c.id) & (table.c.account == schema.links.c.account)
    ids = related_ids(table.c[noun], is_of_link)
    return Column(name, f"Ids of the {name}.", ids, as_ids)


_ADDED: Mapping[str, Added] = {
    "link": {
        "id": [_SHORT_URL],
        "description": ["status", _has_password(schema.links)],
        "campaign": [
            _related("channels", "channel", schema.channel_items),
            _related("pixels", "pixel", schema.link_pixels),
        ],
    },
    "file": {"id": [_SHORT_URL], "mime": [_has_password(schema.files)]},
    "qr": {
        "data": ["dynamic"],
        "caption": [
            Column("haslogo", "True if the code has a logo.", func.coalesce(func.length(schema.qrs.c.logo), 0) > 0)
        ],
    },
}
_PARTS = (
    Sheet(
        "rotator_links",
        "Settings of links in the rotator of their campaign.",
        schema.rotator_links,
        columns_of(schema.rotator_links),
    ),
    Sheet(
        "channel_items",
        "The items of channels. One of link, bio and qr has an id.",
        schema.channel_items,
        columns_of(schema.channel_items),
    ),
    Sheet(
        "shares",
        "Share links of statistics without passwords and secret addresses."
        " One of link, qr, bio and campaign has an id; without one, the statistics of the whole account are shared.",
        schema.shares,
        columns_of(schema.shares, {"slug": [_has_password(schema.shares)]}),
    ),
    Sheet(
        "aliases",
        "All aliases, also those of deleted items, which stay reserved.",
        schema.aliases,
        columns_of(schema.aliases),
    ),
    Sheet(
        "import_origins",
        "The source of each link that was imported.",
        schema.import_origins,
        columns_of(schema.import_origins),
    ),
    Sheet("bio_blocks", "Clicks of the links in bio pages.", schema.bio_blocks, columns_of(schema.bio_blocks)),
    Sheet(
        "bio_pictures",
        "Pictures of bio pages. They are in bio/picture-ID.webp.",
        schema.bio_pictures,
        columns_of(schema.bio_pictures),
    ),
    Sheet(
        "presets",
        "Saved views of the list of links, and styles of QR codes.",
        schema.presets,
        columns_of(schema.presets),
    ),
    Sheet("submissions", "Responses of visitors to overlays.", schema.submissions, columns_of(schema.submissions)),
)
_ORDER = (
    *("links", "campaigns", "rotator_links", "channels", "channel_items", "shares", "aliases", "import_origins"),
    *("qr_codes", "bio_pages", "bio_blocks", "bio_pictures", "files", "domains"),
)
"""The first sheets in an archive. Other nouns follow in their order, then other parts."""


def _with_short_url(row: Mapping[str, Any], settings: Settings) -> Mapping[str, Any]:
    return {"shorturl": short_urls.short_url(settings.base, row["host"], row["scheme"], row["alias"])}


def _sheet(noun: Noun) -> Sheet:
    text, columns = _TEXTS.get(noun.kind, f"{noun.labels}."), columns_of(noun.table, _ADDED.get(noun.kind, {}))
    if all(column is not _SHORT_URL for column in columns):
        return Sheet(noun.sheet, text, noun.table, columns)
    joined: FromClause = noun.table.outerjoin(domains, domains.c.host == noun.table.c.host)
    return Sheet(noun.sheet, text, noun.table, columns, joined, [domains.c.scheme], _with_short_url)


def _in_order() -> Iterator[Sheet]:
    sheets = {sheet.name: sheet for sheet in (*map(_sheet, NOUNS.values()), *_PARTS)}
    yield from (sheets.pop(name) for name in _ORDER)
    yield from sheets.values()


SHEETS = tuple(_in_order())
