"""Content of the demo: the links, codes, pages and campaigns of an imaginary shop."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table, update

from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.items.bios import ops as bios
from waypost.items.campaigns import ops as campaigns
from waypost.items.channels import ops as channels
from waypost.items.domains import ops as domains
from waypost.items.links import ops as links
from waypost.items.qr import ops as qr
from waypost.items.utm import ops as utm_templates
from waypost.urls.url_parts import set_utm_parameters

_SHOP, _EVENTS = "go.juniper.example", "events.juniper.example"
_AGE_SECONDS = 34 * 86_400
_CHANNELS = (("Newsletter", "#2563eb"), ("Instagram", "#db2777"), ("Print", "#d97706"), ("Partners", "#059669"))
_UTM = {
    "Newsletter": {"utm_source": "newsletter", "utm_medium": "email", "utm_campaign": "autumn"},
    "Instagram": {"utm_source": "instagram", "utm_medium": "social", "utm_campaign": "autumn"},
}
"""UTM templates, and the parameters of the links of campaigns, by channel."""
_BLOCKS = (
    {"type": "link", "title": "Autumn collection", "url": "https://shop.juniper.example/collections/autumn"},
    {"type": "link", "title": "Book a pottery workshop", "url": "https://shop.juniper.example/workshops"},
    {"type": "link", "title": "Visit the studio in Porto", "url": "https://shop.juniper.example/visit"},
    {"type": "social", "network": "Instagram", "url": "https://www.instagram.com/juniper.example"},
    {"type": "text", "text": "New pieces every first Friday."},
)
# (alias, title, destination without its scheme, domain, channel or 0, campaign or 0, visits a day)
_LINKS: Sequence[tuple[str, str, str, str, int, int, float]] = (
    ("hours", "Opening hours and directions", "shop.juniper.example/visit", _SHOP, 3, 0, 14),
    ("menu", "Café menu", "shop.juniper.example/cafe/menu", _SHOP, 3, 0, 31),
    ("returns", "Returns and exchanges", "shop.juniper.example/help/returns", _SHOP, 0, 0, 6),
    ("jobs", "Open positions", "shop.juniper.example/jobs", _SHOP, 0, 0, 4),
    ("press", "Press kit", "shop.juniper.example/press", _SHOP, 4, 0, 3),
    ("care", "How to care for stoneware", "journal.juniper.example/care", _SHOP, 1, 0, 9),
    ("glaze-guide", "Guide to our glazes", "journal.juniper.example/glazes", _SHOP, 1, 0, 11),
    ("studio-tour", "Studio tour, video", "journal.juniper.example/studio-tour", _SHOP, 2, 0, 22),
    ("gift-card", "Gift cards", "shop.juniper.example/gift-cards", _SHOP, 1, 2, 12),
    ("wholesale", "Wholesale catalog", "shop.juniper.example/wholesale", _SHOP, 4, 0, 5),
    ("kiln-opening", "Kiln opening night", "tickets.juniper.example/kiln-opening", _EVENTS, 2, 0, 16),
    ("workshop", "Pottery workshop for beginners", "tickets.juniper.example/workshops/beginners", _EVENTS, 1, 0, 27),
    ("workshop-kids", "Pottery workshop for children", "tickets.juniper.example/workshops/children", _EVENTS, 1, 0, 13),
    ("market", "Saturday market, dates", "tickets.juniper.example/market", _EVENTS, 3, 0, 10),
    ("autumn", "Autumn collection", "shop.juniper.example/collections/autumn", _SHOP, 1, 1, 58),
    ("autumn-mugs", "Autumn collection: mugs", "shop.juniper.example/collections/autumn/mugs", _SHOP, 2, 1, 36),
    ("autumn-bowls", "Autumn collection: bowls", "shop.juniper.example/collections/autumn/bowls", _SHOP, 2, 1, 24),
    ("gifts", "Gift guide", "shop.juniper.example/gift-guide", _SHOP, 1, 2, 41),
    ("gifts-25", "Gifts under 25 €", "shop.juniper.example/gift-guide/under-25", _SHOP, 2, 2, 29),
    ("lookbook", "Lookbook, PDF", "shop.juniper.example/lookbook.pdf", _SHOP, 4, 0, 8),
)


@dataclass(frozen=True)
class Target:
    """An item with the number of its visits on an average day. `kind` is that of the click journal."""

    kind: str
    item: int
    visits_per_day: float
    campaign: int = 0


def add(tx: Connection, account: int, settings: Settings) -> list[Target]:
    """Create the content. Return the items that get visits."""
    for host, home in ((_SHOP, "https://shop.juniper.example/"), (_EVENTS, "https://shop.juniper.example/events")):
        domains.add(tx, account, domain=f"https://{host}", settings=settings, redirectroot=home)
    channel_ids = [channels.add(tx, account, name=name, color=color).id for name, color in _CHANNELS]
    campaign_ids = [
        campaigns.add(tx, account, name="Autumn launch", slug="autumn-launch", rotation="weighted", public=True).id,
        campaigns.add(tx, account, name="Gift season", slug="gift-season", rotation="ordered").id,
    ]
    for name, values in _UTM.items():
        utm_templates.add(tx, account, name=name, **values)
    targets = [_add_link(tx, account, settings, row, channel_ids, campaign_ids) for row in _LINKS]
    targets += _add_codes(tx, account, settings)
    targets += _add_bio(tx, account, settings)
    for table in (schema.domains, schema.channels, schema.campaigns, schema.links, schema.qrs, schema.bios):
        set_age(tx, table, account)
    return targets


def _add_link(
    tx: Connection,
    account: int,
    settings: Settings,
    row: tuple[str, str, str, str, int, int, float],
    channel_ids: Sequence[int],
    campaign_ids: Sequence[int],
) -> Target:
    alias, title, address, domain, channel, campaign, visits = row
    url = f"https://{address}"
    if campaign:
        url = set_utm_parameters(url, _UTM[_CHANNELS[channel - 1][0]])
    link = links.add(
        tx,
        account,
        settings=settings,
        url=url,
        custom=alias,
        title=title,
        domain=domain,
        channel=channel_ids[channel - 1] if channel else None,
    ).id
    if campaign:
        campaigns.assign(tx, account, campaign_ids[campaign - 1], link, weight=round(visits / 10))
    return Target("link", link, visits, campaign_ids[campaign - 1] if campaign else 0)


def _add_codes(tx: Connection, account: int, settings: Settings) -> list[Target]:
    """Create QR codes for print, and one for the guests' network, which needs no short URL."""
    targets = []
    for alias, name, path, color, visits in (
        ("table", "Café tables", "cafe/menu", "#7c2d12", 46.0),
        ("poster", "Workshop poster", "workshops", "#1e3a8a", 19.0),
        ("label", "Label on parcels", "journal/care", "#14532d", 24.0),
    ):
        data = f"https://shop.juniper.example/{path}"
        draft = qr.draft(
            tx, settings=settings, custom=alias, type="link", data=data, name=name, foreground=color,
            modules="rounded", eyes="rounded", caption="Scan me",
        )  # fmt: skip
        targets.append(Target("qr", qr.add(tx, account, draft), visits))
    network = {"ssid": "Juniper guests", "pass": "stoneware"}
    qr.add(tx, account, qr.draft(tx, settings=settings, type="wifi", data=network, name="Guest network"))
    return targets


def _add_bio(tx: Connection, account: int, settings: Settings) -> list[Target]:
    """Create a bio page. Return the page and its blocks that are links."""
    text = "Stoneware and a small café in Porto."
    bio = bios.add(
        tx, account, settings=settings, name="Juniper", alias="juniper", title="Juniper Ceramics", description=text,
        theme="forest", blocks=_BLOCKS,
    )  # fmt: skip
    blocks = [block for block in bio.blocks if block["type"] in ("link", "social")]
    shares = (12.0, 8.0, 5.0, 3.0)
    clicked = [Target("block", block["id"], visits) for block, visits in zip(blocks, shares, strict=True)]
    return [Target("bio", bio.id, 34.0), *clicked]


def set_age(tx: Connection, table: Table, account: int) -> None:
    """Make items as old as their first visits."""
    tx.execute(update(table).where(table.c.account == account).values(created=clock.now() - _AGE_SECONDS))
