"""Links as visits need them: the record, and its columns in the statements that read links."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import JSON, Connection, String, and_, bindparam, case, cast, exists, literal_column, null, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.functions import FunctionElement

from waypost.db.driver_statements import DriverSelect
from waypost.db.schema import link_pixels, links
from waypost.visits.interstitial_records import InterstitialColumns, Interstitials, read_interstitials


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
