"""Links as visits need them: the record with its interstitials, and its columns in the statements that read links."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    JSON,
    Connection,
    String,
    Table,
    and_,
    bindparam,
    case,
    cast,
    exists,
    literal_column,
    null,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.functions import FunctionElement

from waypost.db import crud
from waypost.db.schema import link_pixels, links, overlays, pixels, splashes
from waypost.db.statements import DriverSelect

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


class LinkView(NamedTuple):
    """A link as a visit needs it. Times are in seconds, UTC; `password` is a hash."""

    id: int
    account: int
    alias: str
    url: str
    title: str
    expiry: int | None
    expiryurl: str
    status: str
    password: str | None = None
    clicklimit: int | None = None
    geotarget: Sequence[Mapping[str, str]] = ()
    devicetarget: Sequence[Mapping[str, str]] = ()
    languagetarget: Sequence[Mapping[str, str]] = ()
    deeplink: Mapping[str, str] | None = None
    parameters: Sequence[Mapping[str, str]] = ()
    dropquery: bool = False
    """The destination does not get the visitor's query."""
    interstitials: Interstitials | None = None
    """Pages before the destination, if any."""

    @property
    def varies(self) -> bool:
        """Return whether the destination depends on the visitor, a password or a click limit."""
        return any(
            (self.geotarget, self.devicetarget, self.languagetarget, self.deeplink, self.password, self.clicklimit)
        )

    @property
    def is_plain(self) -> bool:
        """Return whether every visitor gets the same redirect."""
        return self.status != "disabled" and self.interstitials is None and not self.varies


class _JsonArray(FunctionElement[str]):
    """A JSON array of its arguments, as text."""

    type = String()
    name = "json_array"
    inherit_cache = True


@compiles(_JsonArray, "sqlite")
def _for_sqlite(array: _JsonArray, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_array({compiler.process(array.clauses, **options)})"


@compiles(_JsonArray, "postgresql")
def _for_postgresql(array: _JsonArray, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST(json_build_array({compiler.process(array.clauses, **options)}) AS TEXT)"


def _column(name: str) -> ColumnElement[Any]:
    column = links.c[name]
    return cast(column, String) if isinstance(column.type, JSON) else column


_DEFAULTS = {
    **dict.fromkeys(("geotarget", "devicetarget", "languagetarget", "parameters"), "'[]'"),
    "deeplink": "'{}'",
    "type": "'direct'",
    **dict.fromkeys(("metatitle", "metadescription", "metaimage"), "''"),
}
_MAIN = LinkView._fields[:8]
_RULES = LinkView._fields[8:-1]
_HAS_PIXELS = exists().where(link_pixels.c.link == links.c.id, link_pixels.c.account == links.c.account)
_HAS_DEFAULTS = and_(
    *(links.c[name].is_(None) for name in ("password", "clicklimit")),
    ~links.c.dropquery,
    *(_column(name) == literal_column(default) for name, default in _DEFAULTS.items()),
    ~_HAS_PIXELS,
)
_OTHERS = _JsonArray(*map(_column, _RULES), *map(_column, InterstitialColumns._fields[:-1]), _HAS_PIXELS)
LINK_COLUMNS = (*(links.c[name] for name in _MAIN), case((_HAS_DEFAULTS, null()), else_=_OTHERS).label("others"))
"""The main fields of LinkView, and all others in one column that most links leave NULL: columns cost time."""
_EMPTY_JSON: Mapping[str | None, Any] = {None: None, "null": None, "[]": (), "{}": None}
_LINK = DriverSelect(
    select(*LINK_COLUMNS).where(links.c.id == bindparam("item"), links.c.account == bindparam("account"))
)


def find_link(tx: Connection, account: int, item: int) -> LinkView | None:
    """Return a link by id and account."""
    rows = _LINK.fetch_all(tx, item=item, account=account)
    return read_link(tx, rows[0]) if rows else None


def read_link(tx: Connection, row: Sequence[Any]) -> LinkView | None:
    """Return the link of a row with LINK_COLUMNS; None if there is no link, so that they are NULL."""
    link, columns = link_of(row)
    if link is None or columns is None or columns.is_empty:
        return link
    return link._replace(interstitials=read_interstitials(tx, link.account, link.id, columns))


def link_of(row: Sequence[Any]) -> tuple[LinkView | None, InterstitialColumns | None]:
    """Return the link without its interstitials, and their columns if there may be some."""
    *main, others = row
    if main[0] is None:
        return None, None
    if others is None:
        return LinkView(*main), None
    values = json.loads(others)
    rules = dict(zip(_RULES, values, strict=False))
    for name in rules.keys() & _DEFAULTS.keys():
        text = rules[name]
        rules[name] = _EMPTY_JSON[text] if text in _EMPTY_JSON else json.loads(text)
    rules["dropquery"] = bool(rules["dropquery"])  # SQLite has 0 and 1
    return LinkView(*main, **rules), InterstitialColumns(*values[len(_RULES) :])
