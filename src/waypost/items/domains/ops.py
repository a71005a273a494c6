"""Branded domains: additional host names for the links of an account."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypedDict, Unpack

from sqlalchemy import Connection, RowMapping, func, select

from waypost.core.errors import Kind, Problem, invalid, taken
from waypost.core.settings import Settings
from waypost.core.uris import ascii_host
from waypost.db import account_rows, change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import accounts, aliases, domains
from waypost.media.branding import store as brands
from waypost.media.branding.brand import NO_BRAND, Brand, require_name
from waypost.urls import alias_namespace, blocklist, hostnames, validation

_TAKEN = taken("domain", "That domain is in use already.")
_URLS = ("redirectroot", "redirect404")
_FORM = re.compile(r"(https?)://([^/?#@:\\\s]+)/?\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Domain:
    """A branded domain: `scheme` and `host` make its address. With `alsowww`, it answers `other_host` too."""

    id: int
    scheme: str
    host: str
    redirectroot: str
    redirect404: str
    ignorecase: bool
    alsowww: bool

    @property
    def other_host(self) -> str:
        """The same host with or without `www.`; "" if there is no such host name."""
        return hostnames.other_host(self.host)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host names that it answers."""
        return hostnames.names_of(self.host, alsowww=self.alsowww)


@dataclass(frozen=True)
class Listed:
    """A branded domain of any account, with the account's id and username. `created` is in Unix seconds, UTC."""

    domain: Domain
    account: int
    username: str
    created: int


class Fields(TypedDict, total=False):
    """The settable fields; `None` is the default of a field."""

    redirectroot: str | None
    redirect404: str | None
    ignorecase: bool | None
    alsowww: bool | None
    brandname: str | None
    brandcolor: str | None
    brandlogo: str | None


def page(tx: Connection, account: int, window: PageRequest) -> Page[Domain]:
    """The account's domains."""
    return crud.page(tx, domains, account, window, Domain)


def get_owned(tx: Connection, account: int, domain: int) -> Domain:
    """One domain."""
    return crud.get_owned(tx, domains, account, domain, Domain)


def parse(domain: str, settings: Settings) -> tuple[str, str]:
    """(scheme, host) of a domain as a client names it. Raises INVALID on `domain` (decision 39)."""
    match = _FORM.match(domain.strip())
    if match is None:
        raise invalid("domain", "domain must be a host name such as https://go.example.com, without port and path.")
    host = ascii_host(match[2])
    if host is None or "." not in host or host.rpartition(".")[2].isdigit():
        raise invalid("domain", "domain must be a host name, such as https://go.example.com.")
    if host in settings.own_hosts:
        raise invalid("domain", "domain must not be this service's own host.")
    return match[1].lower(), host


def add(tx: Connection, account: int, *, domain: str, settings: Settings, **fields: Unpack[Fields]) -> Domain:
    """Register a domain. Raises INVALID or TAKEN."""
    values = _free_columns(tx, domain=domain, settings=settings, **fields)
    host = str(values["host"])
    change_log.record(tx, host)
    added = get_owned(tx, account, crud.add(tx, domains, account, values, _unique_errors(host)))
    if added.ignorecase:  # it may have had aliases before
        alias_namespace.fold_aliases(tx, host)
    return added


def _free_columns(
    tx: Connection, *, domain: str, settings: Settings, **fields: Unpack[Fields]
) -> dict[str, str | bool | None]:
    """Return the columns of a new domain. Raises INVALID, and TAKEN with the problem of the first host that is in use.

    The unique indexes are exact, but if both hosts are in use, the database chooses which of them it reports.
    """
    scheme, host = parse(domain, settings)
    _require_name(NO_BRAND, fields)
    blank = Domain(id=0, scheme=scheme, host=host, redirectroot="", redirect404="", ignorecase=False, alsowww=False)
    values = _checked(tx, blank, fields, settings)
    errors = _unique_errors(host)
    for name in hostnames.find_answered(tx, hostnames.names_of(host, alsowww=bool(values.get("alsowww")))):
        raise errors["domains_www_host_unique" if name.startswith(hostnames.WWW) else "domains_bare_host_unique"]
    return {"scheme": scheme, "host": host, **values}


def check_new(tx: Connection, *, domain: str, settings: Settings, **fields: Unpack[Fields]) -> None:
    """Raise what adding a domain raises now: INVALID or TAKEN."""
    _free_columns(tx, domain=domain, settings=settings, **fields)


def change(tx: Connection, account: int, domain: int, *, settings: Settings, **fields: Unpack[Fields]) -> None:
    """Set the given fields."""
    crud.lock_row(tx, domains, account, domain)
    before = get_owned(tx, account, domain)
    _require_name(brands.of_domain(tx, account, domain), fields)
    values = _checked(tx, before, fields, settings)
    crud.change(tx, domains, account, domain, values, _unique_errors(before.host))
    change_log.record(tx, before.host)
    if fields.get("ignorecase") and not before.ignorecase:
        alias_namespace.fold_aliases(tx, before.host)


def remove(tx: Connection, account: int, domain: int) -> None:
    """Delete a domain: its links answer 404 until it is back or they are moved."""
    change_log.record(tx, get_owned(tx, account, domain).host)
    crud.remove(tx, domains, account, domain)


def everyone(tx: Connection) -> list[Listed]:
    """Return the domains of all accounts, by host."""
    query = select(domains, accounts.c.username).join(accounts, accounts.c.id == domains.c.account)
    rows = tx.execute(query.order_by(domains.c.host)).mappings()
    return [Listed(_domain(row), row["account"], row["username"], row["created"]) for row in rows]


def find(tx: Connection, host: str) -> tuple[int, Domain]:
    """Return a domain by its host name, and the id of its account. Raises NOT_FOUND."""
    query = select(domains).where(hostnames.is_named("host"))
    row = tx.execute(query, hostnames.named("host", host.strip().lower())).mappings().first()
    if row is None:
        raise Problem(Kind.NOT_FOUND, f"There is no branded domain {host}. `waypost domain list` shows all of them.")
    return row["account"], _domain(row)


def hosts_of(tx: Connection, account: int, host: str) -> tuple[str, ...]:
    """Return the host names that the account's domain of a host answers; the host alone if there is no such domain."""
    query = select(domains.c.alsowww).where(domains.c.account == account, domains.c.host == host)
    return hostnames.names_of(host, alsowww=bool(tx.execute(query).scalar()))


def move(tx: Connection, host: str, account: int) -> None:
    """Give a domain to another account, with its settings. Raises NOT_FOUND, INVALID while its owner has items there.

    The domain gets a new id, and counts toward the limit of items of its new account.
    """
    owner, moved = find(tx, host)
    if owner == account:
        raise Problem(Kind.INVALID, f"{moved.host} belongs to this account already.")
    for locked in sorted((owner, account)):
        account_rows.lock(tx, locked)
    kept = ", ".join(f"{kind}: {number}" for kind, number in uses(tx, owner, moved.host).items())
    if kept:
        raise Problem(Kind.INVALID, f"Its owner has items on {moved.host} ({kept}). Move or delete them first.")
    row = tx.execute(select(domains).where(domains.c.id == moved.id)).mappings().one()
    errors = _unique_errors(moved.host)
    remove(tx, owner, moved.id)
    crud.add(tx, domains, account, {name: row[name] for name in row if name not in ("id", "account")}, errors)
    change_log.record(tx, moved.host)


def uses(tx: Connection, account: int, host: str) -> Mapping[str, int]:
    """How many things of each kind, such as `link` and `file`, the account has under a host (key of aliases)."""
    a = aliases.c
    own_items = (a.host == host, a.account == account, a.kind.is_not(None))
    counted = select(a.kind, func.count().label("n")).where(*own_items).group_by(a.kind)
    return {row.kind: row.n for row in tx.execute(counted)}


def link_counts(tx: Connection, account: int, hosts: Sequence[str]) -> Mapping[str, int]:
    """Return the number of the account's links of each host by one statement; hosts without links are missing."""
    a = aliases.c
    own_links = (a.host.in_(hosts), a.account == account, a.kind == "link")
    query = select(a.host, func.count().label("n")).where(*own_links).group_by(a.host)
    return {row.host: row.n for row in tx.execute(query)} if hosts else {}


def _domain(row: RowMapping) -> Domain:
    return Domain(**{field.name: row[field.name] for field in fields(Domain)})


def _unique_errors(host: str) -> crud.UniqueErrors:
    """Return the problems of a domain if another one has its host, or the same with or without `www.`."""
    other = hostnames.other_host(host)
    other_taken = taken("alsowww", f"alsowww cannot be turned on: {other} is in use already.")
    is_www = host.startswith(hostnames.WWW)
    return {
        "domains_host_unique": _TAKEN,
        "domains_bare_host_unique": other_taken if is_www else _TAKEN,
        "domains_www_host_unique": _TAKEN if is_www else other_taken,
    }


def _checked(tx: Connection, before: Domain, fields: Fields, settings: Settings) -> dict[str, str | bool | None]:
    checked: dict[str, str | bool | None] = {}
    also_www = bool(fields.get("alsowww", before.alsowww))
    if also_www and not before.alsowww:
        _require_other_host(before, [name for name in _URLS if name not in fields], settings)
    hosts = hostnames.names_of(before.host, alsowww=also_www)
    for name, value in fields.items():
        assert value is None or isinstance(value, str | bool)
        if not isinstance(value, str) or name not in _URLS:
            checked[name] = value
            continue
        url = checked[name] = validation.web_url(value, field=name) if value else None
        if url:
            _refuse_redirect_loop(tx, url, hosts=hosts, field=name, settings=settings)
            blocklist.refuse(tx, [url], field=name)
    return checked


def _require_other_host(domain: Domain, kept: Iterable[str], settings: Settings) -> None:
    """Raise INVALID on `alsowww` unless a domain can answer its host with or without `www.` too.

    `kept` are its redirects that stay as they are.
    """
    other = domain.other_host
    if not other:
        raise invalid(
            "alsowww", f"alsowww cannot be turned on: {domain.host} has no other host name with or without www."
        )
    if other in settings.own_hosts:
        raise invalid("alsowww", f"alsowww cannot be turned on: {other} is this service's own host.")
    for name in kept:
        if (url := getattr(domain, name)) and validation.host_of(url) == other:
            raise invalid(
                "alsowww",
                f"alsowww cannot be turned on: a redirect of the domain has the host {other},"
                " which would create a redirect loop.",
            )


def _require_name(before: Brand, fields: Fields) -> None:
    """Raise INVALID on `brandname` for a logo without a name."""
    name, logo = (fields.get(f"brand{part}", getattr(before, part)) for part in ("name", "logo"))
    require_name(Brand(name=str(name or ""), logo=str(logo or "")), field="brandname")


def _refuse_redirect_loop(tx: Connection, url: str, *, hosts: Sequence[str], field: str, settings: Settings) -> None:
    hostnames.refuse_own(tx, url, field=field, settings=settings)
    if validation.host_of(url) in hosts:
        raise invalid(field, f"{field} must not lead to the domain itself: that would create a redirect loop.")
