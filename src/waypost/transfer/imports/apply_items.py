"""Application of the rows of other items than links, one by one."""

import base64
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, update

from waypost.core import credentials
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.schema import bio_blocks, import_rows
from waypost.db.schema.nouns import NOUNS
from waypost.items.bios import ops as bios
from waypost.items.files import ops as files
from waypost.items.files.ops import StoredObject
from waypost.items.functions import FUNCTIONS
from waypost.items.qr import ops as qr_codes
from waypost.items.qr import service
from waypost.transfer.imports.archives import references
from waypost.transfer.imports.archives.kinds import equal_item
from waypost.transfer.imports.planned_rows import PlannedRow

_row = import_rows.c


def apply(tx: Connection, account: int, row: PlannedRow, settings: Settings) -> None:
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
    items = references.find(tx, account, row.plan, service, keys).all if keys else {}
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
