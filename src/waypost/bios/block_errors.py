"""Errors of the blocks in the builder's form: each is assigned to the part of the block that has it."""

from typing import Any

from sqlalchemy import Connection

from waypost.bios import blocks
from waypost.dashboard.forms import Form
from waypost.errors import Problem
from waypost.settings import Settings
from waypost.urls import blocklist


def check_urls(tx: Connection, form: Form, *, settings: Settings) -> None:
    """Add an error to each part of a block whose URL is invalid or blocked."""
    rows: Any = form["blocks"] or []
    for number, block in enumerate(rows, 1):
        for part in blocks.url_parts(block):
            if not block.get(part):
                continue  # the model rejects it
            try:
                blocklist.refuse(tx, [blocks.checked_url(tx, block, part, settings)], field="blocks")
            except Problem as problem:
                _add(form, number, part, problem.message.removeprefix("blocks "))


def assign_to_parts(form: Form) -> None:
    """Replace the error of all blocks by one for each part that has one, or for the block."""
    for (name, *location), text in form.faults.items():
        if name == "blocks" and location and isinstance(location[0], int):
            part = str(location[-1]) if len(location) > 2 else ""  # number, type and part
            _add(form, location[0] + 1, part, f"{text}.")
    if any(name.startswith("b") and name[1:2].isdigit() for name in form.errors):
        form.errors.pop("blocks", None)


def _add(form: Form, number: int, part: str, text: str) -> None:
    """Add an error under the name of the input, which the template numbers from 1."""
    name = f"b{number}.{part}" if part else f"b{number}"
    form.errors.setdefault(name, f"{name} {text}")
