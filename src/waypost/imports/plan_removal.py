"""Removal of plans: the rows in batches, and the bytes of files that no import has used."""

from sqlalchemy import Connection, delete, select, update

from waypost import clock
from waypost.db.database import Database
from waypost.db.schema import import_clicks, import_parts, import_plans, import_rows, orphan_objects
from waypost.errors import Kind, Problem
from waypost.imports import plans
from waypost.imports.plans import BATCH, Conflicts

_INCOMPLETE = (
    "The last import stopped before its end. Resume it, undo it, or discard its plan first: a new plan would not bring "
    "the clicks of the links that it has created."
)
_row = import_rows.c


def start(database: Database, account: int, source: str, *, conflicts: Conflicts) -> int:
    """Replace the plan of the account by a new one; return its id. Raises as `clear`."""
    clear(database, account)
    return database.write(lambda tx: plans.add(tx, account, source, conflicts=conflicts))


def clear(database: Database, account: int) -> None:
    """Delete the old plan of the account, in batches.

    Raises IMPORT_STATE while a process works on it, and if it is applied or undone in part.
    """
    for plan in database.read(lambda tx: plans.all_of(tx, account)):
        if plan.is_busy:
            raise plans.running()
        if plan.state in ("applying", "undoing"):
            raise Problem(Kind.IMPORT_STATE, _INCOMPLETE)
        remove(database, account, plan.id)


def remove(database: Database, account: int, plan: int) -> None:
    """Delete a plan, after its rows."""
    empty(database, account, plan)
    database.write(lambda tx: drop(tx, account, plan))


def empty(database: Database, account: int, plan: int) -> None:
    """Delete the rows of a plan in batches, so that no other writer waits long. Its staged files are released."""
    _release_files(database, account, plan)
    for table in (import_rows, import_clicks, import_parts):
        oldest = select(table.c.id).where(table.c.plan == plan, table.c.account == account).limit(BATCH * 4)
        statement = delete(table).where(table.c.id.in_(oldest), table.c.account == account)
        while database.write(lambda tx, statement=statement: tx.execute(statement).rowcount):  # type: ignore[misc]
            pass


def drop(tx: Connection, account: int, plan: int) -> None:
    """Delete a plan without rows."""
    tx.execute(delete(import_plans).where(import_plans.c.id == plan, import_plans.c.account == account))


def discard(database: Database, account: int) -> None:
    """Delete the plan of the account. Raises NOT_FOUND, IMPORT_STATE while a process works on it."""
    plan = database.read(lambda tx: plans.current(tx, account))
    database.write(lambda tx: plans.acquire(tx, account, plan.id, plan.state))
    remove(database, account, plan.id)


def _release_files(database: Database, account: int, plan: int) -> None:
    """Let cleanup delete the bytes that the plan stored and of which it made no file."""
    query = select(_row.line, _row.fields).where(_row.plan == plan, _row.account == account, _row.kind == "file")
    last = 0
    while True:
        page = query.where(_row.line > last).order_by(_row.line).limit(BATCH)
        rows = database.read(lambda tx, page=page: tx.execute(page).all())  # type: ignore[misc]
        if not rows:
            return
        last = rows[-1].line
        names = [row.fields["stored"]["object"] for row in rows if row.fields.get("stored")]
        is_staged = (orphan_objects.c.object.in_(names), orphan_objects.c.deleting.is_(False))
        statement = update(orphan_objects).where(*is_staged).values(due=clock.now())
        database.write(lambda tx, statement=statement: tx.execute(statement))  # type: ignore[misc]
