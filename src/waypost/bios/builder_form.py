"""The form of the bio page builder: its fields, the order of its blocks, and its pictures."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from waypost import clock
from waypost.bios import design_form, ops, picture_copies, picture_names
from waypost.bios.picture_copies import AVATAR, BACKGROUND, BLOCK_PLACES, Place
from waypost.bios.profile_urls import profile_url
from waypost.bios.schemas import CardBlock
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value, parse_id
from waypost.errors import Problem
from waypost.urls.typed_urls import complete_url

SHAPE = Shape(flags=("sensitive", *design_form.FLAGS))
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
_TIMES = ("showfrom", "showuntil")
_LOCAL = "%Y-%m-%dT%H:%M:%S"
_URL_PARTS = frozenset({"link.url", "image.image", "image.link", "embed.url", "vcard.site"})


def submitted_form(context: PageContext, current: Mapping[str, Value] | None = None) -> Form:
    """Return the submitted form, with its blocks in order and the theme built from its name and color mode.

    New pictures are copied and become values of the form, so that they are kept when the form is shown again.
    """
    form = context.form(SHAPE, current=current)
    rows = [_submitted_block(context, key) for key in context.fields.get("order", ())[: MAX_BLOCKS + 1]]
    mode = form.text("mode")
    form.values |= {"blocks": rows, "theme": form.text("base") + (f"-{mode}" if mode else "")}
    _add_picture(context, form, form.values, "avatar", "avatar", AVATAR)
    _add_picture(context, form, form.values, "backdrop", "backdrop", BACKGROUND)
    form.values["design"] = design_form.design_of(form.values)  # type: ignore[assignment]  # an object, as in the API
    for number, (key, row) in enumerate(zip(context.fields.get("order", ()), rows, strict=False), 1):
        for part in BLOCK_PLACES.keys() & row.keys():
            _add_picture(context, form, row, f"{key}.{part}", f"b{number}.{part}", BLOCK_PLACES[part])
    return form


def rearrange_blocks(form: Form) -> bool:
    """Add, move or remove a block of the form if one of these buttons was pressed. Nothing is saved.

    Return whether one was; the buttons are used without scripts. `draft` shows a draft that the browser kept.
    """
    action, _, target = form.text("do").partition("-")
    index = parse_id(target)
    rows: Any = form.values["blocks"]
    if action == "add" and target in PARTS:
        rows.append({"type": target})
    elif action in ("up", "down", "remove") and index is not None and index < len(rows):
        block = rows.pop(index)
        if action != "remove":
            rows.insert(max(0, index + (1 if action == "down" else -1)), block)
    else:
        return action == "draft"
    return True


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
                values[part] = picture_copies.copy_of_data(value, place, context.budget)
            except Problem as problem:
                add_error(form, name, problem)
    form.values["design"] = design_form.design_of(form.values)  # type: ignore[assignment]  # as above


def values_of(bio: ops.Bio) -> Mapping[str, Value]:
    """Return the values of the builder's fields."""
    base, _, mode = bio.theme.rpartition("-") if bio.theme.endswith(("-light", "-dark")) else (bio.theme, "", "")
    rows = [
        {part: str(block.get(part, "")) for part in ("type", "id", *PARTS[block["type"]])} | _options(block)
        for block in bio.blocks
    ]
    fields = {name: getattr(bio, name) for name in ("name", "alias", "title", "description", "theme", "avatar")}
    fields |= {"base": base, "mode": mode, "blocks": rows, "sensitive": "on" if bio.sensitive else ""}
    return {**fields, "design": bio.design, **design_form.values_of(bio.design)}


def add_error(form: Form, name: str, problem: Problem) -> None:
    """Add the error of a part of a block, or of a field of the page, under the name of its input."""
    form.errors.setdefault(name, f"{name} {problem.message.removeprefix(f'{problem.field} ')}")


def _submitted_block(context: PageContext, key: str) -> dict[str, str]:
    fields = context.fields
    block_type = (fields.get(f"{key}.type") or [""])[-1]
    values = {part: (fields.get(f"{key}.{part}") or [""])[-1] for part in ("id", *PARTS.get(block_type, ()))}
    values = {
        part: complete_url(value) if f"{block_type}.{part}" in _URL_PARTS else value.replace("\r\n", "\n").strip()
        for part, value in values.items()
    }
    if block_type == "social":
        values["url"] = profile_url(values["network"], values["url"])
    sent = {part: (fields.get(f"{key}.{part}") or [""])[-1].strip() for part in _TIMES}
    times = {part: _from_local(value, context.time_zone) for part, value in sent.items()}
    return {"type": block_type, **values, **_options({**times, "hidden": f"{key}.hidden" in fields})}


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
            place.rules.must_fit(picture_copies.MAX_BYTES + 1)
        values[part] = picture_copies.own_copy(file or b"", place, context.budget)
    except Problem as problem:
        add_error(form, name, problem)
