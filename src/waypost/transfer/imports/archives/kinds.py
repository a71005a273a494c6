"""The kinds of items in an archive: how each is read, found and kept in use."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table, exists, select

from waypost.db import crud
from waypost.db.schema.nouns import NOUNS, has_page, referred_first
from waypost.items.domains import ops as domains
from waypost.items.functions import FUNCTIONS
from waypost.transfer.imports.archives.source import Shape

_LINK_FIELDS = (
    *("expiryurl", "metatitle", "metadescription", "metaimage"),
    *("geotarget", "devicetarget", "languagetarget", "deeplink", "parameters", "dropquery"),
)
FOUNDATIONS = frozenset(kind for kind, noun in NOUNS.items() if not has_page(noun))
"""The kinds that links refer to, and UTM templates. They have no alias."""


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
