"""Single visits, for as long as the operator keeps them: read in order, written out as CSV or JSON lines."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from sqlalchemy import Connection, RowMapping, select

from waypost import clock, sheets
from waypost.db import Database
from waypost.schema import events

Format = Literal["csv", "jsonl"]
_PAGE = 5000
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
    return sheets.lines(list(row.values()) for row in rows)


def _json_lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
