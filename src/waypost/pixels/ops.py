"""Tracking pixels: an account's tags with thirteen providers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from sqlalchemy import Connection, func, select

from waypost.db import change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import link_pixels, links, pixels
from waypost.errors import invalid

# Names of the HTTP contract, in its order, each with its second name (decision 38).
TYPES = {
    "tagmanagerpixel": "gtmpixel",
    "analyticspixel": "gapixel",
    "socialapixel": "fbpixel",
    "searchadspixel": "adwordspixel",
    "professionalpixel": "linkedinpixel",
    "microblogpixel": "twitterpixel",
    "retargetpixel": "adrollpixel",
    "qapixel": "quorapixel",
    "boardpixel": "pinterest",
    "searchenginepixel": "bing",
    "ephemeralpixel": "snapchat",
    "forumpixel": "reddit",
    "shortvideopixel": "tiktok",
}
_OTHER_NAMES = {other: name for name, other in TYPES.items()}
_TAG = re.compile(r"[A-Za-z0-9_./-]{1,64}\Z")


@dataclass(frozen=True)
class Pixel:
    """A pixel; `type` is one of TYPES."""

    id: int
    type: str
    name: str
    tag: str
    created: int


class Fields(TypedDict, total=False):
    """The settable fields."""

    name: str
    tag: str


def page(tx: Connection, account: int, window: PageRequest) -> Page[Pixel]:
    """The account's pixels."""
    return crud.page(tx, pixels, account, window, Pixel)


def get_owned(tx: Connection, account: int, pixel: int) -> Pixel:
    """One pixel."""
    return crud.get_owned(tx, pixels, account, pixel, Pixel)


def add(tx: Connection, account: int, *, type: str, name: str, tag: str) -> Pixel:
    """Make a pixel. Raises INVALID on `type` or `tag`."""
    known = _OTHER_NAMES.get(type, type)
    if known not in TYPES:
        raise invalid("type", f"type must be one of {', '.join(TYPES)}.")
    values = {"type": known, "name": name, "tag": _checked_tag(tag)}
    return get_owned(tx, account, crud.add(tx, pixels, account, values))


def change(tx: Connection, account: int, pixel: int, **fields: Unpack[Fields]) -> None:
    """Set the given fields. Raises INVALID on `tag`."""
    if "tag" in fields:
        _checked_tag(fields["tag"])
    _note(tx, account, pixel)
    crud.change(tx, pixels, account, pixel, fields)


def remove(tx: Connection, account: int, pixel: int) -> None:
    """Delete a pixel and remove it from its links."""
    get_owned(tx, account, pixel)
    _note(tx, account, pixel)
    crud.remove(tx, pixels, account, pixel)


def uses(tx: Connection, ids: Sequence[int]) -> Mapping[int, int]:
    """On how many links each of these pixels is, where it is on any (index link_pixels_pixel)."""
    c = link_pixels.c
    counted = select(c.pixel, func.count()).where(c.pixel.in_(ids)).group_by(c.pixel)
    return {int(row[0]): int(row[1]) for row in tx.execute(counted)}


def _note(tx: Connection, account: int, pixel: int) -> None:
    on = select(link_pixels.c.link).where(link_pixels.c.pixel == pixel, link_pixels.c.account == account)
    change_log.record_links(tx, (links.c.account == account) & links.c.id.in_(on))


def _checked_tag(tag: str) -> str:
    if not _TAG.match(tag):
        raise invalid("tag", "tag must be 1 to 64 characters from A-Z, a-z, 0-9, _ . / and -.")
    return tag
