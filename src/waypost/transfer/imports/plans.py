"""Plans of imports: an account has one. Its rows tell the fate of each row of the source."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, case, func, insert, select, update

from waypost.core import clock, csv_export
from waypost.core.errors import Kind, Problem, not_found
from waypost.db import account_rows, audit_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.database import Database
from waypost.db.schema import import_plans, import_rows
from waypost.transfer.imports.batches import Cancellation
from waypost.transfer.imports.planned_rows import Content

Conflicts = Literal["skip", "suffix", "replace"]
Fate = Literal["create", "there", "conflict", "changed", "impossible"]
Folders = Literal["campaign", "channel", "ignore"]
State = Literal["reading", "failed", "planned", "applying", "applied", "undoing", "undone"]
UNDOABLE = ("applying", "applied", "undoing")
"""States of a plan that can be undone, in part applied or in part undone as well."""
BATCH, MAX_BATCH = 500, 4000
FOUNDATIONS, LINKS, OTHERS = 0, 1, 2
"""Stages of the rows, in the order in which they are applied."""
BUSY_SECONDS = 60
_WATCH_SECONDS = 1.0
"""How often the process that works on a plan looks whether it was canceled, on any node."""
UNEXPECTED = "An unexpected error, which is in the log of the service."
_LINES_PER_READ = 1000
_row = import_rows.c
_plan = import_plans.c


@dataclass(frozen=True)
class Plan:
    """A plan. `ignored` are the columns of the source that no field uses, `row_count` the rows that were read."""

    id: int
    source: str
    conflicts: Conflicts
    state: State
    error: str
    ignored: Sequence[str]
    row_count: int
    busy_until: int
    created: int

    @property
    def is_busy(self) -> bool:
        """Return whether a process reads, applies or undoes the plan. If it was killed, for another minute."""
        return 0 < abs(self.busy_until) - clock.now() <= 2 * BUSY_SECONDS

    @property
    def is_stopping(self) -> bool:
        """Return whether the process that works on the plan was asked to stop."""
        return self.is_busy and self.busy_until < 0


@dataclass(frozen=True)
class Summary:
    """The number of rows of each fate, and of the rows that create or change an item.

    `losing` of these lose something, `links` are rows of links.
    """

    counts: Mapping[str, int]
    losing: int
    links: int

    @property
    def kept(self) -> int:
        """The rows that create or change an item, or did so."""
        return self.counts.get("create", 0) + self.counts.get("changed", 0)


@dataclass(frozen=True)
class Row:
    """A row of the source with its fate."""

    line: int
    kind: str
    fate: Fate
    reason: str
    losses: str
    host: str
    alias: str
    url: str


_PLAN_COLUMNS = [_plan[name] for name in Plan.__dataclass_fields__]
_ROW_COLUMNS = [_row[name] for name in Row.__dataclass_fields__]


def add(tx: Connection, account: int, source: str, *, conflicts: Conflicts) -> int:
    """Add a plan whose source is read; return its id. The caller has deleted the old one with `clear`.

    Raises IMPORT_STATE if another request has added one since.
    """
    account_rows.lock(tx, account)
    if find(tx, account) is not None:
        raise running()
    values = {
        "account": account,
        "source": source,
        "conflicts": conflicts,
        "state": "reading",
        "created": clock.now(),
        "busy_until": clock.now() + BUSY_SECONDS,
    }
    plan = int(tx.execute(insert(import_plans).values(**values).returning(_plan.id)).scalar_one())
    audit_log.record(tx, account, "import.created", plan, label=source)
    return plan


@contextmanager
def busy(
    database: Database, account: int, plan: int, cancellation: Cancellation | None = None
) -> Iterator[Cancellation]:
    """Mark the plan as in work until the end, or for a minute after the process is killed. Notes a problem.

    The cancellation is canceled within a second or two of `request_stop` and of the plan's removal, on any node.
    Raises IMPORT_STATE if either has happened already.
    """
    cancellation = cancellation or Cancellation()
    ended = threading.Event()
    _begin(database, account, plan)
    arguments = (database, account, plan, cancellation, ended)
    thread = threading.Thread(target=_watch, args=arguments, name="import", daemon=True)
    thread.start()
    error = ""
    try:
        yield cancellation
    except Problem as problem:
        error = problem.message
        raise
    except Exception:
        error = UNEXPECTED
        raise
    finally:
        ended.set()
        thread.join()
        with suppress(Problem):
            database.write(lambda tx: fail(tx, account, plan, error) if error else release(tx, account, plan))


def _begin(database: Database, account: int, plan: int) -> None:
    """Mark the plan as in work. Raises IMPORT_STATE if it was asked to stop, or removed."""
    is_stopping = _plan.busy_until < -clock.now()
    statement = update(import_plans).where(_plan.id == plan, _plan.account == account, ~is_stopping)
    values = {"busy_until": clock.now() + BUSY_SECONDS}
    if database.write(lambda tx: tx.execute(statement.values(values)).rowcount) == 0:
        raise canceled()


def _watch(database: Database, account: int, plan: int, cancellation: Cancellation, ended: threading.Event) -> None:
    """Extend the mark regularly, and cancel the work when it is asked to stop: the body of a thread."""
    is_plan = (_plan.id == plan, _plan.account == account)
    extended = time.monotonic()
    while not ended.wait(_WATCH_SECONDS):
        with suppress(Problem):  # a failed database fails the work itself
            until = database.read(lambda tx: tx.execute(select(_plan.busy_until).where(*is_plan)).scalar())
            if until is None or until < 0:
                cancellation.cancel(canceled())
            if time.monotonic() - extended > BUSY_SECONDS / 3:
                database.write(lambda tx: extend(tx, account, plan))
                extended = time.monotonic()


def extend(tx: Connection, account: int, plan: int) -> None:
    """Mark the plan as in work for another minute. A request to stop stays."""
    until = clock.now() + BUSY_SECONDS
    values = {"busy_until": case((_plan.busy_until < 0, -until), else_=until)}
    tx.execute(update(import_plans).where(_plan.id == plan, _plan.account == account).values(values))


def request_stop(tx: Connection, account: int, plan: int) -> None:
    """Tell the process that works on the plan to stop: `busy_until` becomes negative."""
    values = {"busy_until": -func.abs(_plan.busy_until)}
    tx.execute(update(import_plans).where(_plan.id == plan, _plan.account == account).values(values))


def hold(tx: Connection, account: int, plan: int) -> None:
    """Lock the plan until the commit. Raises IMPORT_STATE if it was removed."""
    query = select(_plan.id).where(_plan.id == plan, _plan.account == account)
    if tx.execute(query.with_for_update()).first() is None:
        raise canceled()


def add_rows(tx: Connection, account: int, plan: int, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store rows of the source. Raises IMPORT_STATE if the plan was asked to stop, or removed."""
    is_plan = (_plan.id == plan, _plan.account == account, _plan.busy_until > 0)
    values = {"row_count": _plan.row_count + len(rows)}
    if tx.execute(update(import_plans).where(*is_plan).values(values)).rowcount == 0:
        raise canceled()
    tx.execute(insert(import_rows), rows)


def finish_reading(tx: Connection, account: int, plan: int, source: str, *, ignored: Sequence[str]) -> None:
    """Make the plan complete. Raises IMPORT_STATE if it was removed."""
    set_state(tx, account, plan, "planned", source=source, ignored=list(ignored))


def fail(tx: Connection, account: int, plan: int, error: str) -> None:
    """Note why the plan could not be made, applied or undone. Only a plan that is not complete cannot be resumed."""
    state = case((_plan.state == "reading", "failed"), else_=_plan.state)
    values = {"state": state, "error": error[:500], "busy_until": 0}
    tx.execute(update(import_plans).where(_plan.id == plan, _plan.account == account).values(values))


def release(tx: Connection, account: int, plan: int) -> None:
    """End work on the plan."""
    is_plan = (_plan.id == plan, _plan.account == account)
    tx.execute(update(import_plans).where(*is_plan).values(busy_until=0))


def acquire(tx: Connection, account: int, plan: int, state: State) -> None:
    """Begin work on the plan. Raises IMPORT_STATE while another process works on it."""
    now = clock.now()
    is_busy = func.abs(_plan.busy_until).between(now + 1, now + 2 * BUSY_SECONDS)
    statement = update(import_plans).where(_plan.id == plan, _plan.account == account, ~is_busy)
    if tx.execute(statement.values(state=state, error="", busy_until=now + BUSY_SECONDS)).rowcount == 0:
        raise running()


def running() -> Problem:
    """Return the problem of an import on which a process works."""
    return Problem(Kind.IMPORT_STATE, "An import of this account is running. Wait until it ends, or cancel it.")


def find(tx: Connection, account: int) -> Plan | None:
    """Return the plan of the account, if it has one."""
    return next(iter(all_of(tx, account)), None)


def all_of(tx: Connection, account: int) -> Sequence[Plan]:
    """Return the plan of the account, and those that a new one replaced at the same time, newest first."""
    query = select(*_PLAN_COLUMNS).where(_plan.account == account).order_by(_plan.id.desc())
    return [Plan(**row) for row in tx.execute(query).mappings()]


def current(tx: Connection, account: int) -> Plan:
    """Return the plan of the account. Raises NOT_FOUND."""
    plan = find(tx, account)
    if plan is None:
        raise not_found("import")
    return plan


def set_state(tx: Connection, account: int, plan: int, state: State, **values: Any) -> None:
    """Set the state of a plan. Raises IMPORT_STATE if it was removed."""
    is_plan = (_plan.id == plan, _plan.account == account)
    change = update(import_plans).where(*is_plan).values(state=state, **values).returning(_plan.source)
    source = tx.execute(change).scalar()
    if source is None:
        raise canceled()
    if state in _EVENTS:
        audit_log.record(tx, account, _EVENTS[state], plan, label=source)


_EVENTS: Mapping[State, str] = {
    "applying": "import.started",
    "applied": "import.finished",
    "undoing": "import.undo_started",
    "undone": "import.undone",
}


def canceled() -> Problem:
    """Return the problem of work on a plan that was asked to stop, or was removed."""
    return Problem(Kind.IMPORT_STATE, "The import was canceled before its end.")


def summary(tx: Connection, account: int, plan: int) -> Summary:
    """Count the rows of the plan, in time linear in the rows."""
    is_kept = _row.fate.in_(("create", "changed"))
    sums = [func.sum(case((is_kept & is_one, 1), else_=0)) for is_one in (_row.losses != "", _row.kind == "link")]
    query = select(_row.fate, func.count(), *sums).where(_row.plan == plan, _row.account == account)
    rows = tx.execute(query.group_by(_row.fate)).all()
    losing, links = (sum(int(row[index]) for row in rows) for index in (2, 3))
    return Summary({row[0]: row[1] for row in rows}, losing, links)


def target_hosts(tx: Connection, account: int, plan: int, limit: int) -> Sequence[str]:
    """Return the domains that get links of the plan, at most `limit`, those with most links first.

    "" is the service's own. Reads all rows of the plan (index import_rows_plan_alias).
    """
    kept = (_row.plan == plan, _row.account == account, _row.fate.in_(("create", "changed")))
    query = select(_row.host).where(*kept, (_row.kind == "link") | (_row.alias != ""))
    return tx.execute(query.group_by(_row.host).order_by(func.count().desc(), _row.host).limit(limit)).scalars().all()


def rows(database: Database, account: int, plan: int) -> Iterator[Row]:
    """Yield the rows of the plan in the order of the source, with constant memory."""
    last = 0
    while True:
        # By line, because the index (plan, line) has this order: by id, SQLite would sort all rows for each read.
        query = select(*_ROW_COLUMNS).where(_row.plan == plan, _row.account == account, _row.line > last)
        query = query.order_by(_row.line).limit(_LINES_PER_READ)
        batch = database.read(partial(crud.fetch_all, query=query))
        if not batch:
            return
        yield from (Row(*row) for row in batch)
        last = batch[-1].line


def page(tx: Connection, account: int, window: PageRequest, fate: Fate | None) -> Page[Row]:
    """Return a page of the rows of the account's plan, in the order of the source. Raises NOT_FOUND."""
    of_plan = (_row.plan == current(tx, account).id, _row.account == account)
    query = select(*_ROW_COLUMNS).where(*of_plan, *([_row.fate == fate] if fate else [])).order_by(_row.line)
    return crud.counted_page(tx, query, window, Row)


class PlannedLink(NamedTuple):
    """The parts of a link that people compare with their file. `expiry` is in seconds, `channels` are names."""

    title: str
    expiry: int | None
    channels: Sequence[str]


def links(tx: Connection, account: int, lines: Sequence[int]) -> Mapping[int, PlannedLink]:
    """Return the links in rows of the account's plan, by line. Raises NOT_FOUND."""
    of_plan = (_row.plan == current(tx, account).id, _row.account == account, _row.kind == "link")
    query = select(_row.line, _row.fields).where(*of_plan, _row.line.in_(lines))
    contents = ((row.line, Content.read(row.fields)) for row in tx.execute(query))
    return {
        line: PlannedLink(str(content.columns.get("title") or ""), content.columns.get("expiry"), content.tags)
        for line, content in contents
    }


FATES = {
    "create": "will be created",
    "there": "are there already",
    "changed": "change a link",
    "conflict": "have a conflict",
    "impossible": "are impossible",
}
_APPLIED = {"create": "were created", "changed": "have changed a link"}
_COLUMNS = ("line", "fate", "reason", "losses", "host", "alias", "url")


def report_json(plan: Plan, summary: Summary) -> Mapping[str, Any]:
    """Return the state of the plan and the number of rows by fate."""
    counts = {fate: summary.counts.get(fate, 0) for fate in FATES}
    return {"state": plan.state, **counts, "losing": summary.losing, "ignored": list(plan.ignored)}


def report_lines(plan: Plan, summary: Summary) -> Iterator[str]:
    """Yield the counts as sentences."""
    texts = {**FATES, **_APPLIED} if plan.state == "applied" else FATES
    for fate, text in texts.items():
        yield f"{summary.counts.get(fate, 0):,} rows {text}."
    yield f"{summary.losing:,} of {summary.kept:,} links lose something."
    if plan.ignored:
        yield f"Not imported: {', '.join(plan.ignored)}."


def report_csv(database: Database, account: int, plan: int) -> Iterator[str]:
    """Yield the fate of every row as CSV, in the order of the source, with constant memory."""
    yield csv_export.lines([_COLUMNS])
    for row in rows(database, account, plan):
        yield csv_export.lines([[getattr(row, name) for name in _COLUMNS]])
