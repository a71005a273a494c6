"""Application of a plan, in batches. Each one moves the position of the plan in its own transaction (decision 89).

The rows of links are applied together, those of other items one by one.
"""

import base64
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, select, tuple_, update

from waypost.core import credentials
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db import change_log, page_counters
from waypost.db.database import Database
from waypost.db.schema import bio_blocks, import_plans, import_rows
from waypost.db.schema.nouns import NOUNS
from waypost.items.bios import ops as bios
from waypost.items.files import ops as files
from waypost.items.files.ops import StoredObject
from waypost.items.functions import FUNCTIONS
from waypost.items.qr import ops as qr_codes
from waypost.items.qr import service
from waypost.transfer.imports import apply_links, click_history, planned_rows, plans
from waypost.transfer.imports.archives import kinds, part_rows
from waypost.transfer.imports.archives.kinds import equal_item
from waypost.transfer.imports.batches import Cancellation, Pace
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
    part_rows.apply_all(database, account, plan, check)
    database.write(lambda tx: plans.set_state(tx, account, plan, "applied"))


def require_state(plan: plans.Plan) -> None:
    """Raise IMPORT_STATE unless the plan can be applied, or resumed."""
    if plan.state not in ("planned", "applying", "applied"):
        raise Problem(Kind.IMPORT_STATE, "There is no preview that can be imported. Start a new import.")


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
            kinds.assign_ids(tx, account, plan.id, applied)
        else:
            for row in group:
                _apply_item(tx, account, row, settings)
    return added


def _apply_item(tx: Connection, account: int, row: PlannedRow, settings: Settings) -> None:
    """Create the item of a row. One that cannot be created any more becomes a conflict.

    One whose name the row before has in another form is that item.
    """
    if row.fate != "create":
        return
    try:
        with tx.begin_nested():
            item = _add(tx, account, row, settings)
            table = NOUNS[row.kind].table
            values: dict[str, Any] = {**row.content.totals, "created": row.created}
            tx.execute(update(table).where(table.c.id == item, table.c.account == account).values(values))
    except Problem as problem:
        # An older version could export two items whose names are equal by now.
        same = equal_item(tx, account, row.kind, row.content.columns) if NOUNS[row.kind].is_named_once else None
        values = {"fate": "conflict", "reason": problem.message} if same is None else {"fate": "there", "item": same}
    else:
        values = {"item": item}
    tx.execute(update(import_rows).where(_row.id == row.id, _row.account == account).values(values))


def _add(tx: Connection, account: int, row: PlannedRow, settings: Settings) -> int:
    """Create the item by the operation of its kind; return its id."""
    if (add := FUNCTIONS[row.kind].add) is not None:
        return add(tx, account, settings, row.content.columns)
    return _ADD[row.kind](tx, account, row, settings)


def _add_bio_page(tx: Connection, account: int, row: PlannedRow, settings: Settings) -> int:
    """Create a bio page, and set the clicks of its blocks. The row notes their ids by those of the source."""
    kept = _with_own_forms(tx, account, row)
    columns = {**row.content.columns, "alias": row.alias, "blocks": [block for block, _ in kept]}
    bio = bios.add(tx, account, settings=settings, **columns)
    ids: dict[str, int] = {}
    for block, (old, clicks, uniques) in zip(bio.blocks, (counts for _, counts in kept), strict=True):
        if "id" not in block:
            continue
        ids[str(old)] = block["id"]
        if clicks:
            is_block = (bio_blocks.c.id == block["id"], bio_blocks.c.account == account)
            tx.execute(update(bio_blocks).where(*is_block).values(clicks=clicks, uniqueclicks=uniques))
    # Undo compares the page with these columns: pictures have names now, and forms the ids of overlays here.
    stored = {name: getattr(bio, name) for name in columns if name != "blocks"}
    stored["blocks"] = [{name: value for name, value in block.items() if name != "id"} for block in bio.blocks]
    fields = replace(row.content, columns=stored, block_ids=ids).as_json()
    tx.execute(update(import_rows).where(_row.id == row.id, _row.account == account).values(fields=fields))
    return bio.id


def _with_own_forms(tx: Connection, account: int, row: PlannedRow) -> list[tuple[dict[str, Any], Sequence[int]]]:
    """Return the blocks of a bio page and their counts. Forms are those of the overlays here, or left out."""
    blocks = list(zip(row.content.columns["blocks"], row.content.blocks, strict=True))
    keys = {("overlay", int(block["overlay"])) for block, _ in blocks if block["type"] == "form"}
    service = (row.source_id or "").rsplit(" ", 2)[0]
    items = kinds.find_items(tx, account, row.plan, service, keys).all if keys else {}
    own: list[tuple[dict[str, Any], Sequence[int]]] = []
    for block, counts in blocks:
        overlay = items.get(("overlay", int(block["overlay"]))) if block["type"] == "form" else None
        if block["type"] != "form":
            own.append((block, counts))
        elif overlay is not None:
            own.append(({**block, "overlay": overlay}, counts))
    return own


def _add_qr_code(tx: Connection, account: int, row: PlannedRow, settings: Settings) -> int:
    """Create a QR code. The plan has proven that it scans, unless its alias got a suffix."""
    fields = dict(row.content.columns)
    fields["logo"] = base64.b64decode(fields["logo"]) if fields["logo"] else None
    is_proven = fields.pop("proven_alias") == row.alias
    draft = qr_codes.draft(tx, settings=settings, **{**fields, "custom": row.alias})
    if not is_proven:
        service.prove(draft)
    return qr_codes.add(tx, account, draft)


def _add_file(tx: Connection, account: int, row: PlannedRow, settings: Settings) -> int:
    """Make a file of the bytes that the plan has stored. A locked one gets a random password."""
    stored = row.content.stored or {}
    content = StoredObject(**{**stored, "sha256": bytes.fromhex(stored["sha256"])})
    password = credentials.hash_password(secrets.token_urlsafe(32)) if row.content.is_locked else None
    fields = {**row.content.columns, "custom": row.alias, "password": password, "domain": row.host or None}
    file = files.add(tx, account, content, settings=settings, **fields).id
    expiry = row.content.expiry
    if expiry is not None:
        table = NOUNS["file"].table
        tx.execute(update(table).where(table.c.id == file, table.c.account == account).values(expiry=expiry))
    return file


_ADD: Mapping[str, Callable[[Connection, int, PlannedRow, Settings], int]] = {
    "bio": _add_bio_page,
    "qr": _add_qr_code,
    "file": _add_file,
}
"""The kinds whose rows have more than columns."""
