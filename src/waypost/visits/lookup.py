"""What a visitor's host and path lead to: all that a visit needs in one record, by indexed reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, Table, and_, bindparam, exists, or_, select

from waypost.db import crud
from waypost.db.schema import aliases, bios, domains, files, link_pixels, links, qrs
from waypost.qrcode.payloads import Data, Type
from waypost.urls.alias_namespace import OWN
from waypost.visits import interstitials
from waypost.visits.interstitials import InterstitialColumns, Interstitials


@dataclass(frozen=True, slots=True)
class LinkView:
    """A short link as a visit needs it. Times are seconds, UTC; `password` is a hash."""

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
    """What is on the way to the target, if anything."""

    @property
    def is_plain(self) -> bool:
        """Whether every visitor gets the same redirect: then the lane may answer."""
        varies = (self.geotarget, self.devicetarget, self.languagetarget, self.deeplink, self.password, self.clicklimit)
        return self.status != "disabled" and self.interstitials is None and not any(varies)


@dataclass(frozen=True, slots=True)
class QrView:
    """A QR code as a visit needs it: its data as it was sent; `dynamic` when its picture leads here."""

    id: int
    account: int
    alias: str
    name: str
    type: Type
    data: Data
    dynamic: bool
    version: int


@dataclass(frozen=True, slots=True)
class DomainView:
    """A branded domain as a visit needs it; the service's own host is number 0 and nobody's."""

    id: int
    account: int
    redirectroot: str
    redirect404: str


@dataclass(frozen=True, slots=True)
class FileView:
    """A file as a visit needs it, but for how often it was downloaded. `expiry` is a second; `password` is a hash."""

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
    """A bio page as a visit needs it. Blocks that can be followed have the `id` of their clicks."""

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


OWN_HOST = DomainView(0, 0, "", "")
Resolved = LinkView | QrView | FileView | BioView
"""Whatever an alias can lead to."""


def resolve(tx: Connection, host: str, alias: str) -> Resolved | None:
    """What an alias leads to. On a branded domain only while its account has that domain (decision 39)."""
    row = _held(tx, host, alias)
    read = _READS.get(row.kind) if row else None
    return read(tx, row.account, row.item) if row and read else None


def scheme_of(tx: Connection, host: str, alias: str) -> str | None:
    """`https` or `http`, by which an alias is reached, whatever it leads to; None when there is no such alias."""
    row = _held(tx, host, alias)
    return (row.scheme or "https") if row else None


# Statements are made once: to make one takes SQLAlchemy twice as long as to run it.
_HELD = (
    select(aliases.c.account, aliases.c.kind, aliases.c.item, domains.c.scheme)
    .outerjoin(domains, and_(domains.c.host == aliases.c.host, domains.c.account == aliases.c.account))
    .where(aliases.c.host == bindparam("host"), aliases.c.alias == bindparam("alias"), aliases.c.kind.is_not(None))
    .where(or_(aliases.c.host == OWN, domains.c.id.is_not(None)))
)


def _held(tx: Connection, host: str, alias: str) -> Any:
    return tx.execute(_HELD, {"host": host, "alias": alias}).first()


def _reads(table: Table, record: type[Resolved]) -> Callable[[Connection, int, int], Resolved | None]:
    mine = (table.c.id == bindparam("item"), table.c.account == bindparam("account"))
    chosen = crud.columns(table, record).where(*mine)

    def read(tx: Connection, account: int, item: int) -> Resolved | None:
        row = tx.execute(chosen, {"item": item, "account": account}).first()
        return record(*row) if row else None

    return read


_OWN = tuple(field.name for field in fields(LinkView) if field.name != "interstitials")
_LINK = select(
    *(links.c[name] for name in _OWN),
    *(links.c[field.name].label(f"way_{field.name}") for field in fields(InterstitialColumns)[:-1]),
    exists().where(link_pixels.c.link == links.c.id, link_pixels.c.account == links.c.account).label("has_pixels"),
).where(links.c.id == bindparam("item"), links.c.account == bindparam("account"))


def find_link(tx: Connection, account: int, item: int) -> LinkView | None:
    """A link by its id and its account."""
    row = tx.execute(_LINK, {"item": item, "account": account}).first()
    if row is None:
        return None
    own: dict[str, Any] = dict(zip(_OWN, row, strict=False))
    return LinkView(**own, interstitials=interstitials.read(tx, account, item, InterstitialColumns(*row[len(_OWN) :])))


_READS: Mapping[str, Callable[[Connection, int, int], Resolved | None]] = {
    "link": find_link,
    "qr": _reads(qrs, QrView),
    "file": _reads(files, FileView),
    "bio": _reads(bios, BioView),
}


def find_domain(tx: Connection, host: str) -> DomainView | None:
    """The branded domain with that host name; None for a host that nobody has registered."""
    if host == OWN:
        return OWN_HOST
    columns = (domains.c.id, domains.c.account, domains.c.redirectroot, domains.c.redirect404)
    row = tx.execute(select(*columns).where(domains.c.host == host)).first()
    return DomainView(*row) if row else None
