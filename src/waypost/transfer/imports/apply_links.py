"""Application of the rows of links: few statements for a batch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, bindparam, select, update

from waypost.core import clock
from waypost.core.errors import unavailable
from waypost.core.text_folding import folded
from waypost.db import change_log, channel_colors, crud
from waypost.db.database import upsert
from waypost.db.schema import (
    campaigns,
    channel_items,
    channels,
    import_origins,
    import_rows,
    links,
)
from waypost.items.links import bulk, dead_links
from waypost.items.links.columns import search_text, url_hash
from waypost.transfer.imports.planned_rows import PlannedRow
from waypost.urls.alias_rules import fold_case

_row = import_rows.c
_TAKEN = "The alias has been taken since the preview."
_NO_DOMAIN = "The domain has been removed or changed since the preview."
_NO_LINK = "The link has been deleted since the preview."
_SET_ITEM = update(import_rows).where(_row.id == bindparam("row_id"), _row.account == bindparam("owner"))
_NO_DEFAULTS: Iterator[Mapping[str, Any]] = repeat({})
Added = dict[str, list[int]]
"""The ids of the channels and campaigns that the plan has created, by table."""


Applied = tuple[PlannedRow, int]
"""A row and the id of its link."""


def apply(tx: Connection, account: int, source: str, rows: Sequence[PlannedRow], added: Added) -> list[Applied]:
    """Create and change the links of the rows; return them. New channels and campaigns are noted in `added`."""
    created = _create(tx, account, [row for row in rows if row.fate == "create"])
    changes = _change(tx, account, [row for row in rows if row.fate == "changed"])
    applied = [*created, *((change.row, change.row.item) for change in changes)]
    _set_origins(tx, account, source, applied)
    channel_ids = _ids_of_tags(tx, account, applied, added)
    _note_new_channels(tx, account, changes, channel_ids)
    _set_channels(tx, account, applied, channel_ids)
    campaign_ids = _set_campaigns(tx, account, applied, added)
    _note_changes(tx, account, changes, campaign_ids)
    return applied


def _create(tx: Connection, account: int, rows: Sequence[PlannedRow]) -> list[Applied]:
    """Create the links of the rows whose aliases are still free."""
    on_domains = _on_domains(tx, account, rows)
    importable = {row.id for row in on_domains}
    _refuse(tx, account, (row for row in rows if row.id not in importable), _NO_DOMAIN)
    if not on_domains:
        return []
    ids = bulk.insert_many(tx, account, [_columns(account, row) for row in on_domains])
    _refuse(tx, account, (row for row in on_domains if (row.host, row.alias) not in ids), _TAKEN)
    created = [(row, ids[row.host, row.alias]) for row in on_domains if (row.host, row.alias) in ids]
    change_log.record(tx, "", change_log.NEW_ALIASES)
    _set_items(tx, account, created)
    return created


def _set_items(tx: Connection, account: int, created: Sequence[Applied]) -> None:
    """Note the links in the rows, for their clicks and for undo."""
    values = [{"row_id": row.id, "owner": account, "item": link} for row, link in created]
    if values:
        tx.execute(_SET_ITEM.values(item=bindparam("item")), values)


def _on_domains(tx: Connection, account: int, rows: Sequence[PlannedRow]) -> list[PlannedRow]:
    """Return the rows whose domains belong to the account and store such aliases."""
    hosts = {row.host for row in rows if row.host}
    ignores_case = {host: row.ignorecase for host, row in bulk.lock_domains(tx, account, hosts).items()}
    ignores_case[""] = False
    return [
        row
        for row in rows
        if row.host in ignores_case and not (ignores_case[row.host] and row.alias != fold_case(row.alias))
    ]


def _columns(account: int, row: PlannedRow) -> dict[str, Any]:
    clicks = row.content.clicks
    return {
        **DEFAULTS,
        **columns_of(row, row.alias),
        "account": account,
        "created": row.created,
        "host": row.host,
        "alias": row.alias,
        "taken": clicks,
        "clicks": clicks,
        "importedclicks": row.content.imported,
        **row.content.totals,
    }


_RULES = (
    *("expiryurl", "type", "metatitle", "metadescription", "metaimage"),
    *("geotarget", "devicetarget", "languagetarget", "deeplink", "parameters", "dropquery"),
)
DEFAULTS = {name: getattr(links.c[name].default, "arg", None) for name in (*_RULES, "splash", "overlay")}
"""The columns that not every row has: all rows of a statement have the same columns."""
REFERENCES = {"splash": None, "overlay": None}
"""The columns of items that a link shows. Those of an archive are set after the link was created."""


def columns_of(row: PlannedRow, alias: str) -> dict[str, Any]:
    """Return the columns of a link that the source describes."""
    values = {name: value for name, value in row.content.columns.items() if value is not None or name not in _RULES}
    values |= {"url": row.url, "urlhash": url_hash(row.url)}
    return {**values, "search": search_text({**values, "alias": alias})}


@dataclass
class _Change:
    """A changed link: its columns before and after. `channels` are those that it was added to."""

    row: PlannedRow
    before: dict[str, Any]
    after: dict[str, Any]
    channels: list[int] = field(default_factory=list)


def _change(tx: Connection, account: int, rows: Sequence[PlannedRow]) -> list[_Change]:
    """Update the links that the rows change."""
    if not rows:
        return []
    query = select(links, import_origins.c.id.label("origin"))
    is_origin = (import_origins.c.link == links.c.id) & (import_origins.c.account == links.c.account)
    query = query.select_from(links.outerjoin(import_origins, is_origin))
    query = query.where(links.c.id.in_([row.item for row in rows]), links.c.account == account).order_by(links.c.id)
    existing = {link["id"]: link for link in tx.execute(query.with_for_update(of=links)).mappings()}
    _refuse(tx, account, (row for row in rows if row.item not in existing), _NO_LINK)
    changes = []
    for row in rows:
        if (link := existing.get(row.item)) is None:
            continue
        values = _changed_columns(row, link)
        crud.change(tx, links, account, row.item, values, before=link)
        names = {*values, *(("campaign",) if row.content.campaign else ())}
        changes.append(_Change(row, {name: link[name] for name in names}, values))
        change_log.record(tx, link["host"], link["alias"])
        dead_links.reset_if_moved(tx, account, row.item, old=link["url"], new=row.url)
    return changes


def _changed_columns(row: PlannedRow, link: RowMapping) -> dict[str, Any]:
    """Return the new columns of a link. One that was imported before keeps its password, and is never opened.

    A link that is replaced loses its own rules.
    """
    values = columns_of(row, link["alias"])
    if link["origin"] is None:
        return {**DEFAULTS, **REFERENCES, **values}
    if link["password"] or not values["password"]:
        del values["password"]
    if values["status"] != "disabled" or link["password"]:
        del values["status"]
    return values


def _note_new_channels(tx: Connection, account: int, changes: Sequence[_Change], ids: Mapping[str, int]) -> None:
    """Note the channels to which the changed links will be added, for undo."""
    c = channel_items.c
    is_changed = (c.account == account, c.link.in_([change.row.item for change in changes]))
    members = {(row.link, row.channel) for row in tx.execute(select(c.link, c.channel).where(*is_changed))}
    for change in changes:
        new = {ids[tag] for tag in change.row.content.tags}
        change.channels = sorted(channel for channel in new if (change.row.item, channel) not in members)


def _note_changes(tx: Connection, account: int, changes: Sequence[_Change], campaign_ids: Mapping[str, int]) -> None:
    """Store the old and new values in the rows, for undo."""
    values = []
    for change in changes:
        folder = change.row.content.campaign
        after = change.after | ({"campaign": campaign_ids[folder]} if folder else {})
        content = replace(change.row.content, before=change.before, after=after, channels=change.channels)
        values.append({"row_id": change.row.id, "owner": account, "fields": content.as_json()})
    if values:
        tx.execute(_SET_ITEM.values(fields=bindparam("fields")), values)


def _refuse(tx: Connection, account: int, rows: Iterable[PlannedRow], reason: str) -> None:
    """Make the rows conflicts."""
    if ids := [row.id for row in rows]:
        are_refused = (_row.id.in_(ids), _row.account == account)
        tx.execute(update(import_rows).where(*are_refused).values(fate="conflict", reason=reason))


def _set_origins(tx: Connection, account: int, source: str, applied: Sequence[Applied]) -> None:
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


def _ids_of_tags(tx: Connection, account: int, applied: Sequence[Applied], added: Added) -> dict[str, int]:
    """Return the channels of the tags by name. New channels are created."""
    colors = {tag: color for row, _ in applied for tag, color in row.content.colors.items()}
    names = {tag: {"color": colors[tag]} if tag in colors else {} for row, _ in applied for tag in row.content.tags}
    defaults = ({"color": color} for color in channel_colors.in_turn(tx, account))
    return _ids(tx, channels, account, names, added, defaults)


def _set_channels(tx: Connection, account: int, applied: Sequence[Applied], ids: Mapping[str, int]) -> None:
    """Add the links to the channels of their tags."""
    now = clock.now()
    values = [
        {"account": account, "channel": ids[tag], "link": link, "assigned": now}
        for row, link in applied
        for tag in row.content.tags
    ]
    if values:
        tx.execute(upsert(tx, channel_items).on_conflict_do_nothing(), values)


def _set_campaigns(tx: Connection, account: int, applied: Sequence[Applied], added: Added) -> dict[str, int]:
    """Move the links to the campaigns of their folders; return these by name. New campaigns are created."""
    members = [(row.content.campaign, link) for row, link in applied if row.content.campaign]
    ids = _ids(tx, campaigns, account, {name: {} for name, _ in members}, added)
    is_link = (links.c.id == bindparam("link_id"), links.c.account == bindparam("owner"))
    statement = update(links).where(*is_link).values(campaign=bindparam("campaign"))
    if members:
        tx.execute(statement, [{"link_id": link, "owner": account, "campaign": ids[name]} for name, link in members])
    return ids


def _ids(
    tx: Connection,
    table: Table,
    account: int,
    names: Mapping[str, Mapping[str, Any]],
    added: Added,
    defaults: Iterator[Mapping[str, Any]] = _NO_DEFAULTS,
) -> dict[str, int]:
    """Return the ids of channels or campaigns by name. Missing ones are created with the columns of `names`.

    `defaults` yields other columns for each of them.
    """
    ids = crud.ids_by_name(tx, table, names.keys(), table.c.account == account) if names else {}
    created_meanwhile = crud.name_errors(table, unavailable())
    created: dict[str, int] = {}
    for name in sorted(names.keys() - ids.keys(), key=lambda name: (folded(name), name)):
        if (key := folded(name)) not in created:
            created[key] = crud.add(
                tx, table, account, {**next(defaults), **names[name], "name": name}, created_meanwhile
            )
            added.setdefault(table.name, []).append(created[key])
        ids[name] = created[key]
    return ids
