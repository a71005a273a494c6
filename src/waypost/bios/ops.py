"""Bio pages: one page of an account's own with everything it wants to show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from sqlalchemy import Connection, select

from waypost.bios import blocks as parts
from waypost.bios.blocks import Block
from waypost.db import change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import bio_blocks, bios
from waypost.settings import Settings
from waypost.urls import alias_namespace


@dataclass(frozen=True)
class Bio:
    """A bio page; times are seconds, UTC.

    `blocks` in the order of the page, each with a `type`, and with the `id` of its clicks if it can be followed.
    """

    id: int
    name: str
    alias: str
    title: str
    description: str
    theme: str
    blocks: Sequence[Block]
    sensitive: bool
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
    sensitive: bool | None


def page(tx: Connection, account: int, window: PageRequest) -> Page[Bio]:
    """The account's bio pages."""
    return crud.page(tx, bios, account, window, Bio)


def own(tx: Connection, account: int, bio: int) -> Bio:
    """One bio page."""
    return crud.get_owned(tx, bios, account, bio, Bio)


def add(tx: Connection, account: int, *, settings: Settings, **fields: Unpack[Fields]) -> Bio:
    """Make a bio page. Raises INVALID or TAKEN on `alias`, INVALID on `blocks`."""
    alias = alias_namespace.pick(tx, alias_namespace.OWN, fields.get("alias"), field="alias")
    blocks = parts.checked(tx, fields.get("blocks") or (), settings)
    bio = crud.add(tx, bios, account, {**fields, "alias": alias, "blocks": []})
    if blocks:
        crud.change(tx, bios, account, bio, {"blocks": parts.numbered(tx, account, bio, blocks, before=())})
    alias_namespace.claim(tx, account, "bio", bio, host=alias_namespace.OWN, alias=alias, field="alias")
    return own(tx, account, bio)


def change(tx: Connection, account: int, bio: int, *, settings: Settings, **fields: Unpack[Fields]) -> None:
    """Set the given fields; an alias given up stays with the account. Raises as `add`."""
    tx.execute(select(bios.c.id).where(bios.c.id == bio, bios.c.account == account).with_for_update())
    before = own(tx, account, bio)
    alias = fields.get("alias") or before.alias
    if alias != before.alias:
        alias_namespace.release(tx, host=alias_namespace.OWN, alias=before.alias)
        new = alias_namespace.pick(tx, alias_namespace.OWN, alias, field="alias")
        alias_namespace.claim(tx, account, "bio", bio, host=alias_namespace.OWN, alias=new, field="alias")
    values = {**fields, "alias": alias}
    if "blocks" in fields:
        blocks = parts.checked(tx, fields["blocks"] or (), settings)
        values["blocks"] = parts.numbered(tx, account, bio, blocks, before=before.blocks)
    crud.change(tx, bios, account, bio, values)
    change_log.record(tx, alias_namespace.OWN, alias)


def remove(tx: Connection, account: int, bio: int) -> None:
    """Delete a bio page; its alias stays with the account, as a tombstone."""
    alias_namespace.release(tx, host=alias_namespace.OWN, alias=own(tx, account, bio).alias)
    crud.remove(tx, bios, account, bio)


def clicks(tx: Connection, bio: int) -> Mapping[int, tuple[int, int]]:
    """(clicks, distinct visitors) of the page's blocks, by their ids (index bio_blocks_bio)."""
    chosen = select(bio_blocks.c.id, bio_blocks.c.clicks, bio_blocks.c.uniqueclicks).where(bio_blocks.c.bio == bio)
    return {row.id: (row.clicks, row.uniqueclicks) for row in tx.execute(chosen)}
