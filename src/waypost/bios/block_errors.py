"""Errors of the blocks in the builder's form: each is assigned to the part of the block that has it."""

from typing import Any

from sqlalchemy import Connection

from waypost import clock
from waypost.bios import blocks, design_form, form_blocks
from waypost.dashboard.forms import Form, parse_id
from waypost.errors import Problem
from waypost.settings import Settings
from waypost.urls import blocklist


def check(tx: Connection, account: int, form: Form, *, settings: Settings) -> None:
    """Add an error to each part of a block whose URL is invalid or blocked, or whose form the account does not have."""
    rows: Any = form["blocks"] or []
    forms = form_blocks.own_forms(tx, account) if any(block["type"] == "form" for block in rows) else {}
    for number, block in enumerate(rows, 1):
        if block["type"] == "form" and parse_id(block.get("overlay", "")) not in forms:
            name = f"b{number}.overlay"
            form.errors.setdefault(name, f"{name} must be one of your forms.")
        if block.get("showuntil", clock.NEVER) < block.get("showfrom", ""):
            name = f"b{number}.showuntil"
            form.errors.setdefault(name, f"{name} must not be before the start.")
        for part in blocks.url_parts(block):
            try:
                blocklist.refuse(tx, [blocks.checked_url(tx, block, part, settings)], field="blocks")
            except Problem as problem:
                _add(form, number, part, problem.message.removeprefix("blocks "))


def assign_to_parts(form: Form) -> None:
    """Replace the error of all blocks by one for each part that has one, or for the block; the same for the design."""
    for (name, *location), text in form.faults.items():
        if name == "design" and location:
            field = design_form.FIELDS.get(str(location[0]), str(location[0]))
            form.errors.setdefault(field, f"{field} {text}.")
            form.errors.pop("design", None)
        if name == "blocks" and location and isinstance(location[0], int):
            part = str(location[-1]) if len(location) > 2 else ""  # number, type and part
            _add(form, location[0] + 1, part, f"{text}.")
    if message := form.errors.pop("design", ""):  # of its picture: the colors were checked before
        form.errors.setdefault("backdrop", f"backdrop {message.partition(' ')[2]}")
    if any(name.startswith("b") and name[1:2].isdigit() for name in form.errors):
        form.errors.pop("blocks", None)


def _add(form: Form, number: int, part: str, text: str) -> None:
    """Add an error under the name of the input, which the template numbers from 1."""
    name = f"b{number}.{part}" if part else f"b{number}"
    form.errors.setdefault(name, f"{name} {text}")
