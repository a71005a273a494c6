"""Single visits, for as long as the operator keeps them: read in order, written out as CSV or JSON lines."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Literal

from sqlalchemy import Connection, RowMapping, select

from waypost import clock, csv_export
from waypost.db.database import Database
from waypost.db.schema import events

Format = Literal["csv", "jsonl"]
_PAGE = 5000
_RECENT = 200
COLUMNS = (
    *("id", "date", "kind", "item", "sort", "first"),
    *("country", "referrer", "browser", "os", "device", "language", "source"),
)


def export(database: Database, account: int, *, form: Format, first: int, after: int) -> Iterator[str]:
    """The account's visits from the second `first` to before `after`, oldest first, a page of text at a time.

    Each page is a transaction of its own, so that a slow reader holds nothing.
    """
    write = _csv if form == "csv" else _json_lines
    if form == "csv":
        yield ",".join(COLUMNS) + "\r\n"
    last = 0
    while True:
        found = database.read(_page(account, last, first * 1000, after * 1000))
        if not found:
            return
        last = found[-1]["id"]
        yield write(_shown(row) for row in found)


def latest(tx: Connection, account: int, most: int) -> list[dict[str, Any]]:
    """The newest clicks among the account's newest visits, newest first (index events_account_id)."""
    c = events.c
    shown = (c.kind, c.item, c.at_ms, c.sort, c.country, c.referrer, c.browser, c.os, c.device)
    newest = select(*shown).where(c.account == account).order_by(c.id.desc()).limit(_RECENT)
    # A visit of a rotator is one of its link too.
    clicks = (
        dict(row) for row in tx.execute(newest).mappings() if row["sort"] == "click" and row["kind"] != "campaign"
    )
    return list(islice(clicks, most))


def _page(account: int, last: int, first_ms: int, after_ms: int) -> Callable[[Connection], list[RowMapping]]:
    c = events.c
    wanted = [c[name] for name in COLUMNS if name != "date"]
    chosen = (
        select(*wanted, c.at_ms)
        .where(c.account == account, c.id > last, c.at_ms >= first_ms, c.at_ms < after_ms)
        .order_by(c.id)
        .limit(_PAGE)
    )
    return lambda tx: list(tx.execute(chosen).mappings())


def _shown(row: RowMapping) -> dict[str, Any]:
    values = {**row, "date": clock.text(row["at_ms"] // 1000), "first": bool(row["first"])}
    return {name: values[name] for name in COLUMNS}


def _csv(rows: Iterable[dict[str, Any]]) -> str:
    return csv_export.lines(list(row.values()) for row in rows)


def _json_lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
