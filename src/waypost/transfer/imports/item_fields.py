"""Fields of an imported item: each is checked as in the API, and left out if it is not valid."""

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from sqlalchemy import Connection

from waypost.api.context import RequestBudget
from waypost.api.responses import validation_problem
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.items.bios.blocks import validated
from waypost.items.bios.pictures import Place, copy_of_data, replace_pictures
from waypost.items.bios.schemas import BioChange
from waypost.items.functions import FUNCTIONS
from waypost.items.links.columns import to_columns
from waypost.items.links.schemas import LinkChange
from waypost.items.qr import ops as qr_codes
from waypost.items.qr import service
from waypost.media.pictures import picture_fetch
from waypost.transfer.imports.source_row import Record

_MAX_BLOCKS = 200
_LISTS = frozenset({"geotarget", "devicetarget", "languagetarget", "parameters"})


def link_columns(tx: Connection, account: int, record: Record, settings: Settings) -> dict[str, Any]:
    """Return the columns of the valid fields, and note the others as losses. Each rule of a list counts by itself."""
    values: dict[str, Any] = {}
    for name, value in record.fields.items():
        for number, part in enumerate([[item] for item in value] if name in _LISTS else [value]):
            with _left_out(record, name, name, number):
                sent = LinkChange.model_validate({name: part}).sent()
                converted = to_columns(tx, account, sent, settings)  # type: ignore[arg-type]  # the fields of POST /url/add
                for column, stored in converted.items():
                    values[column] = [*values.get(column, ()), *stored] if column in _LISTS else stored
    return values


def bio_columns(tx: Connection, record: Record, settings: Settings, budget: RequestBudget) -> dict[str, Any]:
    """Return the fields of a bio page with the valid blocks, and note the others as losses."""
    values: dict[str, Any] = {}
    copy = partial(copy_of_data, budget=budget)
    for name, value in record.fields.items():
        if name != "blocks":
            with _left_out(record, name, name):
                values |= replace_pictures(BioChange.model_validate({name: value}).sent(), copy)
    values["name"] = values.get("name") or record.alias
    kept = list(_valid_blocks(tx, record, settings, copy))[:_MAX_BLOCKS]
    record.blocks = [counts for _, counts in kept]
    return {**values, "blocks": [block for block, _ in kept]}


def item_columns(tx: Connection, record: Record, settings: Settings, budget: RequestBudget) -> dict[str, Any]:
    """Return the fields of an item of an archive, without its alias. Raises INVALID on a field."""
    try:
        sent = FUNCTIONS[record.kind].model.model_validate(record.fields).sent()
    except ValidationError as error:
        raise validation_problem(RequestValidationError(error.errors())) from None
    if record.kind == "qr":
        logo = service.own_copy(picture_fetch.from_data(sent["logo"], service.RULES)) if sent.get("logo") else None
        budget.keep_copy("logo", len(logo or b""))
        sent["logo"] = None if logo is None else base64.b64encode(logo).decode()
        draft = qr_codes.draft(tx, settings=settings, custom=record.alias, **{**sent, "logo": logo})
        service.prove(draft)
        sent["proven_alias"] = draft.alias
    return sent


def _valid_blocks(
    tx: Connection, record: Record, settings: Settings, copy: Callable[[str, Place], str]
) -> Iterator[tuple[dict[str, Any], tuple[int, int, int]]]:
    for number, (block, clicks) in enumerate(zip(record.fields["blocks"], record.blocks, strict=True)):
        name = block.get("title") or block.get("network") or block.get("text") or block.get("type")
        with _left_out(record, f"the block {name}", "blocks", number):
            fields = BioChange.model_validate({"blocks": [block]}).sent()
            (sent,) = replace_pictures(fields, copy)["blocks"]
            yield dict(validated(tx, [sent], settings)[0]), clicks


@contextmanager
def _left_out(record: Record, name: str, field: str, number: int = 0) -> Iterator[None]:
    """Note an invalid part as a loss. It was checked as the only entry of the list `field`, where it has `number`."""
    try:
        yield
    except (ValidationError, Problem) as error:
        problem = error if isinstance(error, Problem) else validation_problem(RequestValidationError(error.errors()))
        message = problem.message.replace(f"{field}[0]", f"{field}[{number}]", 1)
        reason = message.rstrip(".")
        record.losses.append(f"{name} is left out: {reason}")
