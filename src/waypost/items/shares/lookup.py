"""Find the shared item behind an address, and the days that its page may show."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, Connection, and_, func, select

from waypost.clicks.stats.subjects import ACCOUNT, ItemGroup, Subject, find_members
from waypost.core import clock
from waypost.dashboard.i18n import find_zone
from waypost.dashboard.periods import ALL, DEFAULT, Bounds
from waypost.db import crud
from waypost.db.schema import accounts, bios, campaigns, click_times, domains, links, qrs, shares
from waypost.items.shares.ops import TABLES, Share
from waypost.urls import alias_rules
from waypost.urls.alias_namespace import OWN
from waypost.urls.short_urls import rotator_url, short_url

_PUBLIC = re.compile(r"(.+)-([1-9][0-9]{0,14})\Z")
_NAME = re.compile(r"[A-Za-z0-9_-]{3,80}\Z")
_c = shares.c


@dataclass(frozen=True)
class SharedItem:
    """A share link that works, with the public name and address of its item.

    `url` is "" for a campaign without one; both are "" for an account.
    """

    share: Share
    name: str
    url: str


def find(tx: Connection, name: str, base: str) -> SharedItem | None:
    """Return the shared item of an address; None if there is none, it has expired, or its account is suspended.

    An address that is not found is looked up again without what chats append to it. Tokens of version 1.0 can end with
    "-" or "_".
    """
    meant = dict.fromkeys((name, alias_rules.without_appended(name, host=OWN), alias_rules.without_appended(name)))
    return next(filter(None, (_find(tx, candidate, base) for candidate in meant)), None)


def _find(tx: Connection, name: str, base: str) -> SharedItem | None:
    if not _NAME.match(name):
        return None
    share = _find_share(tx, and_(_c.token == name, _c.slug == ""))
    match = _PUBLIC.match(name)
    if share is None and match:
        share = _find_share(tx, and_(_c.id == int(match[2]), _c.slug == match[1]))
    if share is None or share.has_expired:
        return None
    names = _describe(tx, share, base)
    return SharedItem(share, *names) if names else None


def bounds(tx: Connection, share: Share) -> Bounds:
    """Return the days that the page may show: those of the share link, or all since the first visit."""
    zone = find_zone(share.timezone)
    today = clock.local(clock.now(), zone).date()
    if share.days is not None:
        return Bounds(today - timedelta(days=share.days - 1), today, zone)
    first = date.fromisoformat(share.firstday) if share.firstday else _first_day(tx, share, zone)
    last = min(date.fromisoformat(share.lastday), max(today, first)) if share.lastday else today
    first, last = min(first, last), max(first, last)
    return Bounds(first, last, zone, ALL if share.is_limited or (last - first).days < int(DEFAULT) else DEFAULT)


def _find_share(tx: Connection, condition: ColumnElement[bool]) -> Share | None:
    query = crud.select_columns(shares, Share).join(accounts, accounts.c.id == _c.account)
    row = tx.execute(query.where(condition, accounts.c.suspended.is_(False))).mappings().first()
    return None if row is None else Share(**row)


def _describe(tx: Connection, share: Share, base: str) -> tuple[str, str] | None:
    """Return the public name and URL of the item: no title or name that is meant for its owner. "" for an account."""
    kind, item = share.key
    if kind == ACCOUNT:
        return "", ""
    table = TABLES[kind]
    is_item = and_(table.c.id == item, table.c.account == share.account)
    if kind == "campaign":
        campaign = tx.execute(select(campaigns.c.name, campaigns.c.slug).where(is_item)).first()
        return None if campaign is None else (campaign.name, rotator_url(base, campaign.slug))
    if kind == "link":
        query = select(links.c.host, links.c.alias, domains.c.scheme).outerjoin(domains, domains.c.host == links.c.host)
        link = tx.execute(query.where(is_item)).first()
        url = "" if link is None else short_url(base, link.host, link.scheme, link.alias)
    else:
        alias = (qrs if kind == "qr" else bios).c.alias
        own = tx.execute(select(alias).where(is_item)).scalar_one_or_none()
        url = "" if own is None else short_url(base, "", None, own)
    return (url.partition("://")[2], url) if url else None


def _first_day(tx: Connection, share: Share, zone: ZoneInfo) -> date:
    """Return the day of the first visit (primary key of click_times), or of the share link."""
    (kind, item), c = share.key, click_times.c
    group = ItemGroup(campaign=item if kind == "campaign" else None)
    members = find_members(tx, share.account, group) if group.is_set else None
    query = select(func.min(c.at)).where(Subject(share.account, kind, item, members).condition(c))
    first = tx.execute(query).scalar_one_or_none()
    return clock.local(share.created if first is None else first, zone).date()
