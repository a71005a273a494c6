"""Stored blocks of a type that this version does not have: the builder shows them, and saves them as they are."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from waypost.items.bios.blocks import Block, is_known

PART = "stored"
"""The part of such a block in the form: its `digest`."""
_PLACEHOLDER = {"type": "text", "text": "-"}


def digest(block: Block) -> str:
    """Return a hash of a block by which the builder's form names it, wherever it moved to."""
    return hashlib.sha256(json.dumps(block, sort_keys=True).encode()).hexdigest()[:16]


def row_of(block: Block) -> dict[str, str]:
    """Return the values of the block in the form."""
    return {"type": str(block["type"]), "id": str(block.get("id", "")), PART: digest(block)}


def with_placeholders(rows: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return the rows of a form with a valid block in the place of each kept one."""
    return [_PLACEHOLDER if row.get(PART) else row for row in rows]


def put_back(
    blocks: Iterable[Mapping[str, Any]], rows: Sequence[Mapping[str, str]], stored: Iterable[Block]
) -> list[Block]:
    """Return the blocks of a form with the stored ones in their places. Deleted ones are left out."""
    kept = {digest(block): block for block in stored if not is_known(block)}
    pairs = [(block, row.get(PART, "")) for block, row in zip(blocks, rows, strict=True)]
    return [kept.get(name, block) for block, name in pairs if not name or name in kept]
