"""Blocks with the form of an overlay. The responses are those of the overlay: stored, limited and exported with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from waypost.core.errors import in_entry, invalid
from waypost.db.schema import overlays
from waypost.items.bios.blocks import Block

FORM_TYPES = ("contact", "newsletter")
"""The types of overlays whose form a page can have."""


@dataclass(frozen=True)
class PageForm:
    """The form of an overlay on a page; `token` proves that the page contained it."""

    overlay: int
    type: str
    message: str
    button: str
    token: str = ""


def own_forms(tx: Connection, account: int) -> Mapping[int, str]:
    """Return the names of the account's overlays with such a form by id, newest first."""
    c = overlays.c
    query = select(c.id, c.name).where(c.account == account, c.type.in_(FORM_TYPES)).order_by(c.id.desc())
    return {row.id: row.name for row in tx.execute(query)}


def find_forms(tx: Connection, account: int, blocks: Iterable[Mapping[str, Any]]) -> dict[int, PageForm]:
    """Return the forms of the blocks that the account has, by the id of the overlay."""
    ids = {int(block["overlay"]) for block in blocks if block["type"] == "form"}
    if not ids:
        return {}
    c = overlays.c
    query = select(c.id, c.type, c.message, c.button)
    query = query.where(c.account == account, c.id.in_(ids), c.type.in_(FORM_TYPES))
    return {row.id: PageForm(row.id, row.type, row.message, row.button) for row in tx.execute(query)}


def refuse_unknown(tx: Connection, account: int, blocks: Iterable[Block]) -> None:
    """Raise INVALID on `blocks` if the account does not have one of the forms."""
    blocks = list(blocks)
    forms = find_forms(tx, account, blocks)
    for number, block in enumerate(blocks):
        if block["type"] == "form" and block["overlay"] not in forms:
            with in_entry("blocks", f"[{number}]"):
                raise invalid("blocks", "blocks must have one of your overlays of type contact or newsletter.")
