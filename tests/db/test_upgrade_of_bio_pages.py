"""An installation from before the blocks of bio pages were counted: after the upgrade they have their numbers."""

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, MetaData, select

from tests.support.bios import BLOCKS
from waypost.db import upgrade
from waypost.db.database import Database
from waypost.db.schema import bio_blocks, bios


def test_pages_from_before_blocks_were_counted_get_their_numbers(tmp_path: Path) -> None:
    blocks = [BLOCKS[2], BLOCKS[0], {"type": "image", "image": "https://a.example/", "link": ""}, BLOCKS[7]]
    with closing(Database(f"sqlite:///{tmp_path / 'old.db'}")) as old:
        old.write(lambda tx: upgrade.migrate(tx, "0004"))
        old.write(partial(_old_page, blocks=blocks))
        upgrade.upgrade(old)
        numbered = old.read(lambda tx: tx.execute(select(bios.c.blocks)).scalar_one())
        counted = old.read(lambda tx: tx.execute(select(bio_blocks.c.id, bio_blocks.c.clicks)).all())
    assert [block.pop("id", None) for block in numbered] == [None, 1, None, 2]
    assert numbered == blocks
    assert [tuple(row) for row in counted] == [(1, 0), (2, 0)]


def _old_page(tx: Connection, blocks: list[dict[str, Any]]) -> None:
    """An account and a bio page, as version 0004 has them."""
    found = MetaData()
    found.reflect(tx)
    blank = {str: "x", int: 1, bool: False}
    for name, more in (("accounts", {}), ("bios", {"blocks": blocks})):
        needed = [column for column in found.tables[name].columns if not column.nullable]
        row = {column.name: blank.get(column.type.python_type, 1) for column in needed}
        tx.execute(found.tables[name].insert().values({**row, **more}))
