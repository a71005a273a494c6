"""The form of the bio page builder: its fields, colors, pictures and blocks, and errors at the part of the block."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import NO_ADDRESS_ENTERED, Form, Shape, Value, parse_id
from waypost.dashboard.i18n import gettext, gettext_noop, ngettext
from waypost.items.bios import blocks, design, form_blocks, kept_blocks, ops, picture_names, pictures
from waypost.items.bios.design import Design
from waypost.items.bios.pictures import AVATAR, BACKGROUND, BLOCK_PLACES, Place
from waypost.items.bios.profile_urls import profile_url
from waypost.items.bios.schemas import CardBlock
from waypost.urls import blocklist
from waypost.urls.validation import complete_url, is_no_address

DESIGN_FLAGS = ("own", "blend", "autotext", "autobuttontext")
DESIGN_FIELDS = {"background": "background", "gradient": "gradient", "picture": "backdrop", "text": "textcolor"}
"""The fields of the form by the parts of a design; others are called like the part."""
_SHOWN = {"gradient": "#cfe3ff", "text": "#000000", "buttontext": "#ffffff"}
"""The color that is shown for one that is not set."""
_NO_FORM = gettext_noop("Choose a form.")
_HEX = re.compile(r"#[0-9A-Fa-f]{6}\Z")


def design_of(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the design of a submitted form; None for the colors of the theme."""
    if not values.get("own"):
        return None
    return {
        "background": values.get("background", ""),
        "gradient": values.get("gradient", "") if values.get("blend") else "",
        "picture": values.get("backdrop", ""),
        "text": "" if values.get("autotext") else values.get("textcolor", ""),
        "button": values.get("button", ""),
        "buttontext": "" if values.get("autobuttontext") else values.get("buttontext", ""),
    }


def design_values_of(stored: Design | None) -> dict[str, str]:
    """Return the values of the form's fields."""
    parts = stored or design.DEFAULTS
    return {
        "own": "on" if stored else "",
        "background": parts["background"],
        "blend": "on" if parts["gradient"] else "",
        "gradient": parts["gradient"] or _SHOWN["gradient"],
        "backdrop": parts["picture"],
        "autotext": "" if parts["text"] else "on",
        "textcolor": parts["text"] or _SHOWN["text"],
        "button": parts["button"],
        "autobuttontext": "" if parts["buttontext"] else "on",
        "buttontext": parts["buttontext"] or _SHOWN["buttontext"],
    }


def check_design(form: Form) -> None:
    """Add an error to each field whose text could not be read."""
    parts: Any = form["design"]
    if not parts or not all(_HEX.match(color) for name, color in parts.items() if name != "picture" and color):
        return  # the model rejects other colors
    names = {part: DESIGN_FIELDS.get(part, part) for part in parts}
    for fault in design.faults(design.complete(parts) or {}, names):
        form.errors.setdefault(names[fault.part], fault.message)


def design_preview_of(form: Form) -> dict[str, Any] | None:
    """Return the design of a form for its preview, with defaults for invalid colors."""
    parts: Any = form["design"]
    if not parts:
        return None
    valid = {name: value for name, value in parts.items() if name == "picture" or _HEX.match(value)}
    return design.complete(valid)


SHAPE = Shape(flags=("sensitive", *DESIGN_FLAGS))
MAX_BLOCKS = 200
_COMMON_PARTS = ("type", "hidden", "showfrom", "showuntil")
PARTS: Mapping[str, Sequence[str]] = {
    "link": ("title", "url", "thumbnail"),
    "heading": ("text",),
    "text": ("text",),
    "image": ("picture", "image", "link", "alt"),
    "social": ("network", "url"),
    "embed": ("url", "title"),
    "form": ("overlay",),
    "vcard": tuple(name for name in CardBlock.model_fields if name not in _COMMON_PARTS),
}
"""Parts of each type of block. A block's fields are called `<key>.<part>`; the field `order` lists the keys."""
_BLOCK_ACTIONS = frozenset({"up", "down", "duplicate", "hide", "show", "remove"})
_TIMES = ("showfrom", "showuntil")
_LOCAL = "%Y-%m-%dT%H:%M:%S"
_URL_PARTS = frozenset({"link.url", "image.image", "image.link", "embed.url", "vcard.site"})


def submitted_form(
    context: PageContext, current: Mapping[str, Value] | None = None, *, keep_empty: bool = False
) -> Form:
    """Return the submitted form, with its blocks in order and the theme built from its name and color mode.

    New pictures are copied and become values of the form, so that they are kept when the form is shown again. Blocks
    without any value are dropped, unless a button changes the blocks or `keep_empty`.
    """
    form = context.form(SHAPE, current=current)
    rows: Any = (current or {}).get("blocks", [])
    stored = {row["id"]: row for row in rows}
    sent = {key: _submitted_block(context, key, stored) for key in context.fields.get("order", ())[: MAX_BLOCKS + 1]}
    if not keep_empty and not form.text("do"):
        sent = {key: row for key, row in sent.items() if _has_file(context, key) or not is_empty(row)}
    rows, mode = [*sent.values()], form.text("mode")
    form.values |= {"blocks": rows, "theme": form.text("base") + (f"-{mode}" if mode else "")}
    _add_picture(context, form, form.values, "avatar", "avatar", AVATAR)
    _add_picture(context, form, form.values, "backdrop", "backdrop", BACKGROUND)
    form.values["design"] = design_of(form.values)  # type: ignore[assignment]  # an object, as in the API
    for number, (key, row) in enumerate(sent.items(), 1):
        for part in BLOCK_PLACES.keys() & row.keys():
            _add_picture(context, form, row, f"{key}.{part}", f"b{number}.{part}", BLOCK_PLACES[part])
    return form


def rearrange_blocks(form: Form) -> bool:
    """Add, move, copy, hide, show or remove a block of the form if one of these buttons was pressed. Nothing is saved.

    Return whether one was; the buttons are used without scripts. `draft` shows a draft that the browser kept.
    """
    action, _, target = form.text("do").partition("-")
    index = parse_id(target)
    rows: Any = form.values["blocks"]
    if action == "add" and target in PARTS:
        rows.append({"type": target})
    elif action in _BLOCK_ACTIONS and index is not None and index < len(rows):
        _change_block(rows, index, action)
    else:
        return action == "draft"
    return True


def _change_block(rows: list[dict[str, str]], index: int, action: str) -> None:
    block = rows[index]
    if action == "duplicate":
        rows.insert(index + 1, {**block, "id": ""})
    elif action in ("hide", "show"):
        block["hidden"] = "on" if action == "hide" else ""
    else:
        del rows[index]
        if action != "remove":
            rows.insert(max(0, index + (1 if action == "down" else -1)), block)


def copy_pictures(context: PageContext, form: Form) -> None:
    """Copy the new pictures again, because the browser could send anything as their value."""
    places: list[tuple[Any, str, str, Place]] = [
        (form.values, "avatar", "avatar", AVATAR),
        (form.values, "backdrop", "backdrop", BACKGROUND),
    ]
    rows: Any = form.values["blocks"]
    places += [
        (row, part, f"b{number}.{part}", place)
        for number, row in enumerate(rows, 1)
        for part, place in BLOCK_PLACES.items()
    ]
    for values, part, name, place in places:
        value = values.get(part, "")
        if value and not picture_names.is_name(value):
            try:
                values[part] = pictures.copy_of_data(value, place, context.budget)
            except Problem as problem:
                add_error(form, name, problem)
    form.values["design"] = design_of(form.values)  # type: ignore[assignment]  # as above


def values_of(bio: ops.Bio) -> Mapping[str, Value]:
    """Return the values of the builder's fields."""
    base, _, mode = bio.theme.rpartition("-") if bio.theme.endswith(("-light", "-dark")) else (bio.theme, "", "")
    rows = [_row_of(block) if blocks.is_known(block) else kept_blocks.row_of(block) for block in bio.blocks]
    fields = {name: getattr(bio, name) for name in ("name", "alias", "title", "description", "theme", "avatar")}
    fields |= {"base": base, "mode": mode, "blocks": rows, "sensitive": "on" if bio.sensitive else ""}
    return {**fields, "design": bio.design, **design_values_of(bio.design)}


def _row_of(block: blocks.Block) -> dict[str, str]:
    return {part: str(block.get(part, "")) for part in ("type", "id", *PARTS[block["type"]])} | _options(block)


def add_error(form: Form, name: str, problem: Problem) -> None:
    """Add the error of a part of a block, or of a field of the page, under the name of its input."""
    form.errors.setdefault(name, f"{name} {problem.message.removeprefix(f'{problem.field} ')}")


def _submitted_block(context: PageContext, key: str, stored: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    fields = context.fields
    block_type = (fields.get(f"{key}.type") or [""])[-1]
    values = {
        part: (fields.get(f"{key}.{part}") or [""])[-1] for part in ("id", *PARTS.get(block_type, (kept_blocks.PART,)))
    }
    values = {
        part: complete_url(value) if f"{block_type}.{part}" in _URL_PARTS else value.replace("\r\n", "\n").strip()
        for part, value in values.items()
    }
    if block_type == "social":
        values["url"] = profile_url(values["network"], values["url"])
    sent = {part: (fields.get(f"{key}.{part}") or [""])[-1].strip() for part in _TIMES}
    before = stored.get(values.get("id", ""), {})
    times = {part: _time(value, before.get(part, ""), context.time_zone) for part, value in sent.items()}
    return {"type": block_type, **values, **_options({**times, "hidden": f"{key}.hidden" in fields})}


def is_empty(row: Mapping[str, str]) -> bool:
    """Return whether nothing was entered in a block. One with an id has clicks: it is deleted on request only."""
    return row["type"] in PARTS and not any(value for part, value in row.items() if part not in ("type", "number"))


def lacks_form(row: Mapping[str, str], forms: Mapping[int, str]) -> bool:
    """Return whether the form of a block was deleted, so that visitors do not see the block."""
    return bool(row.get("overlay")) and parse_id(row["overlay"]) not in forms


def saved_message(context: PageContext, form: Form, text: str) -> str:
    """Return the message after a page was saved: `text`, and how many empty blocks of the form were not saved."""
    rows: Any = form["blocks"]
    count = len(set(context.fields.get("order", ()))) - len(rows)
    dropped = ngettext("1 empty block was not saved.", "%(count)s empty blocks were not saved.", count) if count else ""
    return " ".join(filter(None, (gettext(text), dropped)))


def _has_file(context: PageContext, key: str) -> bool:
    return any(context.files.get(f"{key}.{part}.file", b"") != b"" for part in BLOCK_PLACES)


def _options(block: Mapping[str, Any]) -> dict[str, str]:
    """Return the options that every type of block has, if they are set."""
    options = {"hidden": "on" if block.get("hidden") else "", **{part: block.get(part, "") for part in _TIMES}}
    return {part: value for part, value in options.items() if value}


def local_time(value: str, zone: ZoneInfo) -> str:
    """Return a time of a block, `YYYY-MM-DD HH:MM:SS` UTC, as the value of an input; other text unchanged."""
    try:
        return clock.local(clock.last_second(value), zone).strftime(_LOCAL).removesuffix(":00") if value else ""
    except ValueError:
        return value


def _time(value: str, before: str, zone: ZoneInfo) -> str:
    """Return the value of an input in UTC. One that is as before stays, because an hour can come twice in a day."""
    return before if value == local_time(before, zone) else _from_local(value, zone)


def _from_local(value: str, zone: ZoneInfo) -> str:
    """Return the value of an input in UTC; other text unchanged, so that the model rejects it."""
    try:
        full = f"{value}:00" if len(value) == len("YYYY-MM-DDTHH:MM") else value
        moment = datetime.strptime(full, _LOCAL).replace(tzinfo=zone)
        return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError):
        return value


def _add_picture(context: PageContext, form: Form, values: dict[str, Any], sent: str, name: str, place: Place) -> None:
    """Set the value of a picture: a copy of the file that was sent in the field `sent`, or what the form had."""
    part = name.rpartition(".")[2]
    value = str(values.get(part, ""))
    is_kept = picture_names.is_name(value) or picture_names.is_copy(value)
    values[part] = value if is_kept and f"{sent}.remove" not in context.fields else ""
    file = context.files.get(f"{sent}.file", b"")
    if file == b"":
        return
    try:
        if file is None:
            place.rules.must_fit(pictures.MAX_BYTES + 1)
        values[part] = pictures.own_copy(file or b"", place, context.budget)
    except Problem as problem:
        add_error(form, name, problem)


def check_blocks(tx: Connection, account: int, form: Form, *, settings: Settings) -> None:
    """Add an error to each part of a block whose URL is invalid or blocked, or whose form the account does not have."""
    rows: Any = form["blocks"] or []
    forms = form_blocks.own_forms(tx, account) if any(block["type"] == "form" for block in rows) else {}
    for number, block in enumerate(rows, 1):
        if block["type"] == "form" and parse_id(block.get("overlay", "")) not in forms:
            name = f"b{number}.overlay"
            form.errors.setdefault(name, f"{name} must be one of your forms." if block.get("overlay") else _NO_FORM)
        if block.get("showuntil", clock.NEVER) < block.get("showfrom", ""):
            name = f"b{number}.showuntil"
            form.errors.setdefault(name, f"{name} must not be before the start.")
        for part in blocks.url_parts(block):
            try:
                blocklist.refuse(tx, [blocks.checked_url(tx, block, part, settings)], field="blocks")
            except Problem as problem:
                _add_block_error(form, number, part, problem.message.removeprefix("blocks "))


def assign_block_errors(form: Form) -> None:
    """Replace the error of all blocks by one for each part that has one, or for the block; the same for the design."""
    for (name, *location), text in form.faults.items():
        if name == "design" and location:
            field = DESIGN_FIELDS.get(str(location[0]), str(location[0]))
            form.errors.setdefault(field, f"{field} {text}.")
            form.errors.pop("design", None)
        if name == "blocks" and location and isinstance(location[0], int):
            part = str(location[-1]) if len(location) > 2 else ""  # number, type and part
            _add_block_error(form, location[0] + 1, part, f"{text}.")
    if message := form.errors.pop("design", ""):  # of its picture: the colors were checked before
        form.errors.setdefault("backdrop", f"backdrop {message.partition(' ')[2]}")
    if any(name.startswith("b") and name[1:2].isdigit() for name in form.errors):
        form.errors.pop("blocks", None)


def _add_block_error(form: Form, number: int, part: str, text: str) -> None:
    """Add an error under the name of the input, which the template numbers from 1."""
    name = f"b{number}.{part}" if part else f"b{number}"
    rows: Any = form["blocks"] or []
    is_missing = is_no_address(f"{name} {text}") and not rows[number - 1].get(part)
    form.errors.setdefault(name, NO_ADDRESS_ENTERED if is_missing else f"{name} {text}")
