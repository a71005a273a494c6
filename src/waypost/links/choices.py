"""What a link can be connected with: the account's campaigns, channels, pixels, domains and pages on the way."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, Table, select

from waypost.schema import campaigns, channels, domains, overlays, pixels, splashes

Choices = Mapping[str, Sequence[tuple[int | str, str]]]
_MOST = 500
_TABLES = {"campaigns": campaigns, "channels": channels, "pixels": pixels, "splashes": splashes, "overlays": overlays}


def of(tx: Connection, account: int) -> Choices:
    """(id, name) of each, newest first, the newest 500; domains by their host."""
    hosts = select(domains.c.host).where(domains.c.account == account).order_by(domains.c.id.desc()).limit(_MOST)
    found: dict[str, Sequence[tuple[int | str, str]]] = {
        name: _named(tx, table, account) for name, table in _TABLES.items()
    }
    return {**found, "domains": [(host, host) for host in tx.execute(hosts).scalars()]}


def _named(tx: Connection, table: Table, account: int) -> Sequence[tuple[int, str]]:
    chosen = select(table.c.id, table.c.name).where(table.c.account == account).order_by(table.c.id.desc()).limit(_MOST)
    return [(row.id, row.name) for row in tx.execute(chosen)]
