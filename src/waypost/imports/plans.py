"""Plans of imports: an account has one. Its rows tell the fate of each row of the source."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Select, case, delete, func, insert, select, update

from waypost import clock
from waypost.db.database import Database
from waypost.db.schema import import_plans, import_rows
from waypost.errors import Kind, Problem, not_found

Conflicts = Literal["skip", "suffix", "replace"]
Fate = Literal["create", "there", "conflict", "changed", "impossible"]
BATCH = 500
_LINES_PER_READ = 1000
_row = import_rows.c


@dataclass(frozen=True)
class Plan:
    """A plan. `ignored` are the columns of the source that no field uses."""

    id: int
    source: str
    conflicts: Conflicts
    state: str
    ignored: Sequence[str]
    created_position: int
    row_position: int


@dataclass(frozen=True)
class Summary:
    """The number of rows of each fate, and the rows of created and changed links that lose something."""

    counts: Mapping[str, int]
    losing: int


@dataclass(frozen=True)
class Row:
    """A row of the source with its fate."""

    line: int
    fate: Fate
    reason: str
    losses: str
    host: str
    alias: str
    url: str


_PLAN_COLUMNS = [import_plans.c[name] for name in Plan.__dataclass_fields__]
_ROW_COLUMNS = [_row[name] for name in Row.__dataclass_fields__]


def start(database: Database, account: int, source: str, *, conflicts: Conflicts, ignored: Sequence[str]) -> int:
    """Replace the plan of the account by a new one; return its id."""
    for plan in database.read(lambda tx: tx.execute(_plans_of(account)).scalars().all()):
        remove(database, account, plan)
    values = {
        "account": account,
        "source": source,
        "conflicts": conflicts,
        "state": "reading",
        "ignored": list(ignored),
        "created": clock.now(),
    }
    statement = insert(import_plans).values(**values).returning(import_plans.c.id)
    return int(database.write(lambda tx: tx.execute(statement).scalar_one()))


def current(tx: Connection, account: int) -> Plan:
    """Return the plan of the account. Raises NOT_FOUND."""
    query = select(*_PLAN_COLUMNS).where(import_plans.c.account == account).order_by(import_plans.c.id.desc())
    row = tx.execute(query.limit(1)).mappings().first()
    if row is None:
        raise not_found("import plan")
    return Plan(**row)


def set_state(tx: Connection, account: int, plan: int, state: str) -> None:
    """Set the state of a plan. Raises SELECTION_CHANGED if another plan has replaced it."""
    is_plan = (import_plans.c.id == plan, import_plans.c.account == account)
    if tx.execute(update(import_plans).where(*is_plan).values(state=state)).rowcount == 0:
        raise replaced()


def replaced() -> Problem:
    """Return the problem of a plan that another import has replaced or is applying."""
    message = "Another import of this account has begun. Wait for its end, then start this one again."
    return Problem(Kind.SELECTION_CHANGED, message)


def summary(tx: Connection, account: int, plan: int) -> Summary:
    """Count the rows of the plan, in time linear in the rows."""
    is_losing = case(((_row.losses != "") & _row.fate.in_(("create", "changed")), 1), else_=0)
    query = select(_row.fate, func.count(), func.sum(is_losing)).where(_row.plan == plan, _row.account == account)
    rows = tx.execute(query.group_by(_row.fate)).all()
    return Summary({fate: count for fate, count, _ in rows}, sum(int(losing) for _, _, losing in rows))


def rows(database: Database, account: int, plan: int) -> Iterator[Row]:
    """Yield the rows of the plan in the order of the source, with constant memory."""
    last = 0
    while True:
        query = select(_row.id, *_ROW_COLUMNS).where(_row.plan == plan, _row.account == account, _row.id > last)
        query = query.order_by(_row.id).limit(_LINES_PER_READ)
        batch = database.read(lambda tx, query=query: tx.execute(query).all())  # type: ignore[misc]
        if not batch:
            return
        yield from (Row(*row[1:]) for row in batch)
        last = batch[-1].id


def _plans_of(account: int) -> Select[Any]:
    return select(import_plans.c.id).where(import_plans.c.account == account)


def remove(database: Database, account: int, plan: int) -> None:
    """Delete a plan, and its rows in batches, so that no other writer waits long."""
    oldest = select(_row.id).where(_row.plan == plan, _row.account == account).limit(BATCH * 4)
    statement = delete(import_rows).where(_row.id.in_(oldest), _row.account == account)
    while database.write(lambda tx: tx.execute(statement).rowcount):
        pass
    is_plan = (import_plans.c.id == plan, import_plans.c.account == account)
    database.write(lambda tx: tx.execute(delete(import_plans).where(*is_plan)))
