"""Application of the rows of other items than links, one by one."""

from typing import Any

from sqlalchemy import Connection, Row, update

from waypost.bios import ops as bios
from waypost.db.schema import bio_blocks, import_rows
from waypost.errors import Problem
from waypost.settings import Settings

_row = import_rows.c


def apply(tx: Connection, account: int, row: Row[Any], settings: Settings) -> None:
    """Create the item of a row. One that cannot be created any more becomes a conflict."""
    if row.fate != "create":
        return
    try:
        with tx.begin_nested():
            item = _add_bio_page(tx, account, row, settings)
    except Problem as problem:
        values: dict[str, Any] = {"fate": "conflict", "reason": problem.message}
    else:
        values = {"item": item}
    tx.execute(update(import_rows).where(_row.id == row.id, _row.account == account).values(values))


def _add_bio_page(tx: Connection, account: int, row: Row[Any], settings: Settings) -> int:
    """Create a bio page, and set the clicks of its blocks."""
    bio = bios.add(tx, account, settings=settings, alias=row.alias, **row.fields["columns"])
    for block, clicks in zip(bio.blocks, row.fields["block_clicks"], strict=True):
        if clicks and "id" in block:
            is_block = (bio_blocks.c.id == block["id"], bio_blocks.c.account == account)
            tx.execute(update(bio_blocks).where(*is_block).values(clicks=clicks))
    return bio.id
