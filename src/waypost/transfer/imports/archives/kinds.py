"""The kinds of items in an archive: how each is read, found and kept in use, and the items here that stand for them.

Links of the archive refer to these, and so do rows of statistics.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Table, bindparam, exists, select, update

from waypost.db import crud
from waypost.db.database import upsert
from waypost.db.schema import import_rows, link_pixels, links
from waypost.db.schema.nouns import NOUNS, has_page, referred_first
from waypost.items.domains import ops as domains
from waypost.items.functions import FUNCTIONS
from waypost.transfer.imports.archives.source import Shape, source_id
from waypost.transfer.imports.planned_rows import Content, PlannedRow

_LINK_FIELDS = (
    *("expiryurl", "metatitle", "metadescription", "metaimage"),
    *("geotarget", "devicetarget", "languagetarget", "deeplink", "parameters", "dropquery"),
)
FOUNDATIONS = frozenset(kind for kind, noun in NOUNS.items() if not has_page(noun))
"""The kinds that links refer to, and UTM templates. They have no alias."""
_row = import_rows.c
_IDS_PER_QUERY = 500
Key = tuple[str, int]
"""The kind of an item, and its id in the source."""


def shapes() -> Mapping[str, Shape]:
    """Return what the reader of an archive needs to know of each kind: it runs in a process without these modules."""
    return {
        kind: {
            "sheet": noun.sheet,
            "totals": (*noun.totals, *noun.imported),
            "fields": _LINK_FIELDS if kind == "link" else list(FUNCTIONS[kind].model.model_fields),
        }
        for kind, noun in referred_first().items()
    }


def equal_item(tx: Connection, account: int, kind: str, columns: Mapping[str, Any]) -> int | None:
    """Return the account's item that is like a new one with these columns."""
    noun, table = NOUNS[kind], NOUNS[kind].table
    if noun.is_named_once:
        return crud.find_by_name(tx, table, columns["name"], table.c.account == account)
    values = {name: columns.get(name) for name in noun.same}
    is_same = [table.c[name] == (_default(table, name) if value is None else value) for name, value in values.items()]
    query = select(table.c.id).where(table.c.account == account, *is_same).order_by(table.c.id)
    return tx.execute(query.limit(1)).scalar()


def is_used(tx: Connection, account: int, kind: str, item: int) -> bool:
    """Return whether another item refers to this one, or a domain has aliases."""
    if kind == "domain":
        return bool(domains.uses(tx, account, domains.get_owned(tx, account, item).host))
    uses = FUNCTIONS[kind].uses
    return any(
        tx.execute(select(exists().where(column == item, column.table.c.account == account))).scalar_one()
        for column in uses
    )


def _default(table: Table, name: str) -> Any:
    return getattr(table.c[name].default, "arg", None)


@dataclass(frozen=True)
class Items:
    """The ids here by kind and id in the source. `created` are those of this import; the account had the others."""

    all: Mapping[Key, int] = field(default_factory=dict)
    created: Mapping[Key, int] = field(default_factory=dict)


def find_items(tx: Connection, account: int, plan: int, service: str, keys: Iterable[Key]) -> Items:
    """Return the items of these keys. Blocks of bio pages are created with their pages."""
    keys_by_source_id = {source_id(service, kind, item): (kind, item) for kind, item in keys}
    everything: dict[Key, int] = {}
    created: dict[Key, int] = {}
    ids = list(keys_by_source_id)
    for start in range(0, len(ids), _IDS_PER_QUERY):
        of_plan = (_row.plan == plan, _row.account == account, _row.item.is_not(None))
        part = _row.source_id.in_(ids[start : start + _IDS_PER_QUERY])
        for row in tx.execute(select(_row.source_id, _row.item, _row.fate).where(*of_plan, part)):
            key = keys_by_source_id[row.source_id]
            everything[key] = row.item
            if row.fate == "create":
                created[key] = row.item
    return Items(everything, created)


def blocks_here(tx: Connection, account: int, plan: int) -> dict[Key, int]:
    """Return the ids of all blocks of the bio pages that the plan has created."""
    is_page = (_row.plan == plan, _row.account == account, _row.kind == "bio", _row.item.is_not(None))
    rows = tx.execute(select(_row.fields).where(*is_page, _row.fate == "create")).scalars()
    ids = (Content.read(fields).block_ids or {} for fields in rows)
    return {("block", int(old)): new for of_page in ids for old, new in of_page.items()}


def assign_ids(tx: Connection, account: int, plan: int, applied: Sequence[tuple[PlannedRow, int]]) -> None:
    """Set the splash pages, overlays and pixels of links of an archive."""
    referring = [(row, link, row.content.references) for row, link in applied if row.content.references]
    if not referring:
        return
    keys: dict[Key, str] = {}
    for row, _, references in referring:
        service = row.source_id.rsplit(" ", 2)[0]
        keys |= {(kind, references[kind]): service for kind in ("splash", "overlay") if references[kind]}
        keys |= {("pixel", pixel): service for pixel in references["pixels"]}
    if not keys:
        return
    items = find_items(tx, account, plan, next(iter(keys.values())), keys).all
    _set_interstitials(tx, account, referring, items)
    pairs = {
        (link, items["pixel", pixel])
        for _, link, old in referring
        for pixel in old["pixels"]
        if ("pixel", pixel) in items
    }
    if pairs:
        values = [{"link": link, "pixel": pixel, "account": account} for link, pixel in sorted(pairs)]
        tx.execute(upsert(tx, link_pixels).on_conflict_do_nothing(), values)


def _set_interstitials(
    tx: Connection, account: int, referring: Sequence[tuple[PlannedRow, int, Any]], items: Mapping[Key, int]
) -> None:
    is_link = (links.c.id == bindparam("link_id"), links.c.account == bindparam("owner"))
    for kind in ("splash", "overlay"):
        values = [
            {"link_id": link, "owner": account, "kind": kind, "item": items[kind, old[kind]]}
            for _, link, old in referring
            if (kind, old[kind]) in items
        ]
        if values:
            statement = update(links).where(*is_link)
            tx.execute(statement.values({"type": bindparam("kind"), kind: bindparam("item")}), values)
