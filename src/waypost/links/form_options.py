"""What a link can be connected with: the account's campaigns, channels, pixels, domains and pages on the way."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, Table, select

from waypost.db.schema import campaigns, channels, domains, overlays, pixels, splashes

Choices = Mapping[str, Sequence[tuple[int | str, str]]]
Kept = Mapping[str, Sequence[int | str]]
_MOST = 200
_TABLES = {"campaigns": campaigns, "channels": channels, "pixels": pixels, "splashes": splashes, "overlays": overlays}
SHELVES = ("campaigns", "channels")
EVERYTHING = (*_TABLES, "domains")


def of(tx: Connection, account: int, *, names: Sequence[str] = EVERYTHING, kept: Kept | None = None) -> Choices:
    """(id, name) of each, newest first; domains by their host. The newest 200, and those that are chosen already,
    since a form without them would take them away."""
    return {name: _named(tx, name, account, (kept or {}).get(name, ())) for name in names}


def _named(tx: Connection, name: str, account: int, kept: Sequence[int | str]) -> Sequence[tuple[int | str, str]]:
    table: Table = _TABLES.get(name, domains)
    key, shown = (table.c.host, table.c.host) if table is domains else (table.c.id, table.c.name)
    mine = select(key, shown).where(table.c.account == account).order_by(table.c.id.desc())
    found = [(row[0], row[1]) for row in tx.execute(mine.limit(_MOST))]
    missing = set(kept) - {key for key, _ in found}
    if missing and len(found) == _MOST:
        found += [(row[0], row[1]) for row in tx.execute(mine.where(key.in_(sorted(missing, key=str))))]
    return found
