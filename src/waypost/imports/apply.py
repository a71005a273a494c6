"""Application of a plan, in batches. Each one moves the position of the plan in its own transaction (decision 89)."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, tuple_, update

from waypost import clock
from waypost.db import change_log, crud, page_counters
from waypost.db.database import Database, upsert
from waypost.db.schema import (
    accounts,
    aliases,
    channel_items,
    channels,
    domains,
    import_origins,
    import_plans,
    import_rows,
    links,
)
from waypost.db.schema import plans as limits
from waypost.errors import Kind, Problem, unavailable
from waypost.imports import plans
from waypost.imports.plans import BATCH
from waypost.links import dead_links
from waypost.links.columns import search_text
from waypost.urls.alias_rules import fold_case

_plan, _row = import_plans.c, import_rows.c
_TAKEN = "The alias has been taken since the plan was made."
_NO_DOMAIN = "The domain has been removed or changed since the plan was made."
_NO_LINK = "The link has been deleted since the plan was made."
_LIMIT = select(limits.c.item_limit).join(accounts, accounts.c.plan == limits.c.id)
_UPDATED = ("url", "title", "description", "search", "expiry", "clicklimit")
_UPDATE = (
    update(links)
    .where(links.c.id == bindparam("link_id"), links.c.account == bindparam("owner"))
    .values({name: bindparam(name) for name in _UPDATED})
)
_REPLACE = _UPDATE.values({name: bindparam(name) for name in ("password", "status")})


def apply(database: Database, account: int) -> None:
    """Apply the plan of the account from its position. An interrupted one resumes when it is applied again.

    Raises NOT_FOUND; SELECTION_CHANGED if the plan is not complete or is replaced; INVALID above the limit
    of the account's plan.
    """
    plan = database.read(lambda tx: plans.current(tx, account))
    if plan.state == "reading":
        raise Problem(Kind.SELECTION_CHANGED, "The plan is not complete. Make it again.")
    while database.write(lambda tx: apply_batch(tx, account, plan.id)):
        pass


def apply_batch(tx: Connection, account: int, plan: int) -> bool:
    """Apply the next rows, in the order of their creation. Return whether there were any.

    The plan is locked, so a second process continues after the batch of the first.
    """
    is_plan = (_plan.id == plan, _plan.account == account)
    query = select(_plan.created_position, _plan.row_position, _plan.source).where(*is_plan)
    position = tx.execute(query.with_for_update()).first()
    if position is None:
        raise plans.replaced()
    is_next = tuple_(_row.created, _row.id) > tuple_(position.created_position, position.row_position)
    of_plan = (_row.plan == plan, _row.account == account, _row.fate.in_(("create", "changed")))
    rows = tx.execute(select(import_rows).where(*of_plan, is_next).order_by(_row.created, _row.id).limit(BATCH)).all()
    if not rows:
        plans.set_state(tx, account, plan, "applied")
        return False
    tx.execute(update(import_plans).where(*is_plan).values(created_position=rows[-1].created, row_position=rows[-1].id))
    with change_log.in_one_batch(tx), page_counters.in_one_batch(tx):
        created = _create(tx, account, [row for row in rows if row.fate == "create"])
        changed = _change(tx, account, [row for row in rows if row.fate == "changed"])
        _set_origins(tx, account, position.source, [*created, *changed])
        _set_channels(tx, account, [*created, *changed])
    return True


_Applied = tuple[Row[Any], int]
"""A row and the id of its link."""


def _create(tx: Connection, account: int, rows: Sequence[Row[Any]]) -> list[_Applied]:
    """Create the links of the rows whose aliases are still free."""
    on_domains = _on_domains(tx, account, rows)
    _refuse(tx, (row for row in rows if row not in on_domains), _NO_DOMAIN)
    if not on_domains:
        return []
    statement = insert(links).returning(links.c.id, sort_by_parameter_order=True)
    ids = tx.execute(statement, [_columns(account, row) for row in on_domains]).scalars().all()
    applied = list(zip(on_domains, ids, strict=True))
    claimed = _claim(tx, account, applied)
    taken = [(row, link) for row, link in applied if (row.host, row.alias) not in claimed]
    if taken:
        _refuse(tx, (row for row, _ in taken), _TAKEN)
        tx.execute(delete(links).where(links.c.id.in_([link for _, link in taken]), links.c.account == account))
    created = [item for item in applied if item not in taken]
    for _, link in created:
        page_counters.increment(tx, account, "links", link, 1)
    crud.check_item_limit(tx, account, links, tx.execute(_LIMIT.where(accounts.c.id == account)).scalar())
    change_log.record(tx, "", change_log.NEW_ALIASES)
    return created


def _on_domains(tx: Connection, account: int, rows: Sequence[Row[Any]]) -> list[Row[Any]]:
    """Return the rows whose domains belong to the account and store such aliases."""
    hosts = {row.host for row in rows if row.host}
    query = select(domains.c.host, domains.c.ignorecase).where(domains.c.account == account, domains.c.host.in_(hosts))
    ignores_case = {row.host: row.ignorecase for row in tx.execute(query.with_for_update(read=True))} if hosts else {}
    ignores_case[""] = False
    return [
        row
        for row in rows
        if row.host in ignores_case and not (ignores_case[row.host] and row.alias != fold_case(row.alias))
    ]


def _columns(account: int, row: Row[Any]) -> dict[str, Any]:
    fields = row.fields
    return {
        **_texts(row, row.alias),
        "account": account,
        "created": row.created,
        "host": row.host,
        "alias": row.alias,
        "password": fields["password"],
        "status": fields["status"],
        "taken": fields["clicks"],
        "clicks": fields["clicks"],
        "importedclicks": fields["clicks"],
    }


def _texts(row: Row[Any], alias: str) -> dict[str, Any]:
    values = {name: row.fields[name] for name in ("title", "description", "expiry", "clicklimit")}
    values["url"] = row.url
    return {**values, "search": search_text({**values, "alias": alias})}


def _claim(tx: Connection, account: int, applied: Sequence[_Applied]) -> set[tuple[str, str]]:
    """Assign the aliases to their links; return those that were free for this account."""
    statement = upsert(tx, aliases)
    statement = statement.on_conflict_do_update(
        index_elements=["host", "alias"],
        set_={name: statement.excluded[name] for name in ("kind", "item")},
        where=(aliases.c.account == statement.excluded.account) & aliases.c.kind.is_(None) & aliases.c.item.is_(None),
    ).returning(aliases.c.host, aliases.c.alias)
    values = [
        {"host": row.host, "alias": row.alias, "account": account, "kind": "link", "item": link}
        for row, link in sorted(applied, key=lambda item: (item[0].host, item[0].alias))
    ]
    return {(host, alias) for host, alias in tx.execute(statement, values)}


def _change(tx: Connection, account: int, rows: Sequence[Row[Any]]) -> list[_Applied]:
    """Update the links that the rows change. Status and password of a link that was imported before are kept."""
    if not rows:
        return []
    ids = [row.link for row in rows]
    query = select(links.c.id, links.c.host, links.c.alias, links.c.url, import_origins.c.id.label("origin"))
    query = query.select_from(links.outerjoin(import_origins, import_origins.c.link == links.c.id))
    query = query.where(links.c.id.in_(ids), links.c.account == account).order_by(links.c.id)
    existing = {link.id: link for link in tx.execute(query.with_for_update(of=links))}
    _refuse(tx, (row for row in rows if row.link not in existing), _NO_LINK)
    changed = [row for row in rows if row.link in existing]
    updates: list[dict[str, Any]] = []
    replacements: list[dict[str, Any]] = []
    for row in changed:
        link = existing[row.link]
        values = {"link_id": link.id, "owner": account, **_texts(row, link.alias)}
        if link.origin is None:
            replacements.append({**values, "password": row.fields["password"], "status": row.fields["status"]})
        else:
            updates.append(values)
        change_log.record(tx, link.host, link.alias)
        dead_links.reset_if_moved(tx, account, link.id, old=link.url, new=row.url)
    for statement, values_of_links in ((_UPDATE, updates), (_REPLACE, replacements)):
        if values_of_links:
            tx.execute(statement, values_of_links)
    return [(row, row.link) for row in changed]


def _refuse(tx: Connection, rows: Iterable[Row[Any]], reason: str) -> None:
    """Make the rows conflicts."""
    if ids := [row.id for row in rows]:
        tx.execute(update(import_rows).where(_row.id.in_(ids)).values(fate="conflict", reason=reason))


def _set_origins(tx: Connection, account: int, source: str, applied: Sequence[_Applied]) -> None:
    """Store the sources of the links, so that a second import knows them."""
    values = [
        {"account": account, "source": source, "source_id": row.source_id, "link": link, "digest": row.digest}
        for row, link in sorted(applied, key=lambda item: item[0].source_id)
    ]
    if values:
        statement = upsert(tx, import_origins)
        excluded = {name: statement.excluded[name] for name in ("link", "digest")}
        key = ["account", "source", "source_id"]
        tx.execute(statement.on_conflict_do_update(index_elements=key, set_=excluded), values)


def _set_channels(tx: Connection, account: int, applied: Sequence[_Applied]) -> None:
    """Add the links to the channels of their tags. New channels are created."""
    names = sorted({tag for row, _ in applied for tag in row.fields["tags"]})
    if not names:
        return
    query = select(channels.c.name, channels.c.id).where(channels.c.account == account, channels.c.name.in_(names))
    ids = {row.name: row.id for row in tx.execute(query)}
    created_meanwhile = {"channels_account_name_unique": unavailable()}
    for name in names:
        if name not in ids:
            ids[name] = crud.add(tx, channels, account, {"name": name}, created_meanwhile)
    now = clock.now()
    values = [
        {"account": account, "channel": ids[tag], "link": link, "assigned": now}
        for row, link in applied
        for tag in row.fields["tags"]
    ]
    tx.execute(upsert(tx, channel_items).on_conflict_do_nothing(), values)
