"""What a visitor's host and path lead to: all that a visit needs in one record, by indexed reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

from sqlalchemy import Connection, and_, or_, select

from waypost.aliases.namespace import OWN
from waypost.schema import aliases, domains, files, links

_COLUMNS = (
    *("id", "account", "alias", "url", "title", "password", "expiry", "clicklimit", "expiryurl", "status"),
    *("geotarget", "devicetarget", "languagetarget", "deeplink", "parameters"),
)


@dataclass(frozen=True)
class Target:
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

    @property
    def is_plain(self) -> bool:
        """Whether every visitor gets the same: then the lane may answer."""
        varies = (self.geotarget, self.devicetarget, self.languagetarget, self.deeplink, self.password, self.clicklimit)
        return self.status != "disabled" and not any(varies)


@dataclass(frozen=True)
class Domain:
    """A branded domain as a visit needs it; the service's own host is number 0 and nobody's."""

    id: int
    account: int
    redirectroot: str
    redirect404: str


@dataclass(frozen=True)
class Shared:
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


OWN_HOST = Domain(0, 0, "", "")
Found = Target | Shared
"""Whatever an alias can lead to."""


def find(tx: Connection, host: str, alias: str) -> Found | None:
    """What an alias leads to. On a branded domain only while its account has that domain (decision 39)."""
    own = and_(domains.c.host == aliases.c.host, domains.c.account == aliases.c.account)
    held = (
        select(aliases.c.kind, aliases.c.item)
        .outerjoin(domains, own)
        .where(aliases.c.host == host, aliases.c.alias == alias)
        .where(or_(aliases.c.host == OWN, domains.c.id.is_not(None)))
    )
    row = tx.execute(held).first()
    read = _READS.get(row.kind) if row else None
    return read(tx, row.item) if row and read else None


def _link(tx: Connection, item: int) -> Target | None:
    row = tx.execute(select(*(links.c[name] for name in _COLUMNS)).where(links.c.id == item)).mappings().first()
    return Target(**row) if row else None


def _file(tx: Connection, item: int) -> Shared | None:
    chosen = select(*(files.c[field.name] for field in fields(Shared))).where(files.c.id == item)
    row = tx.execute(chosen).mappings().first()
    return Shared(**row) if row else None


_READS: Mapping[str, Callable[[Connection, int], Found | None]] = {"link": _link, "file": _file}


def find_domain(tx: Connection, host: str) -> Domain | None:
    """The branded domain with that host name; None for a host that nobody has registered."""
    if host == OWN:
        return OWN_HOST
    columns = (domains.c.id, domains.c.account, domains.c.redirectroot, domains.c.redirect404)
    row = tx.execute(select(*columns).where(domains.c.host == host)).first()
    return Domain(*row) if row else None
