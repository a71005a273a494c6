"""The pictures of a bio page: our own copies, which are deleted when nothing on the page shows them any more."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, false, insert, select

from waypost.core.errors import in_entry, invalid
from waypost.db.schema import bio_pictures
from waypost.items.bios.blocks import Block
from waypost.items.bios.picture_names import BLOCK_PARTS, DATA_PREFIX, NAME, is_copy, is_name
from waypost.visits.picture_sizes import HEADER_BYTES, Size, read_sizes, size_of

_c = bio_pictures.c


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
    end = len(DATA_PREFIX) + HEADER_BYTES * 4 // 3
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
