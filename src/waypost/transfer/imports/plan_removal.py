"""Removal of plans: the rows in batches, and the bytes of files that no import has used."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection, Delete, delete, select, update

from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.db import audit_log, crud
from waypost.db.database import Database
from waypost.db.schema import import_clicks, import_parts, import_plans, import_rows, orphan_objects
from waypost.transfer.imports import plans
from waypost.transfer.imports.planned_rows import Content
from waypost.transfer.imports.plans import BATCH, Conflicts, Plan

_INCOMPLETE = (
    "The last import stopped before its end. Resume it, undo it, or discard it first: a new import would not bring "
    "the clicks of the links that it has created."
)
_DELETED = "The import was discarded."
_CANCELED = "The import was canceled. Nothing of it was imported."
_STOPPING = {
    "applying": "The import stops after its current step. Then resume it, undo it, or discard it.",
    "undoing": "Undo stops after its current step. Then resume it, or discard it.",
}
_row = import_rows.c


@dataclass(frozen=True)
class Removal:
    """The begin of a plan's removal; or, if `is_stopped_only`, a request to the process that changes links to stop.

    `message` says what happens.
    """

    plan: int
    message: str
    is_stopped_only: bool = False


def start(database: Database, account: int, source: str, *, conflicts: Conflicts) -> int:
    """Replace the plan of the account by a new one; return its id. Raises as `clear`."""
    clear(database, account)
    return database.write(lambda tx: plans.add(tx, account, source, conflicts=conflicts))


def clear(database: Database, account: int) -> None:
    """Delete the old plan of the account, in batches. Raises as `require_replaceable`."""
    for plan in database.read(lambda tx: require_replaceable(tx, account)):
        remove(database, account, plan.id)


def require_replaceable(tx: Connection, account: int) -> Sequence[Plan]:
    """Return the plans that a new one replaces.

    Raises IMPORT_STATE while a process works on one, and if it is applied or undone in part.
    """
    replaced = plans.all_of(tx, account)
    for plan in replaced:
        if plan.is_busy:
            raise plans.running()
        if plan.state in ("applying", "undoing"):
            raise Problem(Kind.IMPORT_STATE, _INCOMPLETE)
    return replaced


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
        while database.write(partial(_delete_batch, account=account, plan=plan, statement=statement)):
            pass


def _delete_batch(tx: Connection, account: int, plan: int, statement: Delete) -> int:
    plans.extend(tx, account, plan)
    return tx.execute(statement).rowcount


def drop(tx: Connection, account: int, plan: int) -> None:
    """Delete a plan after its rows, and with those that its reader has added since."""
    c = import_plans.c
    deletion = delete(import_plans).where(c.id == plan, c.account == account).returning(c.source)
    source = tx.execute(deletion).scalar() or ""
    audit_log.record(tx, account, "import.deleted", plan, label=source)


def begin(tx: Connection, account: int) -> Removal:
    """Begin to remove the plan of the account; while a process works on it, as `cancel`.

    Raises NOT_FOUND, and IMPORT_STATE while another request removes it.
    """
    plan = _hold(tx, account)
    if plan.is_busy:
        return cancel(tx, account)
    plans.acquire(tx, account, plan.id, plan.state)
    return Removal(plan.id, _DELETED)


def cancel(tx: Connection, account: int) -> Removal:
    """Begin to remove a plan that a process reads: it is asked to stop, and cannot add rows any more.

    A process that applies or undoes the plan is asked to stop, and the plan stays: it is the only way to undo.
    Raises NOT_FOUND, and IMPORT_STATE if no process works on it.
    """
    plan = _hold(tx, account)
    if not plan.is_busy:
        raise Problem(Kind.IMPORT_STATE, "The import has ended already.")
    if plan.state in ("applied", "undone"):  # it is ready in a moment, or another request removes it
        raise plans.running()
    plans.request_stop(tx, account, plan.id)
    if plan.state in _STOPPING:
        return Removal(plan.id, _STOPPING[plan.state], is_stopped_only=True)
    return Removal(plan.id, _CANCELED)


def _hold(tx: Connection, account: int) -> Plan:
    """Return the plan of the account, locked until the commit. Raises NOT_FOUND."""
    plans.hold(tx, account, plans.current(tx, account).id)
    return plans.current(tx, account)


def discard(database: Database, account: int) -> Removal:
    """Delete the plan of the account, or stop the process that applies or undoes it.

    Raises as `begin`.
    """
    removal = database.write(lambda tx: begin(tx, account))
    if not removal.is_stopped_only:
        remove(database, account, removal.plan)
    return removal


def _release_files(database: Database, account: int, plan: int) -> None:
    """Let cleanup delete the bytes that the plan stored and of which it made no file."""
    query = select(_row.line, _row.fields).where(_row.plan == plan, _row.account == account, _row.kind == "file")
    last = 0
    while True:
        page = query.where(_row.line > last).order_by(_row.line).limit(BATCH)
        rows = database.read(partial(crud.fetch_all, query=page))
        if not rows:
            return
        last = rows[-1].line
        files = (Content.read(row.fields).stored for row in rows)
        names = [stored["object"] for stored in files if stored]
        database.write(partial(_release, objects=names))


def _release(tx: Connection, objects: Sequence[str]) -> None:
    is_staged = (orphan_objects.c.object.in_(objects), orphan_objects.c.deleting.is_(False))
    tx.execute(update(orphan_objects).where(*is_staged).values(due=clock.now()))
