"""Bio pages: one page of an account's own with everything it wants to show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from sqlalchemy import Connection

from waypost import rows
from waypost.aliases import namespace
from waypost.net import blocked, targets
from waypost.rows import Page, Window
from waypost.schema import bios
from waypost.settings import Settings

Block = Mapping[str, Any]
_URLS = {"link": "url", "image": "link", "social": "url", "vcard": "site"}


@dataclass(frozen=True)
class Bio:
    """A bio page; `blocks` in the order of the page, each with a `type`; times are seconds, UTC."""

    id: int
    name: str
    alias: str
    title: str
    description: str
    theme: str
    blocks: Sequence[Block]
    clicks: int
    uniqueclicks: int
    created: int


class Fields(TypedDict, total=False):
    """What can be set; `None` is the field's default."""

    name: str
    alias: str | None
    title: str | None
    description: str | None
    theme: str | None
    blocks: Sequence[Block] | None


def page(tx: Connection, account: int, window: Window) -> Page[Bio]:
    """The account's bio pages."""
    return rows.page(tx, bios, account, window, Bio)


def own(tx: Connection, account: int, bio: int) -> Bio:
    """One bio page."""
    return rows.own(tx, bios, account, bio, Bio)


def add(tx: Connection, account: int, *, settings: Settings, **fields: Unpack[Fields]) -> Bio:
    """Make a bio page. Raises INVALID or TAKEN on `alias`, INVALID on `blocks`."""
    alias = namespace.pick(tx, namespace.OWN, fields.get("alias"), field="alias")
    bio = rows.add(tx, bios, account, {**_checked(tx, fields, settings), "alias": alias})
    namespace.claim(tx, account, "bio", bio, host=namespace.OWN, alias=alias, field="alias")
    return own(tx, account, bio)


def change(tx: Connection, account: int, bio: int, *, settings: Settings, **fields: Unpack[Fields]) -> None:
    """Set the given fields; an alias given up stays with the account. Raises as `add`."""
    before = own(tx, account, bio)
    alias = fields.get("alias") or before.alias
    if alias != before.alias:
        namespace.release(tx, host=namespace.OWN, alias=before.alias)
        new = namespace.pick(tx, namespace.OWN, alias, field="alias")
        namespace.claim(tx, account, "bio", bio, host=namespace.OWN, alias=new, field="alias")
    rows.change(tx, bios, account, bio, {**_checked(tx, fields, settings), "alias": alias})


def remove(tx: Connection, account: int, bio: int) -> None:
    """Delete a bio page; its alias stays with the account, as a tombstone."""
    namespace.release(tx, host=namespace.OWN, alias=own(tx, account, bio).alias)
    rows.remove(tx, bios, account, bio)


def _checked(tx: Connection, fields: Fields, settings: Settings) -> dict[str, Any]:
    blocks = [_checked_block(block, settings) for block in fields.get("blocks") or ()]
    urls = (block[name] for block in blocks for name in ("image", _URLS.get(block["type"], "")) if block.get(name))
    blocked.refuse(tx, urls, field="blocks")
    return {**fields, **({"blocks": blocks} if blocks else {})}


def _checked_block(block: Block, settings: Settings) -> Block:
    urls = {}
    name = _URLS.get(block["type"], "")
    if block.get(name) or name == "url":  # the others may be empty
        urls[name] = targets.target(block[name], field="blocks", settings=settings)
    if block["type"] == "image":
        urls["image"] = targets.web_url(block["image"], field="blocks")
    return {**block, **urls}
