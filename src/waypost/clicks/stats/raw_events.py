"""Read stored events and export them as CSV or JSON lines."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, RowMapping, select

from waypost.core import clock, csv_export
from waypost.db.database import Database
from waypost.db.schema import events

Format = Literal["csv", "jsonl"]
_PAGE_SIZE = 5000
_LATEST_SCANNED = 200
_COLUMNS = (
    *("id", "date", "kind", "item", "sort", "first"),
    *("country", "referrer", "browser", "os", "device", "language", "source"),
)


def export(
    database: Database,
    account: int,
    *,
    form: Format,
    first: int,
    after: int,
    where: ColumnElement[bool] | None = None,
) -> Iterator[str]:
    """Yield the account's visits from second `first` to before `after` as pages of text, oldest first.

    `where` is another condition on `events`.

    Each page is read in its own transaction, so that a slow client holds no transaction open.
    """
    if form == "csv":
        yield ",".join(_COLUMNS) + "\r\n"
    c = events.c
    conditions = [c.account == account, c.at_ms >= first * 1000, c.at_ms < after * 1000]
    if where is not None:
        conditions.append(where)
    last_id = 0
    while rows := database.read(partial(_page, conditions=conditions, last_id=last_id)):
        last_id = rows[-1]["id"]
        exported = [_export_row(row) for row in rows]
        if form == "csv":
            yield csv_export.lines(row.values() for row in exported)
        else:
            yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in exported)


def latest(tx: Connection, account: int, limit: int) -> list[dict[str, Any]]:
    """Return up to `limit` clicks among the account's latest visits, newest first (index events_account_id)."""
    c = events.c
    columns = (c.kind, c.item, c.at_ms, c.sort, c.country, c.referrer, c.browser, c.os, c.device)
    query = select(*columns).where(c.account == account).order_by(c.id.desc()).limit(_LATEST_SCANNED)
    # A rotator's visit is also stored as a visit of its link.
    clicks = (dict(row) for row in tx.execute(query).mappings() if row["sort"] == "click" and row["kind"] != "campaign")
    return list(islice(clicks, limit))


def _page(tx: Connection, conditions: Sequence[ColumnElement[bool]], last_id: int) -> Sequence[RowMapping]:
    c = events.c
    columns = [c[name] for name in _COLUMNS if name != "date"]
    query = select(*columns, c.at_ms).where(*conditions, c.id > last_id).order_by(c.id).limit(_PAGE_SIZE)
    return tx.execute(query).mappings().all()


def _export_row(row: RowMapping) -> dict[str, Any]:
    fields = {**row, "date": clock.text(row["at_ms"] // 1000), "first": bool(row["first"])}
    return {name: fields[name] for name in _COLUMNS}
