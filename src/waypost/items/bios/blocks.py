"""The blocks of a bio page: validation, URLs, and the ids under which their clicks are counted."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from sqlalchemy import Connection, delete, insert

from waypost.core import clock
from waypost.core.errors import Problem, in_entry, invalid
from waypost.db.schema import bio_blocks
from waypost.items.bios import embeds
from waypost.urls import blocklist, hostnames, validation

if TYPE_CHECKING:  # the child of imports loads this module, and starts faster without settings
    from waypost.core.settings import Settings

Block = Mapping[str, Any]
# The field with the URL that a block links to, and the one with its title, by type. `visits.lookup` lists
# the URL fields too.
_URL_FIELDS = {"link": "url", "image": "link", "social": "url", "embed": "url", "vcard": "site"}
_TITLE_FIELDS = {"link": "title", "image": "image", "social": "network", "embed": "title"}
TYPES = frozenset({"link", "heading", "text", "image", "social", "embed", "form", "vcard"})
"""The types of blocks of this version. A later one can have stored others, which visitors do not see."""
_BLOCK_PATH = re.compile(r"/[^/]+/[0-9]+/?\Z")


def url_of(block: Block) -> str:
    """Return the URL that a block links to; "" for a block without one and for a contact card."""
    return str(block.get(_URL_FIELDS.get(block["type"], "")) or "") if block["type"] != "vcard" else ""


def title_of(block: Block) -> str:
    """Return the title under which statistics show a clickable block."""
    if block["type"] == "vcard":
        return " ".join(part for part in (block.get("fname"), block.get("lname")) if part) or block.get("org", "")
    title = str(block.get(_TITLE_FIELDS.get(block["type"], "")) or "")
    return title or (block.get("alt") or url_of(block) if block["type"] == "image" else "")


def is_known(block: Block) -> bool:
    """Return whether this version has the type of the block."""
    return block["type"] in TYPES


def is_clickable(block: Block) -> bool:
    """Return whether visitors can follow the block or download its contact card."""
    return block["type"] == "vcard" or bool(url_of(block))


def is_shown(block: Block, now: int) -> bool:
    """Return whether visitors see the block at a time."""
    start, end = block.get("showfrom") or "", block.get("showuntil") or clock.NEVER
    return not block.get("hidden") and start <= clock.text(now) <= end


def last_second_unchanged(blocks: Iterable[Block], now: int) -> int | None:
    """Return the last second before the next block appears or disappears; None if none will."""
    moments = [
        second
        for block in blocks
        if not block.get("hidden")
        for field, before in (("showfrom", 1), ("showuntil", 0))
        if block.get(field) and (second := clock.last_second(block[field]) - before) >= now
    ]
    return min(moments, default=None)


def _urls_of(block: Block) -> Iterator[tuple[str, str]]:
    """Yield the name of each part that has a URL, and the URL."""
    for part in ("image", _URL_FIELDS.get(block["type"], "")):
        if block.get(part):
            yield part, str(block[part])


def validated(tx: Connection, blocks: Iterable[Block], settings: "Settings") -> list[Block]:
    """Return the blocks with their URLs trimmed. Raises INVALID on `blocks`; the message names the block."""
    valid_blocks = [_validated_block(tx, block, number, settings) for number, block in enumerate(blocks)]
    urls = [(number, *named) for number, block in enumerate(valid_blocks) for named in _urls_of(block)]
    try:
        blocklist.refuse(tx, (url for *_, url in urls), field="blocks")
    except Problem:
        for number, part, url in urls:  # find the one that is blocked
            with in_entry("blocks", f"[{number}].{part}"):
                blocklist.refuse(tx, [url], field="blocks")
        raise
    return valid_blocks


def schemes(settings: "Settings") -> frozenset[str]:
    """Return the schemes that blocks may use besides http and https: an address or a number cannot run anything."""
    return settings.schemes | {"mailto", "tel"}


def assign_ids(
    tx: Connection, account: int, bio: int, blocks: Sequence[Block], *, old_blocks: Sequence[Block]
) -> list[Block]:
    """Return the blocks with an `id` in each clickable one.

    A block that matches one of `old_blocks` keeps its id, and so its clicks. Blocks match by URL and title, then by
    URL, then by title, because users reorder blocks and correct URLs. Blocks of unknown types are kept as they are.
    """
    ids, removed = _match_old_blocks(blocks, [old for old in old_blocks if "id" in old and old not in blocks])
    if removed:
        owned_by = (bio_blocks.c.bio == bio, bio_blocks.c.account == account)
        tx.execute(delete(bio_blocks).where(*owned_by, bio_blocks.c.id.in_([old["id"] for old in removed])))
    new = [position for position, block in enumerate(blocks) if is_clickable(block) and position not in ids]
    if new:
        statement = insert(bio_blocks).returning(bio_blocks.c.id)
        row = {"account": account, "bio": bio, "clicks": 0, "uniqueclicks": 0}
        new_ids = tx.execute(statement, [row] * len(new)).scalars()
        ids.update(zip(new, sorted(new_ids), strict=True))
    return [{**block, "id": ids[position]} if position in ids else block for position, block in enumerate(blocks)]


def _match_old_blocks(blocks: Sequence[Block], unmatched: list[Block]) -> tuple[dict[int, int], list[Block]]:
    """Return the old ids by position, and the old blocks that match none of `blocks`."""
    ids: dict[int, int] = {}
    for key in _MATCH_KEYS:
        for position, block in enumerate(blocks):
            match = next((old for old in unmatched if is_clickable(block) and key(old) == key(block)), None)
            if match is not None and position not in ids:
                ids[position] = match["id"]
                unmatched.remove(match)
    return ids, unmatched


_MATCH_KEYS: tuple[Callable[[Block], tuple[Any, ...]], ...] = (
    lambda block: (block["type"], url_of(block), title_of(block)),
    lambda block: (block["type"], url_of(block)),
    lambda block: (block["type"], title_of(block)),
)


def url_parts(block: Block) -> list[str]:
    """Return the names of the parts of a block that must be URLs: those with a value, and the required ones."""
    parts = {"link": ["url"], "social": ["url"], "embed": ["url"]}.get(block["type"], [])
    if block["type"] == "image" and (block.get("image") or not block.get("picture")):
        parts = ["image"]
    optional = _URL_FIELDS.get(block["type"], "")
    return [*parts, optional] if optional not in parts and block.get(optional) else parts


def checked_url(tx: Connection, block: Block, part: str, settings: "Settings") -> str:
    """Return the trimmed URL in a part of a block. Raises INVALID on `blocks`."""
    if part in ("image", "site"):
        return validation.web_url(block[part], field="blocks")
    url = validation.destination(block[part], field="blocks", schemes=schemes(settings))
    if block["type"] == "embed" and embeds.find_player(url) is None:
        raise embeds.without_player()
    _refuse_loop(tx, url, settings)
    return url


def _validated_block(tx: Connection, block: Block, number: int, settings: "Settings") -> Block:
    urls = {}
    for part in url_parts(block):
        with in_entry("blocks", f"[{number}].{part}"):
            urls[part] = checked_url(tx, block, part, settings)
    return {**block, **urls}


def _refuse_loop(tx: Connection, url: str, settings: "Settings") -> None:
    """Allow a URL of this service's links, but not of blocks: a block could link to itself."""
    if not _BLOCK_PATH.match(unquote(urlsplit(url).path)):
        return
    try:
        hostnames.refuse_own(tx, url, field="blocks", settings=settings)
    except Problem:
        message = "blocks must not link to a block of a bio page: that could cause a redirect loop."
        raise invalid("blocks", message) from None
