"""Queries that the service repeats, in a large database: `python -m bench.periodic [--links N] [--clicks N]`.

Runs each query of notices, unusual hours, expired links and checks of domains on SQLite and PostgreSQL. Prints the
median time, the rows that the SELECTs read on PostgreSQL, and tables that are read without an index. Reading all
accounts once an hour and all domains once a minute is intended. The exit status is the number of other queries that
read a whole table, or take longer than the limit.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import Connection, delete, event, insert, literal, select, text, update

from bench.seed import fill
from tests.support.postgres import FAST_OPTIONS, own_postgres
from waypost.clicks.ingest import partitions
from waypost.core import clock
from waypost.db.database import Database
from waypost.db.postgres import disable_timeouts
from waypost.db.schema import (
    account_notices,
    accounts,
    click_times,
    domain_checks,
    domains,
    installation,
    links,
    notice_items,
)
from waypost.email_reports import notices, surges
from waypost.items.domains import domain_checks as checks
from waypost.items.links import expiry_events

_LIMIT_MS = 200.0
_RUNS = 5
_DAY = 86_400
_ACCOUNTS = 5_000
_NOW = clock.now()
_HOUR = _NOW // 3600 * 3600 - 3600
_INTENDED = {
    "unusual hours": {"accounts"},
    "domains: enroll": {"domains", "domain_checks"},
}
"""Tables that a query reads completely, for a reason."""
_SLOW = {"unusual hours": 2000.0}
"""Other limits, in milliseconds: once an hour."""


class _UndoneError(Exception):
    """The end of a transaction that must not be committed."""


@dataclass
class _Plans:
    """The rows that the statements of a query read, and the tables that they read completely."""

    rows: int = 0
    scanned: set[str] = field(default_factory=set)


def main() -> None:
    """Fill, measure and print for both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=200_000, help="number of links in one account")
    parser.add_argument("--clicks", type=int, default=1_000_000, help="number of sums of clicks")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        folder = fill(Path(name) / "sqlite", options.links).folder
        failed = _measure(f"sqlite:///{folder / 'waypost.db'}", options.links, options.clicks)
        with own_postgres(*FAST_OPTIONS, "-c", "shared_buffers=512MB") as postgres:
            url = f"{postgres.url}/postgres"
            fill(Path(name) / "postgresql", options.links, url)
            failed += _measure(url, options.links, options.clicks)
    sys.exit(failed)


def _queries() -> Mapping[str, Callable[[Connection], object]]:
    return {
        "notices: find due": notices.find_due,
        "notices: find old": notices.has_old,
        "notices: delete old": notices.delete_old,
        "notices: take 1,000 items": partial(notices.take, account=1, kind="limit"),
        "unusual hours": partial(surges.find, hour=_HOUR),
        "expired links: look": partial(expiry_events.has_work, until=_NOW - 10),
        "expired links: record a day": _record_expired,
        "domains: enroll": partial(checks.enroll, now=_NOW),
        "domains: claim ten": partial(checks.claim_batch, now=_NOW, limit=10),
    }


def _record_expired(tx: Connection) -> object:
    _set_position(tx, _NOW - _DAY)
    return expiry_events.record(tx, _NOW - 10)


def _set_position(tx: Connection, second: int) -> None:
    """Set the expiry up to which links have events."""
    c = installation.c
    tx.execute(delete(installation).where(c.name == expiry_events.POSITION))
    tx.execute(insert(installation).values(name=expiry_events.POSITION, value=f"[{second}, 0]".encode()))


def _measure(url: str, count: int, sums: int) -> int:
    database = Database(url)
    for statements in _rows(count, sums):
        database.write(partial(_execute, statements=statements), durability="relaxed")
    database.write(lambda tx: partitions.ensure(tx, {_NOW // _DAY - day for day in range(60)}))
    name = "SQLite" if url.startswith("sqlite") else "PostgreSQL"
    print(f"{name}, {count:,} links, {sums:,} sums of clicks, {count:,} items of notices: median in ms, rows read")
    database.write(partial(_set_position, second=_NOW - 30))
    failed = sum(_report(database, label, query) for label, query in _queries().items())
    database.close()
    return failed


def _report(database: Database, label: str, query: Callable[[Connection], object]) -> bool:
    """Print a line. Return whether the query is too slow, or reads a table that it should not."""
    times, plans = [], _Plans()

    def work(tx: Connection, *, explains: bool) -> None:
        if explains:
            _listen(tx, plans)
        began = time.perf_counter()
        query(tx)
        times.append((time.perf_counter() - began) * 1000)
        raise _UndoneError

    for run in range(_RUNS + 1):
        try:
            database.write(partial(work, explains=run == _RUNS))
        except _UndoneError:
            continue
    unintended = plans.scanned - _INTENDED.get(label, set())
    is_failed = bool(unintended) or median(times[:_RUNS]) > _SLOW.get(label, _LIMIT_MS)
    scanned = f"  reads all: {', '.join(sorted(plans.scanned))}" if plans.scanned else ""
    print(
        f"{label:28} {median(times[:_RUNS]):9.2f} {plans.rows:9,}{scanned}{'  FAILED' if is_failed else ''}", flush=True
    )
    return is_failed


def _listen(tx: Connection, plans: _Plans) -> None:
    """Explain every statement of a transaction before it is executed."""
    is_sqlite = tx.dialect.name == "sqlite"

    def explain(_tx: Any, cursor: Any, sql: str, values: Any, _context: Any, is_many: bool) -> None:  # noqa: FBT001
        if is_many:
            return
        if is_sqlite:
            lines = [row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()]
            plans.scanned |= {table for line in lines if (table := _scanned(line))}
        elif sql.lstrip().startswith(("SELECT", "WITH")):
            ((plan,),) = cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", values).fetchall()
            _read(plan[0]["Plan"], plans)
        else:
            ((plan,),) = cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", values).fetchall()
            _read(plan[0]["Plan"], plans)

    event.listen(tx, "before_cursor_execute", explain)


def _scanned(line: str) -> str:
    """Return the table that a line of SQLite's plan reads completely; "" if there is none."""
    words = line.split()
    return words[1] if words[0] == "SCAN" and words[1] in _LARGE else ""


_LARGE = {table.name for table in (accounts, click_times, domain_checks, domains, links, notice_items, account_notices)}


def _read(plan: Mapping[str, Any], plans: _Plans) -> None:
    """Add the rows and tables of a node of PostgreSQL's plan, and of those below it."""
    if "Relation Name" in plan or "Index Name" in plan:
        removed = plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Index Recheck", 0)
        plans.rows += round((plan.get("Actual Rows", 0) + removed) * plan.get("Actual Loops", 0))
        table = next((name for name in _LARGE if str(plan.get("Relation Name", "")).startswith(name)), "")
        if plan["Node Type"] == "Seq Scan" and table:
            plans.scanned.add(table)
    for below in plan.get("Plans", ()):
        _read(below, plans)


def _execute(tx: Connection, statements: Sequence[tuple[Any, Sequence[Mapping[str, Any]]]]) -> None:
    disable_timeouts(tx)
    for statement, rows in statements:
        tx.execute(statement, rows) if rows else tx.execute(statement)


def _numbers(count: int) -> Any:
    """Return a table of the numbers from 0 on."""
    numbers = select(literal(0).label("n")).cte("numbers", recursive=True)
    return numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n < count - 1)).c.n


def _rows(count: int, sums: int) -> Iterator[Sequence[tuple[Any, Sequence[Mapping[str, Any]]]]]:
    """Yield statements that add accounts, domains, expiries, sums of clicks and items of notices."""
    others = range(2, _ACCOUNTS + 2)
    same = {"password": "*", "password_changed": 0, "plan": 1, "registered": _NOW - 90 * _DAY}
    owners = [
        {
            **same,
            "id": n,
            "email": f"{n}@a.example",
            "email_key": f"{n}@a.example",
            "username": f"u{n}",
            "username_key": f"u{n}",
        }
        for n in others
    ]
    hosts = [{"id": n, "account": n, "created": 1, "host": f"go{n}.example", "scheme": "https"} for n in others]
    due = [{"account": n, "domain": n, "due": _NOW + n * 17, "failures": 0, "problem": ""} for n in others if n > 12]
    yield [(insert(accounts), owners), (insert(domains), hosts), (insert(domain_checks), due)]
    yield [(update(links).where(links.c.id % 4 == 0).values(expiry=_NOW + (links.c.id - count // 2) * 60), ())]
    yield [(update(links).values(created=_NOW - 60 * _DAY), ())]
    names = ("kind", "item", "at", "account", "clicks", "uniques", "bots", "previews", "others", "late")
    zeros = [literal(0)] * 4
    n = _numbers(sums)
    of_links = (literal("link"), 1 + n % count, _HOUR - n // count * _DAY, literal(1), 1 + n % 997, literal(1), *zeros)
    yield [(insert(click_times).from_select(names, select(*of_links)), ())]
    n = _numbers(28 * _ACCOUNTS)
    owner = 1 + n % _ACCOUNTS
    of_accounts = (literal("account"), owner, _HOUR - n // _ACCOUNTS * _DAY, owner, 91 + n % 100, literal(1), *zeros)
    yield [(insert(click_times).from_select(names, select(*of_accounts)), ())]
    items = [{"account": 1, "kind": "dead", "item": n, "content": {"url": "https://a.example/"}} for n in range(count)]
    items += [
        {"account": n, "kind": kind, "item": 1, "content": {}} for n in others[:500] for kind in ("limit", "surge")
    ]
    items += [{"account": 1, "kind": "limit", "item": n, "content": {}} for n in range(2000)]
    waiting = [{**each, "created": _NOW - (3000 if each["kind"] == "surge" else 2 * _DAY)} for each in items]
    kinds = [{"account": n, "kind": kind} for n in (1, *others) for kind in ("dead", "limit", "surge")]
    sent = [{**each, "enabled": True, "sent": _NOW - 100} for each in kinds if each != {"account": 1, "kind": "limit"}]
    yield [(insert(notice_items), waiting), (insert(account_notices), sent)]
    yield [(text("ANALYZE"), ())]


if __name__ == "__main__":
    main()
