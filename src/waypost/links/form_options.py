"""The options of the link form: the account's campaigns, channels, pixels, domains, splash pages and overlays."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, Table, select

from waypost.db.schema import campaigns, channels, domains, overlays, pixels, splashes

Options = Mapping[str, Sequence[tuple[int | str, str]]]
Selected = Mapping[str, Sequence[int | str]]
_MAX_OTHERS = 1_000
_TABLES = {"campaigns": campaigns, "channels": channels, "pixels": pixels, "splashes": splashes, "overlays": overlays}
LISTED = 200
"""Campaigns or channels of a list that has all of them; there can be more if it has as many. Others are typed."""
COLLECTIONS = ("campaigns", "channels")
ALL_NAMES = (*_TABLES, "domains")


def load(
    tx: Connection, account: int, *, names: Sequence[str] = ALL_NAMES, selected: Selected | None = None
) -> Options:
    """Return (id, name) of each option, newest first; domains are identified by their host.

    Returns the newest 200 campaigns and channels, 1,000 others, and every selected one: a form without a selected
    option would clear it.
    """
    return {name: _options(tx, name, account, (selected or {}).get(name, ())) for name in names}


def _options(tx: Connection, name: str, account: int, selected: Sequence[int | str]) -> Sequence[tuple[int | str, str]]:
    table: Table = _TABLES.get(name, domains)
    key, label = (table.c.host, table.c.host) if table is domains else (table.c.id, table.c.name)
    query = select(key, label).where(table.c.account == account).order_by(table.c.id.desc())
    limit = LISTED if name in COLLECTIONS else _MAX_OTHERS
    options = [(row[0], row[1]) for row in tx.execute(query.limit(limit)).all()]
    missing = set(selected) - {key for key, _ in options}
    if missing and len(options) == limit:
        options += [(row[0], row[1]) for row in tx.execute(query.where(key.in_(sorted(missing, key=str))))]
    return options
