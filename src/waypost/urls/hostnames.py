"""Host names: which are the service's own, and which domain a client names.

A branded domain has two host names if it answers with and without `www.` (decision 39).
"""

from collections.abc import Collection
from urllib.parse import unquote, urlsplit

from sqlalchemy import ColumnElement, Connection, and_, bindparam, or_, select

from waypost.core.errors import invalid
from waypost.core.setting_urls import is_ip_address
from waypost.core.settings import Settings
from waypost.core.uris import ascii_host
from waypost.db.schema import domains
from waypost.urls import alias_rules, validation
from waypost.urls.alias_namespace import OWN

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104  # recognized, not bound
WWW = "www."


def host_of(header: str) -> str:
    """Return the host name of a `Host` header in lower case, without port, brackets and final dot."""
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0].rstrip(".")


def is_own(header: str, settings: Settings) -> bool:
    """Return whether a `Host` header means the service itself.

    These are the hosts of its base URL, now and before, and its dashboard, localhost, and IP addresses.

    Branded domains are names (decision 39), so an IP address is never one.
    """
    host = host_of(header)
    return not host or host in settings.own_hosts or host in _LOOPBACK or is_ip_address(host)


def has_dashboard(header: str, settings: Settings) -> bool:
    """Return whether a `Host` header means a host with the dashboard (decision 72).

    No script of a user may run on its origin.
    """
    if settings.dashboard_url:
        return host_of(header) == settings.dashboard_host
    return is_own(header, settings) and host_of(header) not in settings.former


def is_https_only(header: str, settings: Settings) -> bool:
    """Return whether a `Host` header names an own host whose URL is https. Owners of branded domains decide alone."""
    host = host_of(header)
    return any(
        url.startswith("https:") and host == urlsplit(url).hostname for url in (settings.base, settings.dashboard)
    )


def resolve_domain(tx: Connection, account: int, domain: str, *, settings: Settings) -> str:
    """Return the host of aliases for the parameter `domain`: that of a domain of the account, or the service's own.

    The scheme is optional and the port is ignored (decision 20). Raises INVALID on `domain`.
    """
    host = _parse_host(domain.strip())
    own = {settings.own_host, *settings.former}
    if host and (host in own or (settings.own_host in _LOOPBACK and host in _LOOPBACK)):
        return OWN
    query = select(domains.c.host).where(is_named("host"), domains.c.account == account)
    row = tx.execute(query, named("host", host)).first() if host else None
    if row is None:
        raise invalid("domain", "domain must be one of your branded domains or this service's own host.")
    return str(row.host)


def split_short(tx: Connection, short: str, *, settings: Settings) -> tuple[str, str]:
    """Return (host, alias) of a short URL, or of an alias alone, which is on the service's own host.

    The host is that of aliases, with or without the `www.` of the short URL.
    """
    scheme, _, rest = short.strip().rpartition("://")
    name, slash, path = rest.partition("/")
    if not slash:
        return OWN, "" if scheme else rest
    host = _parse_host(name)
    if host is None:
        return OWN, ""
    host = OWN if is_own(host, settings) else find_answered(tx, [host]).get(host, host)
    return host, alias_rules.normalize(unquote(path), host)


def _parse_host(text: str) -> str | None:
    """Return the host of `https://brand.example:8443/` or `brand.example`; None for anything else."""
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
    except ValueError:
        return None
    is_host_only = parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
    if not is_host_only or parts.scheme not in ("", "http", "https"):
        return None
    return ascii_host(parts.hostname or "")


def other_host(host: str) -> str:
    """Return the host without its `www.`, or with one; "" if there is no such host name.

    The function is its own inverse, so `www.www.` is never added or removed.
    """
    has_www = host.startswith(WWW)
    other = host.removeprefix(WWW) if has_www else WWW + host
    is_name = "." in host and "." in other and ascii_host(other) == other
    return other if is_name and not (has_www and other.startswith(WWW)) else ""


def names_of(host: str, *, alsowww: bool) -> tuple[str, ...]:
    """Return the host names that a branded domain answers."""
    return (host, other_host(host)) if alsowww else (host,)


def is_named(parameter: str) -> ColumnElement[bool]:
    """Return the condition that a row of `domains` answers the host of a parameter. `named` has its values."""
    c = domains.c
    host, other = bindparam(parameter, type_=c.host.type), bindparam(f"other_{parameter}", type_=c.host.type)
    return and_(c.host.in_([host, other]), or_(c.host == host, c.alsowww))


def named(parameter: str, host: str) -> dict[str, str]:
    """Return the parameters of `is_named`."""
    return {parameter: host, f"other_{parameter}": other_host(host)}


def find_answered(tx: Connection, hosts: Collection[str]) -> dict[str, str]:
    """Return those of the hosts that branded domains answer, each with the host under which aliases are stored."""
    possible = {*hosts, *map(other_host, hosts)} - {""}
    query = select(domains.c.host, domains.c.alsowww).where(domains.c.host.in_(sorted(possible)))
    answered = {name: row.host for row in tx.execute(query) for name in names_of(row.host, alsowww=row.alsowww)}
    return {host: answered[host] for host in hosts if host in answered}


_IS_BRANDED = select(domains.c.id).where(is_named("host"))


def refuse_own(tx: Connection, url: str, *, field: str, settings: Settings) -> None:
    """Raise INVALID on `field` if `url` is on the service itself or a branded domain, which could loop."""
    host = validation.foreign_host(url, field=field, settings=settings)
    if host and tx.execute(_IS_BRANDED, named("host", host)).first() is not None:
        raise validation.loop(field)
