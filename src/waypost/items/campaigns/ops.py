"""Campaigns: groups of links with a public list page and, if they have a slug, a rotator."""

import itertools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from sqlalchemy import Connection, Select, and_, func, or_, select, update

from waypost.clicks.ingest.aggregate import link_of
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import Span
from waypost.core.errors import taken
from waypost.db import audit_log, change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.database import upsert
from waypost.db.schema import accounts, campaigns, domains, links, rotator_links, rotator_state
from waypost.search.words import Word
from waypost.urls import alias_namespace
from waypost.urls.alias_rules import check_slug

Rotation = Literal["random", "weighted", "ordered"]
_MAX_LINKS = 1000  # in the statistics of a campaign
_TAKEN = crud.name_errors(campaigns, taken("name", "You already have a campaign with that name."))


@dataclass(frozen=True)
class Campaign:
    """A campaign. It has a rotator exactly if it has a slug. `views` counts visits of rotator and list page.

    After `winner` clicks, the rotator sends all visitors to the link with the most clicks.
    """

    id: int
    name: str
    slug: str | None
    public: bool
    indexable: bool
    views: int
    rotation: Rotation
    sticky: bool
    winner: int | None


@dataclass(frozen=True)
class CampaignLink:
    """A link in a campaign. `given` counts the clicks against its quota, from the time the quota was set.

    `clicks` are those that the rotator sent to it in a span, or all clicks of the link if no span is given.
    """

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
    """A link that can be assigned to a campaign; `campaign` is the name of its present one."""

    id: int
    host: str
    scheme: str | None
    alias: str
    title: str
    url: str
    campaign: str | None


class Fields(TypedDict, total=False):
    """The settable fields. `None` means the field's default; for the name that is `Campaign <id>`."""

    name: str | None
    slug: str | None
    public: bool | None
    indexable: bool | None
    rotation: Rotation | None
    sticky: bool | None
    winner: int | None


class CampaignLinkFields(TypedDict, total=False):
    """The settable fields of a link in its campaign. `None` means the field's default."""

    weight: int | None
    quota: int | None


def page(tx: Connection, account: int, window: PageRequest) -> Page[Campaign]:
    """Return a page of the account's campaigns, newest first."""
    return crud.page(tx, campaigns, account, window, Campaign)


def get_owned(tx: Connection, account: int, campaign: int) -> Campaign:
    """Return one campaign. Raises NOT_FOUND."""
    return crud.get_owned(tx, campaigns, account, campaign, Campaign)


def get_username(tx: Connection, account: int) -> str:
    """Return the username in the URLs of the account's list pages."""
    return str(tx.execute(select(accounts.c.username).where(accounts.c.id == account)).scalar_one())


def add(tx: Connection, account: int, **fields: Unpack[Fields]) -> Campaign:
    """Create a campaign. Raises TAKEN on `name` or `slug`, INVALID on `slug`."""
    slug = _validated(fields.get("slug"))
    name = fields.get("name")
    # The default name contains the id, which is known only after the insert.
    values = {**fields, "slug": slug, "name": name or f"unnamed {uuid.uuid4()}"}
    campaign = crud.add(tx, campaigns, account, values, _TAKEN)
    if name is None:
        crud.change(tx, campaigns, account, campaign, {"name": _free_name(tx, account, f"Campaign {campaign}")})
    _claim(tx, account, campaign, slug)
    return get_owned(tx, account, campaign)


def check_slug_of_new(tx: Connection, account: int, slug: str | None) -> None:
    """Raise INVALID or TAKEN on `slug` if no new campaign of the account can have it."""
    if slug is not None and (slug := _validated(slug)) is not None:
        alias_namespace.require_free(tx, account, host=alias_namespace.ROTATORS, alias=slug, field="slug")


def change(tx: Connection, account: int, campaign: int, **fields: Unpack[Fields]) -> Campaign:
    """Set the given fields; a slug of `None` or "" removes the rotator. Raises NOT_FOUND, and errors as `add`."""
    crud.lock_row(tx, campaigns, account, campaign)
    before = get_owned(tx, account, campaign)
    if "slug" in fields:
        fields["slug"] = _validated(fields["slug"])
        if fields["slug"] != before.slug:
            _release(tx, before.slug)
            _claim(tx, account, campaign, fields["slug"])
    crud.change(tx, campaigns, account, campaign, fields, _TAKEN)
    if before.slug is not None:
        change_log.record(tx, alias_namespace.ROTATORS, before.slug)
    if fields.get("winner", before.winner) != before.winner:  # restart the count for the new threshold
        owned_by = (rotator_state.c.campaign == campaign, rotator_state.c.account == account)
        tx.execute(update(rotator_state).where(*owned_by).values(clicks=0, winner=None))
    return get_owned(tx, account, campaign)


def remove(tx: Connection, account: int, campaign: int) -> None:
    """Delete a campaign and keep its links."""
    crud.lock_row(tx, campaigns, account, campaign)
    _release(tx, get_owned(tx, account, campaign).slug)
    owned_by = (links.c.account == account, links.c.campaign == campaign)
    tx.execute(update(links).where(*owned_by).values(campaign=None))
    crud.remove(tx, campaigns, account, campaign)


def assign(tx: Connection, account: int, campaign: int, link: int, **fields: Unpack[CampaignLinkFields]) -> None:
    """Move a link into a campaign (decision 28) and set its rotator fields, where given.

    Removing a quota resets the count of clicks against it.
    """
    crud.lock_row(tx, campaigns, account, campaign, shared=True)
    crud.change(tx, links, account, link, {"campaign": campaign})
    values: dict[str, int | None] = {}
    if "weight" in fields:
        values["weight"] = 1 if fields["weight"] is None else fields["weight"]
    if "quota" in fields:
        values |= {"quota": fields["quota"], **({"given": 0} if fields["quota"] is None else {})}
    if not values:
        return
    key = {"campaign": campaign, "link": link, "account": account}
    stored = select(*(rotator_links.c[name] for name in values)).where(
        *(rotator_links.c[name] == key[name] for name in key)
    )
    before = dict(tx.execute(stored).mappings().first() or {})
    if before == values:
        return
    new = upsert(tx, rotator_links).values(**key, **values)
    tx.execute(new.on_conflict_do_update(index_elements=list(key), set_=values))
    audit_log.record(tx, account, "link.updated", link, before=before, after=values)


def unassign(tx: Connection, account: int, campaign: int, ids: Sequence[int]) -> int:
    """Remove links from a campaign. Return how many of them were in it."""
    crud.lock_row(tx, campaigns, account, campaign, shared=True)
    owned_by = (links.c.account == account, links.c.campaign == campaign, links.c.id.in_(ids))
    removed = tx.execute(update(links).where(*owned_by).values(campaign=None).returning(links.c.id)).scalars().all()
    for link in removed:
        audit_log.record(tx, account, "link.updated", link, before={"campaign": campaign}, after={"campaign": None})
    return len(removed)


def candidates(
    tx: Connection, account: int, campaign: int, limit: int, *, words: Sequence[Word] = ()
) -> list[Candidate]:
    """Return the newest links outside the campaign that match all words of a search."""
    get_owned(tx, account, campaign)
    outside = (links.c.account == account) & links.c.campaign.is_distinct_from(campaign)
    c = links.c
    newest = (
        select(c.id, c.host, domains.c.scheme, c.alias, c.title, c.url, campaigns.c.name.label("campaign"))
        .outerjoin(domains, domains.c.host == c.host)
        .outerjoin(campaigns, (campaigns.c.id == c.campaign) & (campaigns.c.account == c.account))
        .where(outside, *(word.link_condition(links) for word in words))
        .order_by(c.id.desc())
        .limit(limit)
    )
    return [Candidate(**row) for row in tx.execute(newest).mappings()]


def link_counts(tx: Connection, account: int, ids: Sequence[int]) -> Mapping[int, int]:
    """Return the number of links by campaign, without campaigns that have none (index links_campaign)."""
    return crud.count_by(tx, account, links.c.campaign, ids)


def get_winner(tx: Connection, account: int, campaign: int) -> int | None:
    """Return the winning link of a campaign."""
    c = rotator_state.c
    return tx.execute(select(c.winner).where(c.campaign == campaign, c.account == account)).scalar_one_or_none()


def links_of(tx: Connection, account: int, campaign: int) -> list[CampaignLink]:
    """Return the links of a campaign, oldest first."""
    query = _select_links(account, campaign).where(links.c.campaign == campaign).order_by(links.c.id)
    return [CampaignLink(**row) for row in tx.execute(query.limit(_MAX_LINKS)).mappings()]


def links_by_clicks(tx: Connection, account: int, campaign: int, span: Span) -> list[CampaignLink]:
    """Return the links of a campaign and those that its rotator sent visitors to in the span, oldest first."""
    sources = reports.label_counts(tx, account, "campaign", campaign, "source", span)
    clicks = {link: n for label, n in sources.items() if (link := link_of(label)) is not None}
    is_shown = [links.c.campaign == campaign]  # an index for each condition
    if clicks:
        is_shown.append(links.c.id.in_(list(clicks)[:_MAX_LINKS]))
    query = _select_links(account, campaign).where(or_(*is_shown))
    rows = tx.execute(query.order_by(links.c.id).limit(_MAX_LINKS)).mappings()
    return [CampaignLink(**{**row, "clicks": clicks.get(row["id"], 0)}) for row in rows]


def page_of_links(tx: Connection, account: int, campaign: int, window: PageRequest) -> Page[CampaignLink]:
    """Return a page of a campaign's links, oldest first (index links_campaign)."""
    total = link_counts(tx, account, [campaign]).get(campaign, 0)
    query = _select_links(account, campaign).where(links.c.campaign == campaign).order_by(links.c.id)
    rows = tx.execute(query.limit(window.limit).offset(window.offset)).mappings() if window.offset < total else ()
    return Page([CampaignLink(**row) for row in rows], total, window)


def _select_links(account: int, campaign: int) -> Select[Any]:
    c, r = links.c, rotator_links.c
    columns = (c.id, c.host, domains.c.scheme, c.alias, c.title, c.clicks, r.quota)
    settings = (func.coalesce(r.weight, 1).label("weight"), func.coalesce(r.given, 0).label("given"))
    query = select(*columns, *settings).outerjoin(domains, domains.c.host == c.host)
    settings_of_link = and_(r.link == c.id, r.campaign == campaign, r.account == c.account)
    return query.outerjoin(rotator_links, settings_of_link).where(c.account == account)


def _validated(slug: str | None) -> str | None:
    return check_slug(slug, field="slug") if slug else None


def _claim(tx: Connection, account: int, campaign: int, slug: str | None) -> None:
    if slug is not None:
        alias_namespace.claim(
            tx, account, "campaign", campaign, host=alias_namespace.ROTATORS, alias=slug, field="slug"
        )


def _release(tx: Connection, slug: str | None) -> None:
    if slug is not None:
        alias_namespace.release(tx, host=alias_namespace.ROTATORS, alias=slug)


def _free_name(tx: Connection, account: int, name: str) -> str:
    """Return the name, with a number appended if the account already has a campaign with that name."""
    is_own = campaigns.c.account == account
    names = itertools.chain([name], (f"{name} ({number})" for number in itertools.count(2)))
    return next(name for name in names if crud.find_by_name(tx, campaigns, name, is_own) is None)
