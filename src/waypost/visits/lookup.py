"""Resolve a host and alias to the record of a link, QR code, file or bio page, by indexed reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from sqlalchemy import Connection, Table, and_, bindparam, exists, or_, select

from waypost.db import crud
from waypost.db.schema import aliases, bios, domains, files, link_pixels, links, qrs
from waypost.errors import Problem
from waypost.qrcode import payloads
from waypost.qrcode.payloads import Content, Data, Type
from waypost.settings import Settings
from waypost.urls.alias_namespace import OWN
from waypost.urls.blocklist import Blocklist
from waypost.visits.interstitials import InterstitialColumns, Interstitials, read_interstitials

_URL_FIELDS = ("url", "link", "image", "site")
"""The fields of a bio block that can hold a URL."""


@dataclass(frozen=True, slots=True)
class LinkView:
    """A link as a visit needs it. Times are in seconds, UTC; `password` is a hash."""

    id: int
    account: int
    alias: str
    url: str
    title: str
    password: str | None
    expiry: int | None
    clicklimit: int | None
    expiryurl: str
    status: str
    geotarget: Sequence[Mapping[str, str]] = ()
    devicetarget: Sequence[Mapping[str, str]] = ()
    languagetarget: Sequence[Mapping[str, str]] = ()
    deeplink: Mapping[str, str] | None = None
    parameters: Sequence[Mapping[str, str]] = ()
    interstitials: Interstitials | None = None
    """Pages before the destination, if any."""

    @property
    def is_plain(self) -> bool:
        """Return whether every visitor gets the same redirect, so that the fast path can answer."""
        varies = (self.geotarget, self.devicetarget, self.languagetarget, self.deeplink, self.password, self.clicklimit)
        return self.status != "disabled" and self.interstitials is None and not any(varies)


@dataclass(frozen=True, slots=True)
class QrView:
    """A QR code as a visit needs it. `dynamic`: its image encodes this alias."""

    id: int
    account: int
    alias: str
    name: str
    type: Type
    dynamic: bool
    version: int
    content: Content | None
    """None if a rule has changed since the code was saved, such as a URL scheme that is no longer allowed."""
    is_blocked: bool = False

    @property
    def size(self) -> int:
        """Approximate memory use, in characters."""
        content = self.content
        return sum(map(len, (content.text, content.uri, content.apple, content.google))) if content else 0


@dataclass(frozen=True, slots=True)
class DomainView:
    """A branded domain as a visit needs it. The service's own host has id 0 and account 0."""

    id: int
    account: int
    scheme: str
    redirectroot: str
    redirect404: str


@dataclass(frozen=True, slots=True)
class FileView:
    """A file as a visit needs it, without its download count. `expiry` is in seconds; `password` is a hash."""

    id: int
    account: int
    host: str
    alias: str
    name: str
    filename: str
    object: str
    size: int
    sha256: bytes
    mime: str
    password: str | None
    expiry: int | None
    maxdownloads: int | None
    created: int
    purged: int | None


@dataclass(frozen=True, slots=True)
class BioView:
    """A bio page as a visit needs it. Blocks with a destination have the `id` that their clicks are counted for."""

    id: int
    account: int
    alias: str
    name: str
    title: str
    description: str
    theme: str
    sensitive: bool
    blocks: Sequence[Mapping[str, Any]]

    @property
    def size(self) -> int:
        """Approximate memory use, in characters."""
        return len(self.description) + sum(len(str(value)) for block in self.blocks for value in block.values())


OWN_HOST = DomainView(0, 0, "", "", "")
Resolved = LinkView | QrView | FileView | BioView
"""Everything that an alias can resolve to."""


def resolve(tx: Connection, host: str, alias: str, settings: Settings) -> Resolved | None:
    """Return the record of an alias. Aliases on a branded domain need its account to own the domain (decision 39)."""
    row = _find_alias(tx, host, alias)
    if row and row.kind == "qr":
        return _find_qr(tx, row.account, row.item, settings)
    read = _READERS.get(row.kind) if row else None
    return read(tx, row.account, row.item) if row and read else None


def scheme_of(tx: Connection, host: str, alias: str) -> str | None:
    """Return the scheme of an alias's short URL, `https` or `http`; None if the alias does not exist."""
    row = _find_alias(tx, host, alias)
    return (row.scheme or "https") if row else None


# Statements are built once: building one takes SQLAlchemy twice as long as executing it.
_ALIAS = (
    select(aliases.c.account, aliases.c.kind, aliases.c.item, domains.c.scheme)
    .outerjoin(domains, and_(domains.c.host == aliases.c.host, domains.c.account == aliases.c.account))
    .where(aliases.c.host == bindparam("host"), aliases.c.alias == bindparam("alias"), aliases.c.kind.is_not(None))
    .where(or_(aliases.c.host == OWN, domains.c.id.is_not(None)))
)


def _find_alias(tx: Connection, host: str, alias: str) -> Any:
    return tx.execute(_ALIAS, {"host": host, "alias": alias}).first()


def _reader(table: Table, record: type[Resolved]) -> Callable[[Connection, int, int], Resolved | None]:
    by_key = (table.c.id == bindparam("item"), table.c.account == bindparam("account"))
    query = crud.select_columns(table, record).where(*by_key)

    def read(tx: Connection, account: int, item: int) -> Resolved | None:
        row = tx.execute(query, {"item": item, "account": account}).first()
        return record(*row) if row else None

    return read


_LINK_FIELDS = tuple(field.name for field in fields(LinkView) if field.name != "interstitials")
_LINK = select(
    *(links.c[name] for name in _LINK_FIELDS),
    *(links.c[field.name].label(f"interstitial_{field.name}") for field in fields(InterstitialColumns)[:-1]),
    exists().where(link_pixels.c.link == links.c.id, link_pixels.c.account == links.c.account).label("has_pixels"),
).where(links.c.id == bindparam("item"), links.c.account == bindparam("account"))


def find_link(tx: Connection, account: int, item: int) -> LinkView | None:
    """Return a link by id and account."""
    row = tx.execute(_LINK, {"item": item, "account": account}).first()
    if row is None:
        return None
    values: dict[str, Any] = dict(zip(_LINK_FIELDS, row, strict=False))
    columns = InterstitialColumns(*row[len(_LINK_FIELDS) :])
    return LinkView(**values, interstitials=read_interstitials(tx, account, item, columns))


_QR_FIELDS = ("id", "account", "alias", "name", "type", "dynamic", "version")
_QR = select(*(qrs.c[name] for name in (*_QR_FIELDS, "data"))).where(
    qrs.c.id == bindparam("item"), qrs.c.account == bindparam("account")
)


def _find_qr(tx: Connection, account: int, item: int, settings: Settings) -> QrView | None:
    """Return a QR code with its content, which is validated here and not at every visit."""
    row = tx.execute(_QR, {"item": item, "account": account}).first()
    if row is None:
        return None
    values: dict[str, Any] = dict(zip(_QR_FIELDS, row, strict=False))
    return QrView(**values, content=_content(row.type, row.data, settings))


def _content(type: Type, data: Data, settings: Settings) -> Content | None:
    try:
        return replace(payloads.read(type, data, settings), data="")
    except Problem:
        return None


_READERS: Mapping[str, Callable[[Connection, int, int], Resolved | None]] = {
    "link": find_link,
    "file": _reader(files, FileView),
    "bio": _reader(bios, BioView),
}


def find_domain(tx: Connection, host: str) -> DomainView | None:
    """Return the branded domain with that host name; None for an unregistered host."""
    if host == OWN:
        return OWN_HOST
    c = domains.c
    columns = (c.id, c.account, c.scheme, c.redirectroot, c.redirect404)
    row = tx.execute(select(*columns).where(c.host == host)).first()
    return DomainView(*row) if row else None


def without_blocked(resolved: Resolved | None, blocklist: Blocklist) -> Resolved | None:
    """Return the record without URLs on its page that the administrator has blocked (decision 64).

    Applied when a record is read, not at every visit: a change of the blocklist invalidates the whole cache.
    """
    if isinstance(resolved, LinkView):
        return without_blocked_link(resolved, blocklist)
    if isinstance(resolved, QrView) and resolved.content and blocklist:
        return replace(resolved, is_blocked=any(map(blocklist.blocks, resolved.content.urls())))
    if isinstance(resolved, BioView) and blocklist:
        return replace(resolved, blocks=[_mark_blocked(block, blocklist) for block in resolved.blocks])
    return resolved


def without_blocked_link(link: LinkView, blocklist: Blocklist) -> LinkView:
    """Return the link without blocked URLs on its interstitials. Every visit checks the destination itself."""
    if not (link.interstitials and blocklist):
        return link
    return replace(link, interstitials=_filter(link.interstitials, blocklist))


def _mark_blocked(block: Mapping[str, Any], blocklist: Blocklist) -> Mapping[str, Any]:
    """Mark a block that contains a blocked URL. Pages omit it, and its own URL shows the reason."""
    is_blocked = any(blocklist.blocks(str(block[name])) for name in _URL_FIELDS if block.get(name))
    return {**block, "blocked": True} if is_blocked else block


def _filter(interstitials: Interstitials, blocklist: Blocklist) -> Interstitials:
    def allowed(url: str) -> str:
        return "" if blocklist.blocks(url) else url

    card, splash, overlay = interstitials.card, interstitials.splash, interstitials.overlay
    if splash is not None:
        splash = replace(splash, link=allowed(splash.link), banner=allowed(splash.banner), logo=allowed(splash.logo))
    return replace(
        interstitials,
        card=replace(card, image=allowed(card.image)) if card else None,
        splash=splash,
        overlay=replace(overlay, link=allowed(overlay.link), image=allowed(overlay.image)) if overlay else None,
    )
