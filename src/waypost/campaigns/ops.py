"""Campaigns: links that belong together, with a rotator when there is a slug, and a list page."""

import itertools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from sqlalchemy import Connection, Select, func, or_, select, update

from waypost.clicks.ingest.aggregate import label_of
from waypost.clicks.stats import queries as stats
from waypost.clicks.stats.queries import Span
from waypost.db import crud
from waypost.db.crud import Page, PageRequest
from waypost.db.database import upsert
from waypost.db.schema import accounts, campaigns, domains, links, rotations, turns
from waypost.errors import taken
from waypost.urls import alias_namespace
from waypost.urls.alias_rules import check

Rotation = Literal["random", "weighted", "ordered"]
_MOST_LINKS = 1000  # that the statistics of a campaign name
_TAKEN = {"campaigns_account_name_unique": taken("name", "You already have a campaign with that name.")}


@dataclass(frozen=True)
class Campaign:
    """A campaign; it has a rotator exactly when it has a slug. `views` are visits of rotator and list page.

    `winner` is the number of clicks after which the link clicked most gets all that follow.
    """

    id: int
    name: str
    slug: str | None
    public: bool
    views: int
    rotation: Rotation
    sticky: bool
    winner: int | None


@dataclass(frozen=True)
class Place:
    """A link in a campaign. `given` are its clicks by the rotator since it has a quota, `clicks` those of a span by it,
    or where no span is asked for, all that the link has."""

    id: int
    host: str
    scheme: str | None
    alias: str
    title: str
    weight: int
    quota: int | None
    given: int
    clicks: int


@dataclass(frozen=True)
class Candidate:
    """A link that could be put into a campaign; `campaign` is the one that it is in now."""

    id: int
    host: str
    alias: str
    title: str
    url: str
    campaign: int | None


class Fields(TypedDict, total=False):
    """What can be set; `None` is the field's default, for the name `Campaign <id>`."""

    name: str | None
    slug: str | None
    public: bool | None
    rotation: Rotation | None
    sticky: bool | None
    winner: int | None


class PlaceFields(TypedDict, total=False):
    """What can be set on a link in its campaign; `None` is the field's default."""

    weight: int | None
    quota: int | None


def page(tx: Connection, account: int, window: PageRequest) -> Page[Campaign]:
    """The account's campaigns."""
    return crud.page(tx, campaigns, account, window, Campaign)


def own(tx: Connection, account: int, campaign: int) -> Campaign:
    """One campaign."""
    return crud.get_owned(tx, campaigns, account, campaign, Campaign)


def username(tx: Connection, account: int) -> str:
    """Under whose name the account's list pages stand."""
    return str(tx.execute(select(accounts.c.username).where(accounts.c.id == account)).scalar_one())


def add(tx: Connection, account: int, **fields: Unpack[Fields]) -> Campaign:
    """Make a campaign. Raises TAKEN on `name` or `slug`, INVALID on `slug`."""
    slug = _checked(fields.get("slug"))
    named = fields.get("name")
    # The default name holds the id, which is known only after the insert.
    values = {**fields, "slug": slug, "name": named or f"campaign to be named {uuid.uuid4()}"}
    campaign = crud.add(tx, campaigns, account, values, _TAKEN)
    if named is None:
        crud.change(tx, campaigns, account, campaign, {"name": _free_name(tx, account, f"Campaign {campaign}")})
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
    crud.change(tx, campaigns, account, campaign, fields, _TAKEN)
    if fields.get("winner", before.winner) != before.winner:  # there is to be another one: the count begins anew
        mine = (turns.c.campaign == campaign, turns.c.account == account)
        tx.execute(update(turns).where(*mine).values(given=0, winner=None))
    return own(tx, account, campaign)


def remove(tx: Connection, account: int, campaign: int) -> None:
    """Delete a campaign; its links stay."""
    _release(tx, own(tx, account, campaign).slug)
    crud.lock_row(tx, campaigns, account, campaign)
    inside = select(links.c.id).where(links.c.campaign == campaign)  # by links_campaign, and not all of the account
    tx.execute(update(links).where(links.c.account == account, links.c.id.in_(inside)).values(campaign=None))
    crud.remove(tx, campaigns, account, campaign)


def assign(tx: Connection, account: int, campaign: int, link: int, **fields: Unpack[PlaceFields]) -> None:
    """Put a link into a campaign, out of the one it was in (decision 28); and set what is given for its rotator.

    A quota counts from when there is one: to take it away begins anew.
    """
    own(tx, account, campaign)
    crud.change(tx, links, account, link, {"campaign": campaign})
    values: dict[str, int | None] = {}
    if "weight" in fields:
        values["weight"] = 1 if fields["weight"] is None else fields["weight"]
    if "quota" in fields:
        values |= {"quota": fields["quota"], **({"given": 0} if fields["quota"] is None else {})}
    if not values:
        return
    key = {"campaign": campaign, "link": link, "account": account}
    new = upsert(tx, rotations).values(**key, **values)
    tx.execute(new.on_conflict_do_update(index_elements=list(key), set_=values))


def unassign(tx: Connection, account: int, campaign: int, chosen: Sequence[int]) -> int:
    """Take links out of a campaign; how many of them were in it."""
    own(tx, account, campaign)
    c = links.c
    mine = (c.account == account) & (c.campaign == campaign) & c.id.in_(chosen)
    return int(tx.execute(update(links).where(mine).values(campaign=None)).rowcount)


def candidates(tx: Connection, account: int, campaign: int, most: int, *, q: str = "") -> list[Candidate]:
    """The newest links outside the campaign that have `q` in their words."""
    own(tx, account, campaign)
    outside = (links.c.account == account) & links.c.campaign.is_distinct_from(campaign)
    if q:
        outside &= links.c.search.contains(q.casefold(), autoescape=True)
    newest = crud.columns(links, Candidate).where(outside).order_by(links.c.id.desc()).limit(most)
    return [Candidate(**row) for row in tx.execute(newest).mappings()]


def sizes(tx: Connection, chosen: Sequence[int]) -> Mapping[int, int]:
    """How many links each of these campaigns has, where it has any (index links_campaign)."""
    c = links.c
    counted = select(c.campaign, func.count()).where(c.campaign.in_(chosen)).group_by(c.campaign)
    return {int(row[0]): int(row[1]) for row in tx.execute(counted)}


def winner(tx: Connection, campaign: int) -> int | None:
    """The link that has won in a campaign that went through `own`."""
    return tx.execute(select(turns.c.winner).where(turns.c.campaign == campaign)).scalar_one_or_none()


def places(tx: Connection, account: int, campaign: int, span: Span) -> list[Place]:
    """The links of a campaign that went through `own`, and those that its rotator led to in the span; oldest first."""
    counted = stats.labelled(tx, "campaign", campaign, "source", span)
    ids = [int(label.removeprefix("link ")) for label in counted if label.startswith("link ")][:_MOST_LINKS]
    mine = or_(links.c.campaign == campaign, (links.c.account == account) & links.c.id.in_(ids))  # an index for each
    chosen = _placed(campaign).where(mine).order_by(links.c.id).limit(_MOST_LINKS)
    return [_place(row, counted.get(label_of(row["id"]), 0)) for row in tx.execute(chosen).mappings()]


def members(tx: Connection, campaign: int, window: PageRequest) -> Page[Place]:
    """The links of a campaign that went through `own`, oldest first (index links_campaign)."""
    result = sizes(tx, [campaign]).get(campaign, 0)
    inside = _placed(campaign).where(links.c.campaign == campaign).order_by(links.c.id)
    found = tx.execute(inside.limit(window.limit).offset(window.offset)).mappings() if window.offset < result else ()
    return Page([_place(row, row["all"]) for row in found], result, window)


def _placed(campaign: int) -> Select[Any]:
    c, r = links.c, rotations.c
    chosen = select(c.id, c.host, domains.c.scheme, c.alias, c.title, r.weight, r.quota, r.given, c.clicks.label("all"))
    with_domain = chosen.outerjoin(domains, domains.c.host == c.host)
    return with_domain.outerjoin(rotations, (r.link == c.id) & (r.campaign == campaign))


def _place(row: Mapping[Any, Any], clicks: int) -> Place:
    plain = {name: row[name] for name in ("id", "host", "scheme", "alias", "title", "quota")}
    return Place(**plain, weight=1 if row["weight"] is None else row["weight"], given=row["given"] or 0, clicks=clicks)


def _checked(slug: str | None) -> str | None:
    return check(slug, field="slug") if slug else None


def _claim(tx: Connection, account: int, campaign: int, slug: str | None) -> None:
    if slug is not None:
        alias_namespace.claim(
            tx, account, "campaign", campaign, host=alias_namespace.ROTATORS, alias=slug, field="slug"
        )


def _release(tx: Connection, slug: str | None) -> None:
    if slug is not None:
        alias_namespace.release(tx, host=alias_namespace.ROTATORS, alias=slug)


def _free_name(tx: Connection, account: int, name: str) -> str:
    mine = select(campaigns.c.name).where(campaigns.c.account == account)
    tries = itertools.chain([name], (f"{name} ({number})" for number in itertools.count(2)))
    return next(free for free in tries if tx.execute(mine.where(campaigns.c.name == free)).first() is None)
