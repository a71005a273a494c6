"""Our own copies of the pictures of a bio page: square, small, and without anything else that was in the file."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from waypost.api.context import RequestContext
from waypost.api.request_budget import RequestBudget
from waypost.core.errors import in_entry, invalid
from waypost.items.bios import picture_names
from waypost.media.pictures import picture_fetch
from waypost.media.pictures.decoding import Rules, decode

MAX_BYTES = 8 * 1024 * 1024
_FORMATS = ("PNG", "JPEG", "WEBP")
_MAX_LOADED = 20  # pictures of a request that are not in the request itself


@dataclass(frozen=True)
class Place:
    """A place for a picture on the page: `side` is the width and height of its square copy, in pixels; 0: uncropped."""

    rules: Rules
    side: int = 0


AVATAR = Place(Rules("avatar", 1600, MAX_BYTES, _FORMATS), 400)
THUMBNAIL = Place(Rules("blocks", 1280, MAX_BYTES, _FORMATS), 160)
IMAGE = Place(Rules("blocks", 1600, MAX_BYTES, _FORMATS))
BACKGROUND = Place(Rules("design", 1600, MAX_BYTES, _FORMATS))
BLOCK_PLACES = dict(zip(picture_names.BLOCK_PARTS, (THUMBNAIL, IMAGE), strict=True))
"""The places of pictures in blocks, by the part of the block."""


def own_copy(data: bytes, place: Place, budget: RequestBudget) -> str:
    """Return a copy for the place as a `data:` URL that `pictures.store` takes. Raises INVALID.

    Its bytes count for the request, because a copy can be a hundred times as large as the picture.
    """
    copy = decode(data, place.rules, "web", square=place.side)
    url = picture_names.DATA_PREFIX + base64.b64encode(copy).decode()
    budget.keep_copy(place.rules.field, len(url))
    return url


def copy_of_data(source: str, place: Place, budget: RequestBudget) -> str:
    """Return the copy of a picture in a `data:` URL. Raises INVALID."""
    return own_copy(picture_fetch.from_data(source, place.rules), place, budget)


def replace_pictures(fields: Mapping[str, Any], copy: Callable[[str, Place], str]) -> dict[str, Any]:
    """Return the fields of a page with the result of `copy` for each picture."""
    replaced = dict(fields)
    if replaced.get("avatar"):
        replaced["avatar"] = copy(replaced["avatar"], AVATAR)
    if replaced.get("design"):
        replaced["design"] = _replace_part(replaced["design"], "picture", BACKGROUND, copy)
    if replaced.get("blocks"):
        for part, place in BLOCK_PLACES.items():
            replaced["blocks"] = [
                _replace_in_block(block, number, part, place, copy) for number, block in enumerate(replaced["blocks"])
            ]
    return replaced


def _replace_in_block(
    block: Mapping[str, Any], number: int, part: str, place: Place, copy: Callable[[str, Place], str]
) -> Mapping[str, Any]:
    with in_entry("blocks", f"[{number}].{part}"):
        return _replace_part(block, part, place, copy)


def _replace_part(
    values: Mapping[str, Any], part: str, place: Place, copy: Callable[[str, Place], str]
) -> Mapping[str, Any]:
    return {**values, part: copy(values[part], place)} if values.get(part) else values


def fields_of(context: RequestContext, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a page with copies instead of the sources of pictures. Raises INVALID.

    Each source is loaded once for a request.
    """
    return replace_pictures(sent, partial(_copy, context))


def _copy(context: RequestContext, source: str, place: Place) -> str:
    """Return the copy of a picture; the name of one that the page has, whose URL clients send back."""
    name = source.strip().removeprefix(f"{context.settings.base}/").rpartition("/")[2]
    if picture_names.is_name(name):
        return name
    field = place.rules.field
    if picture_fetch.is_data(source):
        return copy_of_data(source, place, context.budget)
    refusal = invalid(field, f"{field}: one request can load at most {_MAX_LOADED} pictures.")
    return context.budget.load_once(
        "picture",
        (source, place),
        lambda: own_copy(picture_fetch.load(context, source, place.rules), place, context.budget),
        most=_MAX_LOADED,
        refusal=refusal,
    )
