"""The sheets of links, campaigns and channels."""

from collections.abc import Mapping
from typing import Any

from waypost.db.schema import (
    aliases,
    campaigns,
    channel_items,
    channels,
    domains,
    import_origins,
    link_pixels,
    links,
    rotator_links,
    shares,
)
from waypost.exports.sheets import Column, Sheet, as_ids, as_time, of, related_ids
from waypost.settings import Settings
from waypost.urls import short_urls

CREATED = "Time of creation, UTC."
ACCOUNT_CLICKS = {"clicks": "Clicks.", "uniqueclicks": "Clicks of distinct visitors of a day."}
HOST = "Branded domain; empty for the own host of the service."


def with_short_url(row: Mapping[str, Any], settings: Settings) -> Mapping[str, Any]:
    """Return the short URL of a row with host, scheme and alias."""
    return {"shorturl": short_urls.short_url(settings.base, row["host"], row["scheme"], row["alias"])}


_LINKS = Sheet(
    "links",
    "Links with all their rules. Passwords are not in this file, only whether there is one.",
    links,
    [
        *of(links, {"id": "Id, which other tables refer to."}),
        Column("shorturl", "Short URL."),
        *of(
            links,
            {
                "host": HOST,
                "alias": "Alias.",
                "url": "Destination.",
                "title": "Title.",
                "description": "Private note.",
                "status": "public, private or disabled.",
            },
        ),
        Column("haspassword", "True if visitors must enter a password.", links.c.password.is_not(None)),
        *of(
            links,
            {
                "expiry": "Last second in which the link works, UTC; empty for none.",
                "clicklimit": "Clicks after which the link is expired; empty for none.",
                "taken": "Clicks that count toward the limit.",
                "expiryurl": "Destination after the end; empty for an error page.",
                "type": "direct, frame, splash or overlay.",
                "splash": "Id of the splash page.",
                "overlay": "Id of the overlay.",
                "metatitle": "Title for previews in other services.",
                "metadescription": "Description for visitors, on the default splash page and in previews.",
                "metaimage": "URL of the image for previews.",
                "geotarget": "Destinations by country, as JSON.",
                "devicetarget": "Destinations by device, as JSON.",
                "languagetarget": "Destinations by language, as JSON.",
                "deeplink": "App stores and destinations in apps, as JSON.",
                "parameters": "Parameters that are added to the destination, as JSON.",
                "dropquery": "True if the destination does not get the parameters of the visited URL.",
                "campaign": "Id of the campaign.",
            },
            expiry=as_time,
        ),
        Column(
            "channels",
            "Ids of the channels.",
            related_ids(channel_items.c.channel, channel_items.c.link == links.c.id),
            as_ids,
        ),
        Column(
            "pixels", "Ids of the pixels.", related_ids(link_pixels.c.pixel, link_pixels.c.link == links.c.id), as_ids
        ),
        *of(
            links,
            {
                "clicks": "Clicks, including imported ones.",
                "uniqueclicks": "Clicks of distinct visitors of a day.",
                "importedclicks": "Clicks that were imported with the link.",
                "created": CREATED,
            },
            created=as_time,
        ),
    ],
    joined=links.outerjoin(domains, domains.c.host == links.c.host),
    hidden=[domains.c.scheme],
    derive=with_short_url,
)

_CAMPAIGNS = Sheet(
    "campaigns",
    "Campaigns.",
    campaigns,
    of(
        campaigns,
        {
            "id": "Id.",
            "name": "Name.",
            "slug": "Last part of the URL of the rotator; empty without one.",
            "public": "True if the list page is public.",
            "indexable": "True if search engines may index the list page.",
            "views": "Visits of rotator and list page.",
            "rotation": "How the rotator selects a link.",
            "sticky": "True if a visitor always gets the same link.",
            "winner": "Clicks after which the best link gets all visitors; empty for none.",
            "created": CREATED,
        },
        created=as_time,
    ),
)

_ROTATOR_LINKS = Sheet(
    "rotator_links",
    "Settings of links in the rotator of their campaign.",
    rotator_links,
    of(
        rotator_links,
        {
            "campaign": "Id of the campaign.",
            "link": "Id of the link.",
            "weight": "Share of the visitors, relative to the other links.",
            "quota": "Most visitors; empty for no limit.",
            "given": "Visitors so far, since there is a quota.",
        },
    ),
)

_CHANNELS = Sheet(
    "channels",
    "Channels.",
    channels,
    of(
        channels,
        {
            "id": "Id.",
            "name": "Name.",
            "description": "Description.",
            "color": "Color.",
            "starred": "True if it is at the top of the list.",
            "created": CREATED,
        },
        created=as_time,
    ),
)

_CHANNEL_ITEMS = Sheet(
    "channel_items",
    "The items of channels. One of link, bio and qr has an id.",
    channel_items,
    of(
        channel_items,
        {
            "id": "Id.",
            "channel": "Id of the channel.",
            "link": "Id of the link.",
            "bio": "Id of the bio page.",
            "qr": "Id of the QR code.",
            "assigned": "Time of the assignment, UTC.",
        },
        assigned=as_time,
    ),
)

_IMPORT_ORIGINS = Sheet(
    "import_origins",
    "The source of each link that was imported.",
    import_origins,
    of(
        import_origins,
        {
            "id": "Id.",
            "source": "Kind of the source.",
            "source_id": "Id in the source.",
            "link": "Id of the link.",
            "digest": "SHA-256 of the imported row, by which the next import detects changes.",
        },
    ),
)

_ALIASES = Sheet(
    "aliases",
    "All aliases, also those of deleted items, which stay reserved.",
    aliases,
    of(
        aliases,
        {
            "host": HOST,
            "alias": "Alias.",
            "kind": "Kind of the item; empty for a reserved alias.",
            "item": "Id of the item; empty for a reserved alias.",
        },
    ),
)

_SHARES = Sheet(
    "shares",
    "Share links of statistics without passwords and secret addresses. One of link, qr, bio and campaign has an id.",
    shares,
    [
        *of(
            shares,
            {
                "id": "Id.",
                "link": "Id of the link.",
                "qr": "Id of the QR code.",
                "bio": "Id of the bio page.",
                "campaign": "Id of the campaign.",
                "title": "Heading of the page.",
                "slug": "Part of a public address; empty for a secret one.",
            },
        ),
        Column("haspassword", "True if visitors must enter a password.", shares.c.password.is_not(None)),
        *of(
            shares,
            {
                "firstday": "First day that is shown; empty for all.",
                "lastday": "Last day that is shown; empty for all.",
                "days": "Days until today that are shown; empty for all.",
                "timezone": "Time zone of the days.",
                "expiry": "Last second in which the page works, UTC; empty for none.",
                "created": CREATED,
            },
            expiry=as_time,
            created=as_time,
        ),
    ],
)

SHEETS = (_LINKS, _CAMPAIGNS, _ROTATOR_LINKS, _CHANNELS, _CHANNEL_ITEMS, _SHARES, _ALIASES, _IMPORT_ORIGINS)
