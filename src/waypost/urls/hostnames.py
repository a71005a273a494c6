"""Which host names are the service's own."""

import ipaddress
from urllib.parse import urlsplit

from sqlalchemy import Connection, select

from waypost.db.schema import domains
from waypost.errors import invalid
from waypost.settings import Settings
from waypost.urls.alias_namespace import OWN
from waypost.urls.validation import ascii_host

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104  # recognised, not listened on


def host_of(header: str) -> str:
    """The host name in a `Host` header, lower-case, without port, brackets and a root dot."""
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0].rstrip(".")


def is_own(header: str, settings: Settings) -> bool:
    """Whether a `Host` header means the service itself: its base URL's host, localhost, or a bare address.

    A branded domain is a name (decision 39), so an address cannot be one.
    """
    host = host_of(header)
    return not host or host == settings.own_host or host in _LOOPBACK or _is_address(host)


def chosen(tx: Connection, account: int, domain: str, *, settings: Settings) -> str:
    """The host that a client names as `domain`: one of the account's branded domains, or the service's own.

    With or without scheme, port ignored (decision 20). Raises INVALID on `domain`.
    """
    host = _named(domain.strip())
    if host and (host == settings.own_host or (settings.own_host in _LOOPBACK and host in _LOOPBACK)):
        return OWN
    mine = select(domains.c.host).where(domains.c.host == host, domains.c.account == account)
    if host is None or tx.execute(mine).first() is None:
        raise invalid("domain", "domain must be one of your branded domains or this service's own host.")
    return host


def split_short(short: str, *, settings: Settings) -> tuple[str, str]:
    """(host, alias) of a short URL, or of an alias alone on the service's own host."""
    named, _, alias = short.strip().rpartition("/")
    if not named:
        return OWN, alias
    host = _named(named)
    if host is None:
        return OWN, ""
    return (OWN if is_own(host, settings) else host), alias


def _named(text: str) -> str | None:
    """The host in `https://brand.example:8443/` or `brand.example`, and None where there is anything else."""
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
    except ValueError:
        return None
    alone = parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
    if not alone or parts.scheme not in ("", "http", "https"):
        return None
    return ascii_host(parts.hostname or "")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
