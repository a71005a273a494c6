"""The two host names of a branded domain that answers with and without `www.` (decision 39)."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, and_, bindparam, or_, select

from waypost.core.uris import ascii_host
from waypost.db.schema import domains

WWW = "www."


def other_host(host: str) -> str:
    """Return the host without its `www.`, or with one; "" if there is no such host name.

    The function is its own inverse, so `www.www.` is never added or removed.
    """
    has_www = host.startswith(WWW)
    other = host.removeprefix(WWW) if has_www else WWW + host
    is_name = "." in host and "." in other and ascii_host(other) == other
    return other if is_name and not (has_www and other.startswith(WWW)) else ""


def names(host: str, *, alsowww: bool) -> tuple[str, ...]:
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


def find(tx: Connection, hosts: Collection[str]) -> dict[str, str]:
    """Return those of the hosts that branded domains answer, each with the host under which aliases are stored."""
    possible = {*hosts, *map(other_host, hosts)} - {""}
    query = select(domains.c.host, domains.c.alsowww).where(domains.c.host.in_(sorted(possible)))
    answered = {name: row.host for row in tx.execute(query) for name in names(row.host, alsowww=row.alsowww)}
    return {host: answered[host] for host in hosts if host in answered}
