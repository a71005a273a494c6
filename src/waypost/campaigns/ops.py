"""Campaigns: links that belong together, with a rotator when there is a slug, and a list page."""

import itertools
import uuid
from dataclasses import dataclass
from typing import TypedDict, Unpack

from sqlalchemy import Connection, select

from waypost import rows
from waypost.aliases import namespace
from waypost.aliases.words import check
from waypost.errors import taken
from waypost.rows import Page, Window
from waypost.schema import accounts, campaigns, links

_TAKEN = {"campaigns_account_name_unique": taken("name", "You already have a campaign with that name.")}


@dataclass(frozen=True)
class Campaign:
    """A campaign; it has a rotator exactly when it has a slug. `views` are visits of rotator and list page."""

    id: int
    name: str
    slug: str | None
    public: bool
    views: int


class Fields(TypedDict, total=False):
    """What can be set; `None` is the field's default, for the name `Campaign <id>`."""

    name: str | None
    slug: str | None
    public: bool | None


def page(tx: Connection, account: int, window: Window) -> Page[Campaign]:
    """The account's campaigns."""
    return rows.page(tx, campaigns, account, window, Campaign)


def own(tx: Connection, account: int, campaign: int) -> Campaign:
    """One campaign."""
    return rows.own(tx, campaigns, account, campaign, Campaign)


def username(tx: Connection, account: int) -> str:
    """Under whose name the account's list pages stand."""
    return str(tx.execute(select(accounts.c.username).where(accounts.c.id == account)).scalar_one())


def add(tx: Connection, account: int, **fields: Unpack[Fields]) -> Campaign:
    """Make a campaign. Raises TAKEN on `name` or `slug`, INVALID on `slug`."""
    slug = _checked(fields.get("slug"))
    named = fields.get("name")
    # The default name holds the id, which is known only after the insert.
    values = {"public": fields.get("public"), "slug": slug, "name": named or f"campaign to be named {uuid.uuid4()}"}
    campaign = rows.add(tx, campaigns, account, values, _TAKEN)
    if named is None:
        rows.change(tx, campaigns, account, campaign, {"name": _free_name(tx, account, f"Campaign {campaign}")})
    _claim(tx, account, campaign, slug)
    return own(tx, account, campaign)


def change(tx: Connection, account: int, campaign: int, **fields: Unpack[Fields]) -> Campaign:
    """Set the given fields; a slug of `None` or "" takes the rotator away. Raises as `add`."""
    before = own(tx, account, campaign)
    if "slug" in fields:
        fields["slug"] = _checked(fields["slug"])
        if fields["slug"] != before.slug:
            _release(tx, before.slug)
            _claim(tx, account, campaign, fields["slug"])
    rows.change(tx, campaigns, account, campaign, fields, _TAKEN)
    return own(tx, account, campaign)


def remove(tx: Connection, account: int, campaign: int) -> None:
    """Delete a campaign; its links stay."""
    _release(tx, own(tx, account, campaign).slug)
    rows.remove(tx, campaigns, account, campaign)


def assign(tx: Connection, account: int, campaign: int, link: int) -> None:
    """Put a link into a campaign, out of the one it was in (decision 28)."""
    own(tx, account, campaign)
    rows.change(tx, links, account, link, {"campaign": campaign})


def _checked(slug: str | None) -> str | None:
    return check(slug, field="slug") if slug else None


def _claim(tx: Connection, account: int, campaign: int, slug: str | None) -> None:
    if slug is not None:
        namespace.claim(tx, account, "campaign", campaign, host=namespace.ROTATORS, alias=slug, field="slug")


def _release(tx: Connection, slug: str | None) -> None:
    if slug is not None:
        namespace.release(tx, host=namespace.ROTATORS, alias=slug)


def _free_name(tx: Connection, account: int, name: str) -> str:
    mine = select(campaigns.c.name).where(campaigns.c.account == account)
    tries = itertools.chain([name], (f"{name} ({number})" for number in itertools.count(2)))
    return next(free for free in tries if tx.execute(mine.where(campaigns.c.name == free)).first() is None)
