"""The pictures of a bio page, as our own copies: square, small, and without anything else that was in the file.

They are deleted when nothing on the page shows them any more.
"""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, false, insert, select

from waypost.api.context import RequestBudget, RequestContext
from waypost.core.errors import in_entry, invalid
from waypost.db.schema import bio_pictures
from waypost.http.picture_headers import WEBP_BYTES, Size, size_of
from waypost.items.bios import picture_names
from waypost.items.bios.blocks import Block
from waypost.items.bios.picture_names import BLOCK_PARTS, DATA_PREFIX, NAME, is_copy, is_name
from waypost.media.pictures import picture_fetch
from waypost.media.pictures.decoding import Rules, decode
from waypost.visits.record_queries import read_sizes

_c = bio_pictures.c
MAX_BYTES = 8 * 1024 * 1024
_FORMATS = ("PNG", "JPEG", "WEBP")
_MAX_LOADED = 20  # pictures of a request that are not in the request itself


def names_of(avatar: str, design: Mapping[str, Any] | None, blocks: Iterable[Block]) -> set[str]:
    """Return the names of the pictures that a page and these blocks show."""
    of_blocks = (str(block.get(part, "")) for block in blocks for part in BLOCK_PARTS)
    return set(filter(is_name, (avatar, (design or {}).get("picture", ""), *of_blocks)))


def store(tx: Connection, account: int, bio: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns with the names of their pictures; new ones are stored. Raises INVALID on the field."""
    stored = dict(values)
    if stored.get("avatar"):
        stored["avatar"] = _name_of(tx, account, bio, stored["avatar"], field="avatar")
    if stored.get("design"):
        picture = stored["design"]["picture"]
        name = picture and _name_of(tx, account, bio, picture, field="design")
        stored["design"] = {**stored["design"], "picture": name}
    if stored.get("blocks"):
        stored["blocks"] = [_with_name(tx, account, bio, *row) for row in enumerate(stored["blocks"])]
    return stored


def remove_unused(tx: Connection, account: int, bio: int, used: Iterable[str]) -> None:
    """Delete the pictures of a page that it does not show."""
    ids = [int(name.removeprefix("picture-")) for name in used]
    tx.execute(delete(bio_pictures).where(_c.bio == bio, _c.account == account, _c.id.not_in(ids)))


def find(tx: Connection, account: int, bio: int, name: str) -> bytes | None:
    """Return a picture of a page by its name."""
    return tx.execute(select(_c.data).where(*_named(account, name), _c.bio == bio)).scalar()


def find_owned(tx: Connection, account: int, name: str) -> bytes | None:
    """Return a picture of any page of the account."""
    return tx.execute(select(_c.data).where(*_named(account, name))).scalar()


def sizes_of(tx: Connection, account: int, blocks: Iterable[Block]) -> dict[str, Size]:
    """Return the sizes of the pictures of image blocks, by name or by `data:` URL; unreadable ones are left out."""
    sources = {str(block["picture"]) for block in blocks if block.get("picture")}
    copies = {url: _size_of_copy(url) for url in filter(is_copy, sources)}
    return {
        **read_sizes(tx, account, filter(is_name, sources)),
        **{url: size for url, size in copies.items() if size is not None},
    }


def with_urls(blocks: Sequence[Block], url: str) -> list[Block]:
    """Return blocks with the URLs of their pictures; `url` is that of the page."""
    return [{**block, **{part: url_of(block[part], url) for part in BLOCK_PARTS if part in block}} for block in blocks]


def url_of(name: str, url: str) -> str:
    """Return the URL of a picture below this URL; other values, such as "" and the URL of a draft, are returned."""
    return f"{url}/{name}" if is_name(name) else name


def _size_of_copy(url: str) -> Size | None:
    """Return the size of a new picture; None for invalid Base64, which a browser could send."""
    end = len(DATA_PREFIX) + WEBP_BYTES * 4 // 3
    try:
        return size_of(base64.b64decode(url[len(DATA_PREFIX) : end]))
    except ValueError:
        return None


def _named(account: int, name: str) -> Sequence[ColumnElement[bool]]:
    match = NAME.match(name)
    return (_c.id == int(match[1]), _c.account == account) if match else (false(),)


def _with_name(tx: Connection, account: int, bio: int, number: int, block: Block) -> Block:
    kept = {name: value for name, value in block.items() if value or name not in BLOCK_PARTS}
    with in_entry("blocks", f"[{number}]"):
        names = {part: _name_of(tx, account, bio, kept[part], field="blocks") for part in BLOCK_PARTS if part in kept}
    return {**kept, **names}


def _name_of(tx: Connection, account: int, bio: int, picture: str, *, field: str) -> str:
    """Store a new picture, or check that the page has it; return its name."""
    if picture.startswith(DATA_PREFIX):
        row = {"account": account, "bio": bio, "data": base64.b64decode(picture.removeprefix(DATA_PREFIX))}
        return f"picture-{tx.execute(insert(bio_pictures).values(row).returning(_c.id)).scalar_one()}"
    if find(tx, account, bio, picture) is None:
        raise invalid(field, f"{field} has a picture that this page does not have. Upload it again.")
    return picture


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
