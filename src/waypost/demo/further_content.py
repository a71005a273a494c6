"""Further content of the demo: files, a splash page, an overlay, a pixel, a share link, and the plan of an import."""

import hashlib
import io
import secrets
from collections.abc import Iterator, Sequence
from functools import partial

from sqlalchemy import Connection, select

from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.database import Database
from waypost.demo.content import Target, set_age
from waypost.http import file_names, media_types
from waypost.items.files import ops as files
from waypost.items.files.ops import StoredObject
from waypost.items.links import ops as links
from waypost.items.overlays import ops as overlays
from waypost.items.pixels import ops as pixels
from waypost.items.shares import ops as shares
from waypost.items.splash import ops as splashes
from waypost.storage.store import Store
from waypost.transfer.imports import planner
from waypost.transfer.imports.source_row import Record

_SHOP_URL = "https://shop.juniper.example"
# (alias, file name, content, downloads a day)
_FILES: Sequence[tuple[str, str, bytes, float]] = (
    ("price-list", "Price list 2026.csv", b"item,price\nMug,24\nBowl,32\nPlate,28\nTeapot,74\n", 9),
    ("care-guide", "How to care for stoneware.txt", b"Wash by hand. Dry upside down. No microwave for gold rims.\n", 5),
    ("dates", "Workshops in autumn.csv", b"date,workshop\n2026-10-03,Beginners\n2026-10-10,Children\n", 3),
)


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


def add(database: Database, store: Store, account: int, settings: Settings) -> list[Target]:
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
