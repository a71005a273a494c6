"""Errors of the rows of the link's form: each is assigned to the input of the row that has it."""

from collections.abc import Sequence, Set
from typing import Any

from sqlalchemy import Connection

from waypost.dashboard.forms import Form
from waypost.errors import Problem
from waypost.links import columns
from waypost.settings import Settings

_URL_PARTS = {
    "geotarget": ("link",),
    "devicetarget": ("link",),
    "languagetarget": ("link",),
    "deeplink": ("apple", "google"),
    "parameters": (),
}


def assign_to_parts(tx: Connection, form: Form, *, settings: Settings) -> None:
    """Replace the error of all rows of a field by one for each part that has one, such as `geotarget.2.link`.

    The error of the field stays if no part has one.
    """
    for name, url_parts in _URL_PARTS.items():
        rows: Any = form[name] or []
        if name not in form.errors:
            continue
        parts = {part for row in rows for part in row}
        messages = _faults_of_model(form, name, parts) | _invalid_urls(tx, name, rows, url_parts, settings)
        for (number, part), text in sorted(messages.items()):
            form.errors[f"{name}.{number}.{part}"] = f"{name}.{number}.{part} {text}"
        if messages:
            del form.errors[name]


def _faults_of_model(form: Form, name: str, parts: Set[str]) -> dict[tuple[int, str], str]:
    """Return the texts of the model's errors by number of the row, from 1, and part."""
    messages: dict[tuple[int, str], str] = {}
    for (field, *location), text in form.faults.items():
        names = [part for part in location if part in parts]
        numbers = [part + 1 for part in location if isinstance(part, int)]
        if field == name and names:
            messages.setdefault((numbers[0] if numbers else 1, str(names[-1])), f"{text}.")
    return messages


def _invalid_urls(
    tx: Connection, name: str, rows: Sequence[dict[str, str]], parts: Sequence[str], settings: Settings
) -> dict[tuple[int, str], str]:
    messages: dict[tuple[int, str], str] = {}
    for number, row in enumerate(rows, 1):
        for part in parts:
            if name == "deeplink" and not row.get(part):
                continue
            try:
                columns.destination(tx, row.get(part, ""), name, settings)
            except Problem as problem:
                messages[number, part] = problem.message.removeprefix(f"{name} ")
    return messages
