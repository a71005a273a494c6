"""Bio pages: public profile pages made of blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from sqlalchemy import Connection, select

from waypost.core.settings import Settings
from waypost.db import change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import bio_blocks, bios
from waypost.items.bios import design, form_blocks, pictures
from waypost.items.bios.blocks import Block, assign_ids, validated
from waypost.items.bios.design import Design
from waypost.urls import alias_namespace


@dataclass(frozen=True)
class Bio:
    """A bio page; times are Unix timestamps.

    `blocks` are in the order of the page. Each has a `type`, and an `id` if visitors can click it. Pictures are the
    names of rows of `bio_pictures`, such as `picture-12`; "" for none.
    """

    id: int
    name: str
    alias: str
    title: str
    description: str
    theme: str
    avatar: str
    design: Design | None
    blocks: Sequence[Block]
    sensitive: bool
    clicks: int
    uniqueclicks: int
    created: int


class Fields(TypedDict, total=False):
    """The settable fields. `None` means the field's default.

    A picture is the name of one that the page has, or a new one as a copy of waypost.items.bios.pictures.
    """

    name: str
    alias: str | None
    title: str | None
    description: str | None
    theme: str | None
    avatar: str | None
    design: Design | None
    blocks: Sequence[Block] | None
    sensitive: bool | None


def page(tx: Connection, account: int, window: PageRequest) -> Page[Bio]:
    """Return a page of the account's bio pages, newest first."""
    return crud.page(tx, bios, account, window, Bio)


def get_owned(tx: Connection, account: int, bio: int) -> Bio:
    """Return one bio page. Raises NOT_FOUND."""
    return crud.get_owned(tx, bios, account, bio, Bio)


def add(tx: Connection, account: int, *, settings: Settings, **fields: Unpack[Fields]) -> Bio:
    """Create a bio page. Raises INVALID or TAKEN on `alias`, INVALID on `blocks`, `design`
    and `avatar`."""
    alias = alias_namespace.pick(tx, alias_namespace.OWN, fields.get("alias"), field="alias")
    shown: dict[str, Any] = {
        "avatar": fields.get("avatar") or "",
        "design": _checked(fields.get("design")),
        "blocks": _validated(tx, account, fields.get("blocks"), settings),
    }
    bio = crud.add(tx, bios, account, {**fields, "alias": alias, "avatar": "", "design": None, "blocks": []})
    values = pictures.store(tx, account, bio, shown)
    if any(values.values()):
        values["blocks"] = assign_ids(tx, account, bio, values["blocks"], old_blocks=())
        crud.change(tx, bios, account, bio, values)
    alias_namespace.claim(tx, account, "bio", bio, host=alias_namespace.OWN, alias=alias, field="alias")
    return get_owned(tx, account, bio)


def change(tx: Connection, account: int, bio: int, *, settings: Settings, **fields: Unpack[Fields]) -> None:
    """Set the given fields. A previous alias stays reserved for the account. Raises NOT_FOUND, and errors as `add`."""
    crud.lock_row(tx, bios, account, bio)
    before = get_owned(tx, account, bio)
    alias = fields.get("alias") or before.alias
    if alias != before.alias:
        alias_namespace.release(tx, host=alias_namespace.OWN, alias=before.alias)
        alias = alias_namespace.pick(tx, alias_namespace.OWN, alias, field="alias")
        alias_namespace.claim(tx, account, "bio", bio, host=alias_namespace.OWN, alias=alias, field="alias")
    values: dict[str, Any] = {**fields, "alias": alias}
    if "blocks" in fields:
        values["blocks"] = _validated(tx, account, fields["blocks"], settings)
    if "design" in fields:
        values["design"] = _checked(fields["design"])
    values = pictures.store(tx, account, bio, values)
    if "blocks" in fields:
        values["blocks"] = assign_ids(tx, account, bio, values["blocks"], old_blocks=before.blocks)
    crud.change(tx, bios, account, bio, values)
    _remove_unused_pictures(tx, account, bio, before)
    change_log.record(tx, alias_namespace.OWN, alias)


def remove(tx: Connection, account: int, bio: int) -> None:
    """Delete a bio page. Its alias stays reserved for the account."""
    crud.lock_row(tx, bios, account, bio)
    alias_namespace.release(tx, host=alias_namespace.OWN, alias=get_owned(tx, account, bio).alias)
    crud.remove(tx, bios, account, bio)


def _validated(tx: Connection, account: int, blocks: Sequence[Block] | None, settings: Settings) -> list[Block]:
    """Return the blocks with their URLs trimmed. Raises INVALID on `blocks`."""
    valid_blocks = validated(tx, blocks or (), settings)
    form_blocks.refuse_unknown(tx, account, valid_blocks)
    return valid_blocks


def _checked(parts: Design | None) -> Design | None:
    """Return a design with all its parts. Raises INVALID on `design`."""
    whole = design.complete(parts)
    if whole is not None:
        design.refuse_faults(whole)
    return whole


def _remove_unused_pictures(tx: Connection, account: int, bio: int, before: Bio) -> None:
    """Delete the pictures that the page no longer shows."""
    after = get_owned(tx, account, bio)
    used = pictures.names_of(after.avatar, after.design, after.blocks)
    if pictures.names_of(before.avatar, before.design, before.blocks) - used:
        pictures.remove_unused(tx, account, bio, used)


def block_clicks(tx: Connection, account: int, bio: int) -> Mapping[int, tuple[int, int]]:
    """Return (clicks, unique clicks) of the page's blocks by their ids (index bio_blocks_bio)."""
    c = bio_blocks.c
    query = select(c.id, c.clicks, c.uniqueclicks).where(c.bio == bio, c.account == account)
    return {row.id: (row.clicks, row.uniqueclicks) for row in tx.execute(query)}
