"""Application of a plan, in batches. Each one moves the position of the plan in its own transaction (decision 89)."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, select, tuple_

from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db import change_log, page_counters
from waypost.db.database import Database
from waypost.db.schema import import_plans, import_rows
from waypost.transfer.imports import apply_items, apply_links, click_history, planned_rows, plans
from waypost.transfer.imports.archives import apply_parts, references
from waypost.transfer.imports.batch_size import Pace
from waypost.transfer.imports.cancellation import Cancellation
from waypost.transfer.imports.planned_rows import PlannedRow
from waypost.transfer.imports.plans import BATCH, MAX_BATCH

_plan, _row = import_plans.c, import_rows.c


def apply(database: Database, account: int, settings: Settings, check: Callable[[], object] = lambda: None) -> None:
    """Apply the plan of the account from its position. An interrupted one resumes when it is applied again.

    `check` is called after every batch, and can raise to stop.

    Raises NOT_FOUND; IMPORT_STATE if the plan is not complete, is undone, removed or canceled; INVALID above the limit
    of the account's plan.
    """
    plan = database.read(lambda tx: plans.current(tx, account))
    require_state(plan)
    with plans.busy(database, account, plan.id, Cancellation(check)) as cancellation:
        run(database, account, plan.id, settings, cancellation.check)


def run(database: Database, account: int, plan: int, settings: Settings, check: Callable[[], object]) -> None:
    """Apply a plan that is marked as in work."""
    pace = Pace(database, BATCH, MAX_BATCH)
    while pace.write(lambda tx, size: apply_batch(tx, account, plan, settings, size)):
        check()
    click_history.apply_all(database, account, plan, check)
    apply_parts.apply_all(database, account, plan, check)
    database.write(lambda tx: plans.set_state(tx, account, plan, "applied"))


def require_state(plan: plans.Plan) -> None:
    """Raise IMPORT_STATE unless the plan can be applied, or resumed."""
    if plan.state not in ("planned", "applying", "applied"):
        raise Problem(Kind.IMPORT_STATE, "There is no plan that can be applied. Make a new one.")


def apply_batch(tx: Connection, account: int, plan: int, settings: Settings, size: int) -> bool:
    """Apply the next `size` rows, in the order of their rank. Return whether there were any.

    The plan is locked, so a second process continues after the batch of the first.
    """
    is_plan = (_plan.id == plan, _plan.account == account)
    columns = (
        *(_plan.stage_position, _plan.rank_position, _plan.row_position),
        *(_plan.id, _plan.source, _plan.added),
    )
    position = tx.execute(select(*columns).where(*is_plan).with_for_update()).first()
    if position is None:
        raise plans.canceled()
    is_next = tuple_(_row.stage, _row.rank, _row.id) > tuple_(*position[:3])
    of_plan = (_row.plan == plan, _row.account == account, _row.fate.in_(("create", "changed")))
    query = select(import_rows).where(*of_plan, is_next).order_by(_row.stage, _row.rank, _row.id)
    rows = [planned_rows.read(row) for row in tx.execute(query.limit(size))]
    if not rows:
        return False
    with change_log.in_one_batch(tx), page_counters.in_one_batch(tx):
        added = _apply(tx, account, position, rows, settings)
    names = ("stage_position", "rank_position", "row_position")
    values = dict(zip(names, (rows[-1].stage, rows[-1].rank, rows[-1].id), strict=True))
    plans.set_state(tx, account, plan, "applying", added=added, **values)
    return True


def _apply(
    tx: Connection, account: int, plan: Any, rows: Sequence[PlannedRow], settings: Settings
) -> Mapping[str, Any]:
    """Apply rows; return the ids of all channels and campaigns that the plan has created."""
    added = {name: list(ids) for name, ids in plan.added.items()}
    for kind, group in groupby(rows, lambda row: row.kind):
        if kind == "link":
            applied = apply_links.apply(tx, account, plan.source, list(group), added)
            references.assign(tx, account, plan.id, applied)
        else:
            for row in group:
                apply_items.apply(tx, account, row, settings)
    return added
