"""Creation of many links with a fixed number of statements per batch: for bulk requests and imports."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from waypost import clock
from waypost.db import change_log, crud, page_counters
from waypost.db.database import upsert
from waypost.db.schema import accounts, campaigns, channel_items, channels, domains, link_pixels, links, pixels, plans
from waypost.errors import taken
from waypost.links import ops
from waypost.links.columns import Fields, search_text, to_columns
from waypost.links.ops import Address
from waypost.settings import Settings
from waypost.urls import alias_namespace, alias_rules, blocklist, hostnames

Name = tuple[str, str]
"""The host and the alias of a link."""
_DEFAULTS = {column.name: getattr(column.default, "arg", None) for column in links.c if column.name != "id"}
"""Every column: all rows of a statement have the same ones."""
_INSERT = insert(links).returning(links.c.id, links.c.host, links.c.alias)
_LIMIT = select(plans.c.item_limit).join(accounts, accounts.c.plan == plans.c.id)


def add_many(tx: Connection, account: int, items: Sequence[Fields], *, settings: Settings) -> list[Address]:
    """Create links in one batch, or none. Raises what `ops.add` would raise for one of them."""
    if len(items) == 1:
        return [ops.add(tx, account, settings=settings, **items[0])]
    hosts = _resolve_hosts(tx, account, items, settings)
    branded = lock_domains(tx, account, {host for host in hosts if host})
    with blocklist.preloaded(tx, (fields["url"] for fields in items), settings=settings):
        rows = [
            _row(tx, account, fields, host, settings, ignores_case=host in branded and branded[host].ignorecase)
            for fields, host in zip(items, hosts, strict=True)
        ]
    lock_references(tx, account, items)
    names = [(row["host"], row["alias"]) for row in rows]
    ids = insert_many(tx, account, rows) if len(set(names)) == len(names) else {}
    if len(ids) < len(names):
        raise taken("custom", alias_namespace.TAKEN)
    created = [ids[name] for name in names]
    pairs = list(zip(created, items, strict=True))
    add_relations(
        tx,
        account,
        ((link, item) for link, fields in pairs for item in references(fields, "pixels")),
        ((link, item) for link, fields in pairs for item in references(fields, "channel")),
    )
    for host, alias in names:
        change_log.record(tx, host, alias)
    schemes = {host: domain.scheme for host, domain in branded.items()}
    return [Address(ids[host, alias], host, alias, schemes.get(host)) for host, alias in names]


def _resolve_hosts(tx: Connection, account: int, items: Sequence[Fields], settings: Settings) -> list[str]:
    """Return the host of each link, with one statement for each distinct domain. Raises INVALID."""
    sent = {fields.get("domain") for fields in items}
    hosts = {
        domain: hostnames.resolve_domain(tx, account, domain, settings=settings) if domain is not None else ""
        for domain in sent
    }
    return [hosts[fields.get("domain")] for fields in items]


def _row(
    tx: Connection, account: int, fields: Fields, host: str, settings: Settings, *, ignores_case: bool
) -> dict[str, Any]:
    """Return all columns of a new link. Its campaign is checked by the caller."""
    custom = fields.get("custom")
    alias = alias_rules.generate() if custom is None else alias_rules.check(custom, host=host, field="custom")
    without_campaign: Any = {name: value for name, value in fields.items() if name != "campaign"}
    columns = {**to_columns(tx, account, without_campaign, settings), "campaign": fields.get("campaign")}
    row = {**_DEFAULTS, **{name: value for name, value in columns.items() if value is not None}}
    row |= {"host": host, "alias": alias_rules.fold_case(alias) if ignores_case else alias}
    return {**row, "account": account, "created": clock.now(), "search": search_text(row)}


def lock_references(tx: Connection, account: int, items: Sequence[Fields]) -> None:
    """Check every campaign, channel and pixel once, and keep it from being deleted until the commit. Raises INVALID."""
    for table, field in ((campaigns, "campaign"), (channels, "channel"), (pixels, "pixels")):
        for item in sorted({item for fields in items for item in references(fields, field)}):
            crud.require_reference(tx, table, account, item, field=field, lock=True)


def references(fields: Fields, name: str) -> list[int]:
    """Return the distinct ids in a field, which has one id, several or none."""
    value = fields.get(name)
    return sorted({value}) if isinstance(value, int) else sorted(set(value or ()))  # type: ignore[call-overload]


def insert_many(tx: Connection, account: int, rows: Sequence[Mapping[str, Any]]) -> dict[Name, int]:
    """Insert links with their aliases, of which no two are the same. Return the ids by host and alias.

    All rows must have the same columns. A link whose alias is taken is not inserted. The caller records the changes.
    Raises INVALID above the limit of the account's plan.
    """
    # In the order of the rows, SQLite would need a statement for each of them.
    ids = {(host, alias): link for link, host, alias in tx.execute(_INSERT, rows)}
    claimed = alias_namespace.claim_many(tx, account, "link", ids)
    taken = [link for name, link in ids.items() if name not in claimed]
    if taken:
        tx.execute(delete(links).where(links.c.id.in_(taken), links.c.account == account))
    created = {name: link for name, link in ids.items() if name in claimed}
    for link in created.values():
        page_counters.increment(tx, account, links.name, link, 1)
    crud.check_item_limit(tx, account, links, item_limit(tx, account))
    return created


def item_limit(tx: Connection, account: int) -> int | None:
    """Return the number of links that the plan of the account allows; None for no limit."""
    return tx.execute(_LIMIT.where(accounts.c.id == account)).scalar()


def lock_domains(tx: Connection, account: int, hosts: Collection[str]) -> dict[str, Any]:
    """Return `scheme` and `ignorecase` of branded domains of the account, which do not change until the commit."""
    c = domains.c
    query = select(c.host, c.scheme, c.ignorecase).where(c.account == account, c.host.in_(hosts)).order_by(c.host)
    return {row.host: row for row in tx.execute(query.with_for_update(read=True))} if hosts else {}


def add_relations(
    tx: Connection, account: int, pixels: Iterable[tuple[int, int]], channels: Iterable[tuple[int, int]]
) -> None:
    """Add pixels and channels to new links: pairs of the id of a link and that of a pixel or channel."""
    if values := [{"link": link, "pixel": pixel, "account": account} for link, pixel in pixels]:
        tx.execute(insert(link_pixels), values)
    now = clock.now()
    items = [{"account": account, "link": link, "channel": item, "assigned": now} for link, item in channels]
    if items:
        tx.execute(upsert(tx, channel_items).on_conflict_do_nothing(), items)
