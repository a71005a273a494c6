"""Records of a link's interstitials: splash page, overlay, frame, pixels, preview card. Read together with the link."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, and_, bindparam, select

from waypost.db import crud
from waypost.db.schema import link_pixels, overlays, pixels, splashes

DEFAULT_COUNTER = 5
"""Countdown in seconds of the default splash page, for links with the type `splash`."""

OVERLAYS_WITH_FORM = frozenset({"contact", "newsletter", "poll"})
"""Overlay types whose visitors submit a form."""


@dataclass(frozen=True, slots=True)
class SocialCard:
    """The preview of a link in social networks and messengers. Missing values are ""."""

    title: str
    description: str
    image: str


@dataclass(frozen=True, slots=True)
class Splash:
    """A splash page. Seconds: `counter` until the redirect, `skip` until the visitor can skip it."""

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
    """An overlay. Colors are `#RRGGBB`, `delay` is in seconds; fields that its type does not have are empty."""

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
    """A tracking pixel: a provider's type and the tag there."""

    type: str
    tag: str


@dataclass(frozen=True, slots=True)
class Interstitials:
    """Everything between a link and its destination. At most one of splash, overlay and frame."""

    card: SocialCard | None = None
    splash: Splash | None = None
    overlay: Overlay | None = None
    framed: bool = False
    pixels: Sequence[Pixel] = ()


class InterstitialColumns(NamedTuple):
    """The columns of a link's row that describe its interstitials: never `description`, which is a private note."""

    type: str
    splash: int | None
    overlay: int | None
    title: str
    metatitle: str
    metadescription: str
    metaimage: str
    has_pixels: bool

    @property
    def is_empty(self) -> bool:
        """Return whether the link has no interstitials."""
        return self.type == "direct" and not (self.has_card or self.has_pixels)

    @property
    def has_card(self) -> bool:
        """Return whether the owner has defined a preview card."""
        return bool(self.metatitle or self.metadescription or self.metaimage)


def read_interstitials(tx: Connection, account: int, link: int, columns: InterstitialColumns) -> Interstitials | None:
    """Return a link's interstitials, each read by its primary key; None if there are none."""
    if columns.is_empty:
        return None
    overlay = columns.overlay if columns.type == "overlay" else None
    pixel_rows = tx.execute(_PIXELS, {"account": account, "link": link}).all() if columns.has_pixels else ()
    interstitials = Interstitials(
        card=_card(columns),
        splash=_splash(tx, account, columns) if columns.type == "splash" else None,
        overlay=_OVERLAY.get(tx, account, overlay) if overlay else None,
        framed=columns.type == "frame",
        pixels=tuple(Pixel(*row) for row in pixel_rows),
    )
    return None if interstitials == Interstitials() else interstitials


def find_overlay(tx: Connection, overlay: int) -> Overlay | None:
    """Return an overlay of any account, for the submissions of visitors."""
    row = tx.execute(_ANY_OVERLAY, {"id": overlay}).first()
    return Overlay(*row) if row else None


def _card(columns: InterstitialColumns) -> SocialCard | None:
    if not columns.has_card:
        return None
    return SocialCard(columns.metatitle or columns.title, columns.metadescription, columns.metaimage)


def _splash(tx: Connection, account: int, columns: InterstitialColumns) -> Splash | None:
    """Return the owner's splash page, or a default one with the link's own title and description for visitors."""
    if columns.splash:
        splash: Splash | None = _SPLASH.get(tx, account, columns.splash)
        return splash
    return Splash(0, columns.title, columns.metadescription, DEFAULT_COUNTER, 0, "", columns.metaimage, "")


class _Getter:
    """Reads a row by id and account as a record. Builds the statement once."""

    def __init__(self, table: Table, record: type[Any]) -> None:
        self._record = record
        by_key = (table.c.id == bindparam("id"), table.c.account == bindparam("account"))
        self._query = crud.select_columns(table, record).where(*by_key)

    def get(self, tx: Connection, account: int, id: int) -> Any:
        row = tx.execute(self._query, {"id": id, "account": account}).first()
        return self._record(*row) if row else None


_SPLASH, _OVERLAY = _Getter(splashes, Splash), _Getter(overlays, Overlay)
_ANY_OVERLAY = crud.select_columns(overlays, Overlay).where(overlays.c.id == bindparam("id"))
_PIXELS = (
    select(pixels.c.type, pixels.c.tag)
    .join(link_pixels, and_(link_pixels.c.pixel == pixels.c.id, link_pixels.c.account == pixels.c.account))
    .where(link_pixels.c.link == bindparam("link"), link_pixels.c.account == bindparam("account"))
    .order_by(pixels.c.id)
)
