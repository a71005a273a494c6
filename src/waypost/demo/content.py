"""Content of the demo, an imaginary shop: links, codes, pages and campaigns.

Further content are files, a splash page, an overlay, a pixel, a share link, and the plan of an import.
"""

import base64
import hashlib
import io
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from PIL import Image, ImageDraw
from sqlalchemy import Connection, Table, select, update

from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.database import Database
from waypost.http import file_names, media_types
from waypost.items.bios import ops as bios
from waypost.items.campaigns import ops as campaigns
from waypost.items.channels import ops as channels
from waypost.items.domains import ops as domains
from waypost.items.files import ops as files
from waypost.items.files.ops import StoredObject
from waypost.items.links import ops as links
from waypost.items.overlays import ops as overlays
from waypost.items.pixels import ops as pixels
from waypost.items.qr import ops as qr
from waypost.items.shares import ops as shares
from waypost.items.splash import ops as splashes
from waypost.items.utm import ops as utm_templates
from waypost.media.branding.brand import DATA_PREFIX, Brand
from waypost.storage.store import Store
from waypost.transfer.imports import planner
from waypost.transfer.imports.source_row import Record
from waypost.urls.url_parts import set_utm_parameters

_SHOP, _EVENTS = "go.juniper.example", "events.juniper.example"
_BRAND_COLOR = "#9a3412"
_LOGO_SIDE = 256  # pixels
_LOGO_SCALE = 4  # drawn larger, so that the edges are smooth
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
_EXPIRY = {"kiln-opening": "2030-12-31"}
"""The last day of links that end, by alias."""
_SHOP_URL = "https://shop.juniper.example"
# (alias, file name, content, downloads a day)
_FILES: Sequence[tuple[str, str, bytes, float]] = (
    ("price-list", "Price list 2026.csv", b"item,price\nMug,24\nBowl,32\nPlate,28\nTeapot,74\n", 9),
    ("care-guide", "How to care for stoneware.txt", b"Wash by hand. Dry upside down. No microwave for gold rims.\n", 5),
    ("dates", "Workshops in autumn.csv", b"date,workshop\n2026-10-03,Beginners\n2026-10-10,Children\n", 3),
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
    brand = _sample_brand()
    for host, home in ((_SHOP, "https://shop.juniper.example/"), (_EVENTS, "https://shop.juniper.example/events")):
        domains.add(
            tx, account, domain=f"https://{host}", settings=settings, redirectroot=home, brandname=brand.name,
            brandcolor=brand.color, brandlogo=brand.logo,
        )  # fmt: skip
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
        expiry=_EXPIRY.get(alias),
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


class _OldLinks:
    """The links of another service: two can be created, one has a used alias, and one has no host."""

    name = "csv"

    def __init__(self) -> None:
        self.ignored = ["owner"]

    def __iter__(self) -> Iterator[Record]:
        yield Record(2, url=f"{_SHOP_URL}/clay", alias="clay", title="Clay from the Alentejo", clicks=412)
        yield Record(3, url=f"{_SHOP_URL}/kilns", alias="kilns", title="Our kilns", clicks=97, tags=["Print"])
        yield Record(4, url=f"{_SHOP_URL}/about", alias="juniper", title="An alias in use", clicks=8)
        yield Record(5, url="https://", alias="broken", title="A link without a host")


def add_further(database: Database, store: Store, account: int, settings: Settings) -> list[Target]:
    """Create the content. Return the files, which get downloads."""
    targets = []
    for alias, filename, content, downloads in _FILES:
        stored = _store(database, store, filename, content)
        add_file = partial(files.add, account=account, stored=stored, settings=settings, custom=alias)
        targets.append(Target("file", database.write(add_file).id, downloads))
    database.write(lambda tx: _add_to_links(tx, account, settings))
    planner.make(database, settings, account, _OldLinks(), planner.Options())
    return targets


def _store(database: Database, store: Store, filename: str, content: bytes) -> StoredObject:
    """Store the bytes of a file. The object is an orphan until the file exists."""
    random = secrets.token_hex(16)
    name = f"{random[:2]}/{random}"
    database.write(lambda tx: files.register_upload(tx, name))
    store.save(name, io.BytesIO(content), disposition=file_names.disposition(filename))
    return StoredObject(name, filename, len(content), hashlib.sha256(content).digest(), media_types.detect(content))


def _add_to_links(tx: Connection, account: int, settings: Settings) -> None:
    """Show a splash page, an overlay and a pixel on one link each, and share the statistics of a link."""
    rows = tx.execute(select(schema.links.c.alias, schema.links.c.id).where(schema.links.c.account == account))
    ids = {row.alias: row.id for row in rows}
    splash = splashes.add(
        tx, account, name="Studio news", title="The kiln opens on Friday", counter=5,
        message="Meet the potters, and be the first to see the autumn pieces.", link=f"{_SHOP_URL}/events",
    )  # fmt: skip
    overlay = overlays.add(
        tx, account, name="Newsletter", type="newsletter", message="New glazes, once a month.", button="Sign me up",
        position="bottom-right",
    )  # fmt: skip
    pixel = pixels.add(tx, account, type="analyticspixel", name="Shop analytics", tag="G-JUNIPER01")
    links.change(tx, account, ids["kiln-opening"], settings=settings, type=str(splash.id))
    links.change(tx, account, ids["glaze-guide"], settings=settings, type=f"overlay-{overlay.id}")
    links.change(tx, account, ids["gift-card"], settings=settings, pixels=[pixel.id])
    shares.add(tx, account, "link", ids["autumn"], slug="autumn", days=90, timezone="Europe/Lisbon")
    for table in (schema.files, schema.splashes, schema.overlays, schema.pixels, schema.shares):
        set_age(tx, table, account)


def _sample_brand() -> Brand:
    """Return the brand of the shop: a bowl below two berries."""
    side = _LOGO_SIDE * _LOGO_SCALE
    picture = Image.new("RGBA", (side, side))
    draw = ImageDraw.Draw(picture)
    draw.rounded_rectangle((0, 0, side - 1, side - 1), side * 0.22, fill=_BRAND_COLOR)
    draw.pieslice((side * 0.18, side * 0.16, side * 0.82, side * 0.82), 0, 180, fill="#fff7ed")
    draw.rectangle((side * 0.38, side * 0.78, side * 0.62, side * 0.85), fill="#fff7ed")
    for middle in (0.42, 0.59):
        draw.ellipse((side * (middle - 0.07), side * 0.26, side * (middle + 0.07), side * 0.40), fill="#fdba74")
    content = io.BytesIO()
    picture.resize((_LOGO_SIDE, _LOGO_SIDE), Image.Resampling.LANCZOS).save(content, "PNG", optimize=True)
    return Brand("Juniper Ceramics", _BRAND_COLOR, DATA_PREFIX + base64.b64encode(content.getvalue()).decode())
