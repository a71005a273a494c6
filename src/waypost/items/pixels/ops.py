"""Tracking pixels: an account's tags with thirteen providers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from sqlalchemy import Connection, select

from waypost.core.errors import invalid
from waypost.core.text_folding import first_refused
from waypost.db import change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import link_pixels, links, pixels

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
    """Create a pixel. Raises INVALID on `type` or `tag`."""
    return get_owned(tx, account, crud.add(tx, pixels, account, new_columns(type=type, name=name, tag=tag)))


def new_columns(*, type: str, name: str, tag: str) -> dict[str, str]:
    """Return the columns of a new pixel. Raises INVALID as `add`."""
    canonical_type = _OTHER_NAMES.get(type.lower(), type.lower())
    if canonical_type not in TYPES:
        raise invalid("type", f"type must be one of {', '.join(TYPES)}.")
    return {"type": canonical_type, "name": name, "tag": _checked_tag(tag)}


def change(tx: Connection, account: int, pixel: int, **fields: Unpack[Fields]) -> None:
    """Set the given fields. Raises INVALID on `tag`."""
    if "tag" in fields:
        _checked_tag(fields["tag"])
    _record_change(tx, account, pixel)
    crud.change(tx, pixels, account, pixel, fields)


def remove(tx: Connection, account: int, pixel: int) -> None:
    """Delete a pixel and remove it from its links."""
    get_owned(tx, account, pixel)
    _record_change(tx, account, pixel)
    crud.remove(tx, pixels, account, pixel)


def uses(tx: Connection, account: int, ids: Sequence[int]) -> Mapping[int, int]:
    """Return the number of links per pixel; unused pixels are missing (index link_pixels_pixel)."""
    return crud.count_by(tx, account, link_pixels.c.pixel, ids)


def _record_change(tx: Connection, account: int, pixel: int) -> None:
    """Record a change of the links that use the pixel."""
    link_ids = select(link_pixels.c.link).where(link_pixels.c.pixel == pixel, link_pixels.c.account == account)
    change_log.record_links(tx, (links.c.account == account) & links.c.id.in_(link_ids))


def _checked_tag(tag: str) -> str:
    if not _TAG.match(tag):
        if shown := first_refused(tag, _TAG.match):
            raise invalid("tag", f'tag cannot have "{shown}". Use only A-Z, a-z, 0-9, _ . / and -.')
        raise invalid("tag", "tag must be 1 to 64 characters from A-Z, a-z, 0-9, _ . / and -.")
    return tag
