"""The blocks of a bio page: what may stand in them, where they lead, and the ids under which clicks are counted."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from sqlalchemy import Connection, delete, insert

from waypost.db.schema import bio_blocks
from waypost.errors import Problem, invalid
from waypost.settings import Settings
from waypost.urls import blocklist, validation

Block = Mapping[str, Any]
_URLS = {"link": "url", "image": "link", "social": "url", "vcard": "site"}
_NAMES = {"link": "title", "image": "image", "social": "network"}
_OF_A_BLOCK = re.compile(r"/[^/]+/[0-9]+/?\Z")


def target_of(block: Block) -> str:
    """The URL that a block leads to; "" for one that leads nowhere, and for a card."""
    return str(block.get(_URLS.get(block["type"], "")) or "") if block["type"] != "vcard" else ""


def name_of(block: Block) -> str:
    """What its owner calls a block that counts."""
    if block["type"] == "vcard":
        return " ".join(part for part in (block.get("fname"), block.get("lname")) if part) or block.get("org", "")
    return str(block.get(_NAMES.get(block["type"], "")) or "")


def counts(block: Block) -> bool:
    """Whether somebody can follow a block, or take something from it."""
    return block["type"] == "vcard" or bool(target_of(block))


def urls(block: Block) -> Iterator[str]:
    """Every URL that stands in a block."""
    for name in ("image", _URLS.get(block["type"], "")):
        if block.get(name):
            yield str(block[name])


def checked(tx: Connection, blocks: Iterable[Block], settings: Settings) -> list[Block]:
    """The blocks with their URLs trimmed. Raises INVALID on `blocks`."""
    found = [_checked(tx, block, settings) for block in blocks]
    blocklist.refuse(tx, (url for block in found for url in urls(block)), field="blocks")
    return found


def numbered(
    tx: Connection, account: int, bio: int, blocks: Sequence[Block], *, before: Sequence[Block]
) -> list[Block]:
    """The blocks with an `id` each that counts. A block that was there `before` keeps its own, and so its clicks.

    The same is who leads to the same place, else who has the same name: blocks move, and addresses are corrected.
    """
    ids, left = _kept(blocks, [old for old in before if "id" in old])
    if left:
        mine = (bio_blocks.c.bio == bio, bio_blocks.c.account == account)
        tx.execute(delete(bio_blocks).where(*mine, bio_blocks.c.id.in_([old["id"] for old in left])))
    new = [place for place, block in enumerate(blocks) if counts(block) and place not in ids]
    if new:
        made = insert(bio_blocks).returning(bio_blocks.c.id)
        row = {"account": account, "bio": bio, "clicks": 0, "uniqueclicks": 0}
        found = tx.execute(made, [row] * len(new)).scalars()
        ids.update(zip(new, sorted(found), strict=True))
    return [{**block, "id": ids[place]} if place in ids else block for place, block in enumerate(blocks)]


def _kept(blocks: Sequence[Block], before: list[Block]) -> tuple[dict[int, int], list[Block]]:
    """(the old ids by place, the old blocks that are gone)."""
    ids: dict[int, int] = {}
    for same in _SAME:
        for place, block in enumerate(blocks):
            old = next((old for old in before if counts(block) and same(old) == same(block)), None)
            if old is not None and place not in ids:
                ids[place] = old["id"]
                before.remove(old)
    return ids, before


_SAME: tuple[Callable[[Block], tuple[Any, ...]], ...] = (
    lambda block: (block["type"], target_of(block), name_of(block)),
    lambda block: (block["type"], target_of(block)),
    lambda block: (block["type"], name_of(block)),
)


def _checked(tx: Connection, block: Block, settings: Settings) -> Block:
    found = {}
    name = _URLS.get(block["type"], "")
    if block.get(name) or name == "url":  # the others may be empty
        found[name] = validation.target(block[name], field="blocks", settings=settings)
        _refuse_circle(tx, found[name], settings)
    if block["type"] == "image":
        found["image"] = validation.web_url(block["image"], field="blocks")
    return {**block, **found}


def _refuse_circle(tx: Connection, url: str, settings: Settings) -> None:
    """A block may lead to a short link of ours, but not to a block, which could be itself."""
    if not _OF_A_BLOCK.match(unquote(urlsplit(url).path)):
        return
    try:
        validation.refuse_own(tx, url, field="blocks", settings=settings)
    except Problem:
        raise invalid("blocks", "blocks must not lead to a block of a bio page: that could go in circles.") from None
