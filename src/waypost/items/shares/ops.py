"""Share links: pages with the statistics of an item or a whole account, for visitors without an account."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, insert, select

from waypost.core import clock
from waypost.core.errors import invalid, not_found
from waypost.db import account_rows, audit_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import bios, campaigns, links, qrs, shares
from waypost.urls import alias_rules

ItemType = Literal["link", "qr", "bio", "campaign", "account"]
TABLES: Mapping[ItemType, Table] = {"link": links, "qr": qrs, "bio": bios, "campaign": campaigns}
"""The kinds of items whose statistics can be shared, which are also columns of the table; an account has none."""
MAX_SHARES = 50
"""Share links of one item, or of the whole account."""
_c = shares.c


@dataclass(frozen=True)
class Share:
    """A share link. `slug` is "" for a secret address; `firstday` and `lastday` are YYYY-MM-DD, "" for no limit.

    `days` are the last ones until today, None for no such limit; `password` is a hash, `expiry` in seconds.
    """

    id: int
    account: int
    link: int | None
    qr: int | None
    bio: int | None
    campaign: int | None
    title: str
    slug: str
    token: str
    password: str | None
    firstday: str
    lastday: str
    days: int | None
    timezone: str
    expiry: int | None
    created: int

    @property
    def key(self) -> tuple[ItemType, int]:
        """The kind and id of the item, or of the account."""
        for kind in TABLES:
            if (item := getattr(self, kind)) is not None:
                return kind, item
        return "account", self.account

    @property
    def path(self) -> str:
        """The path of the page. The id makes public addresses unique, so accounts share no names."""
        return f"/stats/{self.slug}-{self.id}" if self.slug else f"/stats/{self.token}"

    @property
    def is_limited(self) -> bool:
        """Return whether visitors may see only some days: no clicks of other days, or of unknown ones."""
        return bool(self.firstday or self.lastday or self.days is not None)

    @property
    def has_expired(self) -> bool:
        """Return whether the time of `expiry` has passed."""
        return self.expiry is not None and self.expiry < clock.now()


class Fields(TypedDict, total=False):
    """The settable fields; `None` is the default of a field. `password` is a hash, `expiry` a date or timestamp."""

    title: str | None
    slug: str | None
    password: str | None
    firstday: str | None
    lastday: str | None
    days: int | None
    timezone: str | None
    expiry: str | None


def page(
    tx: Connection, account: int, window: PageRequest, *, kind: ItemType | None = None, item: int | None = None
) -> Page[Share]:
    """Return a page of the account's share links, newest first; only those of a kind, or of one item of it.

    The account as a whole is the item of the kind `account`.
    """
    query = crud.select_columns(shares, Share).where(_c.account == account)
    if kind is not None:
        query = query.where(_is_about(kind, item))
    return crud.counted_page(tx, query.order_by(_c.id.desc()), window, Share)


def get_owned(tx: Connection, account: int, share: int) -> Share:
    """One share link."""
    return crud.get_owned(tx, shares, account, share, Share)


def add(tx: Connection, account: int, kind: ItemType, item: int, **fields: Unpack[Fields]) -> Share:
    """Share the statistics of an item. Raises INVALID on the invalid field, also for the item of another account."""
    _lock_item(tx, account, kind, item)
    count = select(func.count()).select_from(shares).where(_c.account == account, _is_about(kind, item))
    if tx.execute(count).scalar_one() >= MAX_SHARES:
        raise invalid("itemid", f"This item has {MAX_SHARES} share links already. Revoke one first.")
    values = _values(fields)
    _check_span(values)
    about: Mapping[str, int] = {kind: item} if kind in TABLES else {}
    row = {"account": account, **about, "token": secrets.token_hex(16), "created": clock.now(), **values}
    share = tx.execute(insert(shares).values(row).returning(_c.id)).scalar_one()
    audit_log.item_created(tx, shares, account, share, row)
    return get_owned(tx, account, share)


def share_all(tx: Connection, account: int, kind: ItemType, item: int, *, timezone: str) -> tuple[Share, bool]:
    """Return a share link with a secret address and without limits, and whether it is new.

    It is the newest that exists, or else a new one.
    """
    defaults = {"title": "", "slug": "", "password": None, "firstday": "", "lastday": "", "days": None, "expiry": None}
    owned = (_c.account == account, _is_about(kind, item))
    is_plain = (_c[name].is_(None) if value is None else _c[name] == value for name, value in defaults.items())
    query = crud.select_columns(shares, Share).where(*owned, *is_plain).order_by(_c.id.desc()).limit(1)
    row = tx.execute(query).mappings().first()
    return (add(tx, account, kind, item, timezone=timezone), True) if row is None else (Share(**row), False)


def change(tx: Connection, account: int, share: int, **fields: Unpack[Fields]) -> Share:
    """Set the given fields. Raises INVALID on the invalid field."""
    crud.lock_row(tx, shares, account, share)
    stored, values = get_owned(tx, account, share), _values(fields)
    _check_span({"firstday": stored.firstday, "lastday": stored.lastday, "days": stored.days, **values})
    crud.change(tx, shares, account, share, values)
    return get_owned(tx, account, share)


def remove(tx: Connection, account: int, share: int) -> None:
    """Revoke a share link. Its address is not used again."""
    deletion = delete(shares).where(_c.id == share, _c.account == account).returning(*audit_log.columns_of(shares))
    row = tx.execute(deletion).mappings().first()
    if row is None:
        raise not_found(crud.singular(shares))
    audit_log.item_deleted(tx, shares, account, share, row)


def require_item(tx: Connection, account: int, kind: ItemType, item: int) -> None:
    """Raise NOT_FOUND unless an item belongs to the account, or is the account."""
    if kind in TABLES:
        crud.require_owned(tx, TABLES[kind], account, item)
    elif item != account:
        raise not_found()


def _lock_item(tx: Connection, account: int, kind: ItemType, item: int) -> None:
    """Lock an item, so that its share links can be counted. Raises INVALID for the item of another account."""
    if kind in TABLES:
        crud.require_reference(tx, TABLES[kind], account, item, field="itemid")
        crud.lock_row(tx, TABLES[kind], account, item)
    elif item == account:
        account_rows.lock(tx, account)
    else:
        raise invalid("itemid", f"itemid must be the id of this account; {item} is not.")


def _is_about(kind: ItemType, item: int | None) -> ColumnElement[bool]:
    """Return the condition on share links of an item, or of all items of a kind."""
    if kind not in TABLES:
        return and_(*(_c[name].is_(None) for name in TABLES), *([] if item is None else [_c.account == item]))
    return _c[kind].is_not(None) if item is None else _c[kind] == item


def _values(fields: Fields) -> dict[str, Any]:
    """Return the columns of valid fields. Raises INVALID on the invalid field."""
    values: dict[str, Any] = dict(fields)
    for name in ("title", "slug", "firstday", "lastday"):
        if name in values:
            values[name] = values[name] or ""
    if values.get("slug"):
        alias_rules.check_slug(values["slug"], field="slug")
    for name in ("firstday", "lastday"):
        if values.get(name):
            _check_day(name, values[name])
    if "timezone" in values:
        values["timezone"] = _check_zone(values["timezone"] or "UTC")
    if values.get("expiry") is not None:
        values["expiry"] = clock.last_second(values["expiry"])
    return values


def _check_day(field: str, value: str) -> None:
    if clock.parse_day(value) is None:
        raise invalid(field, f"{field} must be a day, YYYY-MM-DD.")


def _check_zone(name: str) -> str:
    zone = clock.zone(name)
    if zone is None:
        raise invalid("timezone", "timezone must be the name of a time zone, such as Europe/Berlin or UTC.")
    return zone.key


def _check_span(values: Mapping[str, Any]) -> None:
    """Raise INVALID for days that exclude each other."""
    first, last = values.get("firstday", ""), values.get("lastday", "")
    if values.get("days") is not None and (first or last):
        raise invalid("days", "days cannot be combined with a first or last day.")
    if first and last and first > last:
        raise invalid("firstday", "firstday must not be after the last day.")
