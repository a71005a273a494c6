"""What can stand between a short link and its target, read together with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, and_, bindparam, select

from waypost.db import crud
from waypost.db.schema import link_pixels, overlays, pixels, splashes

PLAIN_COUNTER = 5
"""Seconds that a splash page shows which nobody designed: that of a link whose type is just `splash`."""

OVERLAYS_WITH_FORM = frozenset({"contact", "newsletter", "poll"})
"""Overlay types whose visitors send a form."""


@dataclass(frozen=True, slots=True)
class SocialCard:
    """What a link preview shows of a link; URLs and words are "" when there are none."""

    title: str
    description: str
    image: str


@dataclass(frozen=True, slots=True)
class Splash:
    """A page to read first. `counter` and `skip` are seconds: until it goes on, and until one may go on."""

    id: int
    title: str
    message: str
    counter: int
    skip: int
    link: str
    banner: str
    logo: str


@dataclass(frozen=True, slots=True)
class Overlay:
    """What stands over the target. Colours are `#RRGGBB`, `delay` is seconds; what its type does not have is empty."""

    id: int
    account: int
    type: str
    message: str
    label: str
    link: str
    position: str
    color: str
    background: str
    delay: int
    button: str
    thanks: str
    options: Sequence[str]
    code: str
    image: str
    webhook: str


@dataclass(frozen=True, slots=True)
class Pixel:
    """A tag with one of the thirteen providers."""

    type: str
    tag: str


@dataclass(frozen=True, slots=True)
class Interstitials:
    """Everything on the way to one link's target. At most one of splash, overlay and frame."""

    card: SocialCard | None = None
    splash: Splash | None = None
    overlay: Overlay | None = None
    framed: bool = False
    pixels: Sequence[Pixel] = ()


@dataclass(frozen=True, slots=True)
class InterstitialColumns:
    """What a link's own row says of its way."""

    type: str
    splash: int | None
    overlay: int | None
    title: str
    description: str
    metatitle: str
    metadescription: str
    metaimage: str
    has_pixels: bool

    @property
    def is_none(self) -> bool:
        """Whether nothing is on the way."""
        has_card = self.metatitle or self.metadescription or self.metaimage
        return self.type == "direct" and not (has_card or self.has_pixels)


def read(tx: Connection, account: int, link: int, signs: InterstitialColumns) -> Interstitials | None:
    """What is on the way of a link; None when nothing is. Each part by the key of its table."""
    if signs.is_none:
        return None
    overlay = _OVERLAY.one(tx, account, signs.overlay) if signs.type == "overlay" and signs.overlay else None
    found = tx.execute(_PIXELS, {"account": account, "link": link}).all() if signs.has_pixels else ()
    way = Interstitials(
        card=_card(signs),
        splash=_splash(tx, account, signs) if signs.type == "splash" else None,
        overlay=overlay,
        framed=signs.type == "frame",
        pixels=tuple(Pixel(*row) for row in found),
    )
    return None if way == Interstitials() else way


def overlay(tx: Connection, item: int) -> Overlay | None:
    """An overlay by its number alone: for what visitors send in."""
    row = tx.execute(_ANY_OVERLAY, {"item": item}).first()
    return Overlay(*row) if row else None


def _card(signs: InterstitialColumns) -> SocialCard | None:
    if not (signs.metatitle or signs.metadescription or signs.metaimage):
        return None
    return SocialCard(signs.metatitle or signs.title, signs.metadescription or signs.description, signs.metaimage)


def _splash(tx: Connection, account: int, signs: InterstitialColumns) -> Splash | None:
    """The page that somebody designed, or a plain one in the link's own words."""
    if signs.splash:
        found: Splash | None = _SPLASH.one(tx, account, signs.splash)
        return found
    return Splash(0, signs.title, signs.description, PLAIN_COUNTER, 0, "", signs.metaimage, "")


class _Read:
    """A row by its key as a record; the statement is made once."""

    def __init__(self, table: Table, record: type[Any]) -> None:
        self._record = record
        mine = (table.c.id == bindparam("item"), table.c.account == bindparam("account"))
        self._chosen = crud.columns(table, record).where(*mine)

    def one(self, tx: Connection, account: int, item: int) -> Any:
        row = tx.execute(self._chosen, {"item": item, "account": account}).first()
        return self._record(*row) if row else None


_SPLASH, _OVERLAY = _Read(splashes, Splash), _Read(overlays, Overlay)
_ANY_OVERLAY = crud.columns(overlays, Overlay).where(overlays.c.id == bindparam("item"))
_PIXELS = (
    select(pixels.c.type, pixels.c.tag)
    .join(link_pixels, and_(link_pixels.c.pixel == pixels.c.id, link_pixels.c.account == pixels.c.account))
    .where(link_pixels.c.link == bindparam("link"), link_pixels.c.account == bindparam("account"))
    .order_by(pixels.c.id)
)
