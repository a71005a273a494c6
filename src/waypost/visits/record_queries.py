"""Resolve hosts and aliases to the records of links, QR codes, files and bio pages, and to domains, by indexed reads.

Records are without the URLs that the administrator has blocked (decision 64). That applies when a record is read, not
at every visit: a change of the blocklist invalidates the whole cache.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Connection,
    FromClause,
    LargeBinary,
    Select,
    String,
    and_,
    any_,
    bindparam,
    cast,
    func,
    or_,
    select,
)
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.selectable import TableValuedAlias

from waypost.core.errors import Problem
from waypost.core.settings import ROOT_PAGE, Settings
from waypost.db.change_log import Name
from waypost.db.schema import accounts, aliases, bio_pictures, bios, domains, files, links, qrs
from waypost.db.statements import DriverSelect
from waypost.http.picture_headers import WEBP_BYTES, Size, size_of
from waypost.media.branding import store
from waypost.media.branding.brand import NO_BRAND, Brand
from waypost.media.qrcode import payloads
from waypost.media.qrcode.payloads import Content, Data, Type
from waypost.urls import hostnames
from waypost.urls.alias_namespace import OWN
from waypost.urls.blocklist import Blocklist
from waypost.visits.link_record import LINK_COLUMNS, Interstitials, LinkView, link_of, read_link

_URL_FIELDS = ("url", "link", "image", "site")
"""The fields of a bio block that can hold a URL."""


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
class FileView:
    """A file as a visit needs it, without its download count. `expiry` is in seconds; `password` is a hash.

    `sender` is the name that its account shows on the pages of its files, "" for none.
    """

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
    sender: str = ""


@dataclass(frozen=True, slots=True)
class BioView:
    """A bio page as a visit needs it. Blocks with a destination have the `id` that their clicks are counted for.

    `avatar` is the name of a picture, such as `picture-12`, or "". `picture_sizes` are those of the pictures of image
    blocks, by the value of the block.
    """

    id: int
    account: int
    alias: str
    name: str
    title: str
    description: str
    theme: str
    avatar: str
    design: Mapping[str, Any] | None
    sensitive: bool
    blocks: Sequence[Mapping[str, Any]]
    picture_sizes: Mapping[str, Size] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        """The title of the page."""
        return self.title.strip() or self.name

    @property
    def size(self) -> int:
        """Approximate memory use, in characters."""
        return len(self.description) + sum(len(str(value)) for block in self.blocks for value in block.values())


Resolved = LinkView | QrView | FileView | BioView
"""Everything that an alias can resolve to."""


def resolve(tx: Connection, names: Sequence[Name], settings: Settings) -> dict[Name, Resolved]:
    """Return the records of those names that have one: plain links together, others by one or two statements each.

    Aliases on a branded domain need its account to own the domain (decision 39).
    """
    read_rows = _aliases_and_links if tx.dialect.name == "postgresql" else _rows
    records = {(row[0], row[1]): _read_record(tx, row[2:], settings) for row in read_rows(tx, names)}
    return {name: record for name, record in records.items() if record is not None}


def _rows(tx: Connection, names: Sequence[Name]) -> Sequence[tuple[Any, ...]]:
    if len(names) > 1:
        return NAMED_RECORDS["sqlite"].fetch_all(tx, names=json.dumps(names))
    (host, alias) = names[0]
    return _OWN_RECORD.fetch_all(tx, alias=alias) if host == OWN else _RECORD.fetch_all(tx, host=host, alias=alias)


def _aliases_and_links(tx: Connection, names: Sequence[Name]) -> Sequence[tuple[Any, ...]]:
    """Return the rows of `_rows` by a statement for the aliases and one for the links.

    A Citus cluster stores aliases by host and links by account, and cannot join them (`waypost.db.distribution`).
    """
    if len(names) > 1:
        named = _NAMED_ALIASES.fetch_all(tx, names=json.dumps(names))
    else:
        named = _ALIAS.fetch_all(tx, host=names[0][0], alias=names[0][1])
    keys = [(account, item) for _, _, account, kind, item in named if kind == "link"]
    accounts, items = [account for account, _ in keys], [item for _, item in keys]
    rows = _LINKS.fetch_all(tx, accounts=accounts, items=items) if keys else ()
    by_key = {("link", row[1], row[0]): row for row in rows}
    return [(*row, *by_key.get((row[3], row[2], row[4]), _NO_LINK)) for row in named]


def plain_links(rows: Sequence[Sequence[Any]]) -> dict[Name, Resolved] | None:
    """Return the records of rows of NAMED_RECORDS, if all of them are links without interstitials, or else None."""
    records: dict[Name, Resolved] = {}
    for host, alias, _, kind, _, *columns in rows:
        link, interstitials = link_of(columns) if kind == "link" else (None, None)
        if link is None or (interstitials is not None and not interstitials.is_empty):
            return None
        records[host, alias] = link
    return records


def scheme_of(tx: Connection, host: str, alias: str) -> str | None:
    """Return the scheme of an alias's short URL, `https` or `http`; None if the alias does not exist."""
    row = tx.execute(_SCHEME, {"host": host, "alias": alias}).first()
    return (row.scheme or "https") if row else None


def _read_record(tx: Connection, row: tuple[Any, ...], settings: Settings) -> Resolved | None:
    account, kind, item = row[:3]
    if kind == "link":
        return read_link(tx, row[3:])
    if kind == "qr":
        return _find_qr(tx, account, item, settings)
    read = _READERS.get(kind)
    return read(tx, account, item) if read else None


_FILE_FIELDS = tuple(part.name for part in fields(FileView) if part.name != "sender")
_FILE = select(*(files.c[name] for name in _FILE_FIELDS)).where(
    files.c.id == bindparam("item"), files.c.account == bindparam("account")
)
_SENDER = select(accounts.c.sender).where(accounts.c.id == bindparam("account"))


def _find_file(tx: Connection, account: int, item: int) -> FileView | None:
    """Return a file with the name of its sender, from a statement of its own: a cluster has accounts elsewhere."""
    row = tx.execute(_FILE, {"item": item, "account": account}).first()
    if row is None:
        return None
    values: dict[str, Any] = dict(zip(_FILE_FIELDS, row, strict=True))
    return FileView(**values, sender=tx.execute(_SENDER, {"account": account}).scalar() or "")


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


_BIO_FIELDS = tuple(part.name for part in fields(BioView) if part.name != "picture_sizes")
_BIO = select(*(bios.c[name] for name in _BIO_FIELDS)).where(
    bios.c.id == bindparam("item"), bios.c.account == bindparam("account")
)


def _find_bio(tx: Connection, account: int, item: int) -> BioView | None:
    """Return a bio page. The sizes of its pictures are read here and not at every visit."""
    row = tx.execute(_BIO, {"item": item, "account": account}).first()
    if row is None:
        return None
    values: dict[str, Any] = dict(zip(_BIO_FIELDS, row, strict=True))
    names = {block["picture"] for block in row.blocks if block.get("picture")}
    return BioView(**values, picture_sizes=read_sizes(tx, account, names))


_PICTURE_PREFIX = "picture-"
_PICTURE_HEADERS = select(
    bio_pictures.c.id, func.substr(bio_pictures.c.data, 1, WEBP_BYTES, type_=LargeBinary).label("header")
).where(bio_pictures.c.account == bindparam("account"), bio_pictures.c.id.in_(bindparam("ids", expanding=True)))


def read_sizes(tx: Connection, account: int, names: Iterable[str]) -> Mapping[str, Size]:
    """Return the sizes of pictures of bio pages by their names, such as `picture-12`, from their own headers."""
    ids = [int(name.removeprefix(_PICTURE_PREFIX)) for name in names]
    if not ids:
        return {}
    headers = tx.execute(_PICTURE_HEADERS, {"account": account, "ids": ids})
    sizes = {f"{_PICTURE_PREFIX}{row.id}": size_of(bytes(row.header)) for row in headers}
    return {name: size for name, size in sizes.items() if size is not None}


_READERS: Mapping[str, Callable[[Connection, int, int], Resolved | None]] = {
    "file": _find_file,
    "bio": _find_bio,
}


_OWNED_DOMAIN = and_(domains.c.host == aliases.c.host, domains.c.account == aliases.c.account)
_IS_SERVED = and_(aliases.c.kind.is_not(None), or_(aliases.c.host == OWN, domains.c.id.is_not(None)))
_SCHEME = (
    select(domains.c.scheme)
    .select_from(aliases.outerjoin(domains, _OWNED_DOMAIN))
    .where(aliases.c.host == bindparam("host"), aliases.c.alias == bindparam("alias"), _IS_SERVED)
)


_ALIAS_COLUMNS = (aliases.c.host, aliases.c.alias, aliases.c.account, aliases.c.kind, aliases.c.item)
_COLUMNS = (*_ALIAS_COLUMNS, *LINK_COLUMNS)
_LINK_OF_ALIAS = and_(aliases.c.kind == "link", links.c.id == aliases.c.item, links.c.account == aliases.c.account)


def _records_of(named_aliases: FromClause) -> Select[Any]:
    query = select(*_COLUMNS).select_from(named_aliases)
    return query.outerjoin(domains, _OWNED_DOMAIN).outerjoin(links, _LINK_OF_ALIAS).where(_IS_SERVED)


def _named_records(names: TableValuedAlias, host: ColumnElement[str], alias: ColumnElement[str]) -> DriverSelect:
    """The statement of `resolve`. `names` are the rows of its parameter, a JSON array of [host, alias]."""
    return DriverSelect(_records_of(names.join(aliases, and_(aliases.c.host == host, aliases.c.alias == alias))))


# For a single name: databases find it faster without JSON, and on the service's own host there is no domain.
_RECORD = DriverSelect(
    _records_of(aliases).where(aliases.c.host == bindparam("host"), aliases.c.alias == bindparam("alias"))
)
_OWN_RECORD = DriverSelect(
    select(*_COLUMNS)
    .select_from(aliases.outerjoin(links, _LINK_OF_ALIAS))
    .where(aliases.c.host == OWN, aliases.c.alias == bindparam("alias"), aliases.c.kind.is_not(None))
)
_JSON_EACH = func.json_each(bindparam("names", type_=String)).table_valued("value")
_JSON_ELEMENTS = func.json_array_elements(cast(bindparam("names", type_=String), JSON)).table_valued("value")
_ELEMENT = tuple(func.json_extract_path_text(_JSON_ELEMENTS.c.value, index, type_=String) for index in ("0", "1"))
NAMED_RECORDS = {
    "sqlite": _named_records(
        _JSON_EACH, *(func.json_extract(_JSON_EACH.c.value, path, type_=String) for path in ("$[0]", "$[1]"))
    ),
    "postgresql": _named_records(_JSON_ELEMENTS, *_ELEMENT),
}
_ALIASES = select(*_ALIAS_COLUMNS).where(_IS_SERVED)
_ALIAS = DriverSelect(
    _ALIASES.select_from(aliases.outerjoin(domains, _OWNED_DOMAIN)).where(
        aliases.c.host == bindparam("host"), aliases.c.alias == bindparam("alias")
    )
)
_IS_NAMED = and_(aliases.c.host == _ELEMENT[0], aliases.c.alias == _ELEMENT[1])
_NAMED_ALIASES = DriverSelect(
    _ALIASES.select_from(_JSON_ELEMENTS.join(aliases, _IS_NAMED).outerjoin(domains, _OWNED_DOMAIN))
)
_IDS = ARRAY(BigInteger)
_LINKS = DriverSelect(
    select(*LINK_COLUMNS).where(
        links.c.account == any_(bindparam("accounts", type_=_IDS)), links.c.id == any_(bindparam("items", type_=_IDS))
    )
)
_NO_LINK = (None,) * len(LINK_COLUMNS)


def without_blocked(resolved: Resolved | None, blocklist: Blocklist) -> Resolved | None:
    """Return the record without blocked URLs on its page."""
    if isinstance(resolved, LinkView):
        return without_blocked_link(resolved, blocklist)
    if isinstance(resolved, QrView) and resolved.content and not blocklist.is_empty:
        return replace(resolved, is_blocked=any(map(blocklist.blocks, resolved.content.urls())))
    if isinstance(resolved, BioView) and not blocklist.is_empty:
        return replace(resolved, blocks=[_mark_blocked(block, blocklist) for block in resolved.blocks])
    return resolved


def without_blocked_link(link: LinkView, blocklist: Blocklist) -> LinkView:
    """Return the link without blocked URLs on its interstitials. Every visit checks the destination itself."""
    if link.interstitials is None or blocklist.is_empty:
        return link
    return link._replace(interstitials=_without_blocked_urls(link.interstitials, blocklist))


def _mark_blocked(block: Mapping[str, Any], blocklist: Blocklist) -> Mapping[str, Any]:
    """Mark a block that contains a blocked URL. Pages omit it, and its own URL shows the reason."""
    is_blocked = any(blocklist.blocks(str(block[name])) for name in _URL_FIELDS if block.get(name))
    return {**block, "blocked": True} if is_blocked else block


def _without_blocked_urls(interstitials: Interstitials, blocklist: Blocklist) -> Interstitials:
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


@dataclass(frozen=True, slots=True)
class DomainView:
    """A branded domain as a visit needs it. The service's own host has id 0 and account 0.

    `host` is that of its aliases, with or without the `www.` of the request.
    """

    id: int
    account: int
    host: str
    scheme: str
    redirectroot: str
    redirect404: str
    ignorecase: bool = False
    brand: Brand = NO_BRAND
    """That of the domain, or of the installation."""
    has_root_page: bool = False
    """True if the root URL of the own host is a page for visitors, not a redirect."""

    @property
    def has_front_page(self) -> bool:
        """Return whether the root URL is for visitors. On the own host it can redirect to the dashboard instead."""
        return self.has_root_page or bool(self.redirectroot)


OWN_HOST = DomainView(0, 0, OWN, "", "", "")
_DOMAIN_COLUMNS = ("id", "account", "host", "scheme", "redirectroot", "redirect404", "ignorecase")
_BRAND_COLUMNS = ("brandname", "brandcolor", "brandlogo")
_DOMAIN = select(*(domains.c[name] for name in (*_DOMAIN_COLUMNS, *_BRAND_COLUMNS))).where(hostnames.is_named("host"))


def find_domain(tx: Connection, host: str, settings: Settings) -> DomainView | None:
    """Return the branded domain that answers a host name; None for an unregistered host."""
    if host == OWN:
        has_page = settings.root_redirect == ROOT_PAGE
        own = replace(OWN_HOST, redirect404=settings.not_found_redirect, brand=store.of_installation(tx))
        return replace(own, redirectroot="" if has_page else settings.root_redirect, has_root_page=has_page)
    row = tx.execute(_DOMAIN, hostnames.named("host", host)).first()
    if row is None:
        return None
    brand = Brand(*row[len(_DOMAIN_COLUMNS) :]).or_else(store.of_installation(tx))
    return replace(DomainView(*row[: len(_DOMAIN_COLUMNS)]), brand=brand)
