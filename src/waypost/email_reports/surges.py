"""Hours in which an account or a link has more than five times its usual clicks.

Usual is the mean of the same hour of the day (UTC) over the last four weeks, but at least 20 clicks, so that small
numbers never alarm. Items younger than a week have no usual number.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from sqlalchemy import ColumnElement, Connection, false, func, select, union_all

from waypost.core import clock
from waypost.db.database import Database
from waypost.db.schema import accounts, click_times, links
from waypost.db.statements import is_one_of
from waypost.email_reports import notices
from waypost.email_reports.notices import Item

FACTOR, MIN_USUAL = 5, 20
MIN_CLICKS = FACTOR * MIN_USUAL
_HOUR, _DAY = 3600, 86_400
_DELAY_SECONDS = 600
"""An hour is examined so long after its end, when its clicks are counted."""
_DAYS, _MIN_DAYS = 28, 7
_POSITION = "surges"
_BATCH = 500
"""Accounts that share statements: most of the time of a statement does not depend on their number."""
_c = click_times.c
_Key = tuple[int, int]
"""An account, and one of its items: the account itself or a link."""
_Busy = Mapping[_Key, tuple[int, int]]
"""Of items with enough clicks in the hour: their clicks, and the time of their creation."""


def step(database: Database) -> None:
    """Examine the last full hour, unless another process has done so."""
    hour = (clock.now() - _DELAY_SECONDS) // _HOUR * _HOUR - _HOUR
    if database.read(partial(notices.is_behind_at, name=_POSITION, to=hour), autocommit=True):
        by_account = database.read(partial(find, hour=hour))
        database.write(partial(_store, hour=hour, by_account=by_account))


def _store(tx: Connection, hour: int, by_account: Mapping[int, Sequence[Item]]) -> None:
    if notices.advance(tx, _POSITION, hour):
        for account, items in by_account.items():
            notices.add(tx, account, "surge", items)


def find(tx: Connection, hour: int) -> Mapping[int, Sequence[Item]]:
    """Return the items with many clicks in the hour that begins then, by account; the account itself comes first."""
    by_account: defaultdict[int, list[Item]] = defaultdict(list)
    busy = _busy_accounts(tx, hour)
    owners = sorted(account for account, _ in busy)
    for first in range(0, len(owners), _BATCH):
        batch = owners[first : first + _BATCH]
        for account, whole in _surges(tx, "account", {(each, each): busy[each, each] for each in batch}, hour):
            by_account[account].append(Item(None, whole.content))
        for account, link in _surges(tx, "link", _busy_links(tx, batch, hour), hour):
            by_account[account].append(link)
    return dict(by_account)


def _busy_accounts(tx: Connection, hour: int) -> _Busy:
    """Return the accounts with enough clicks in the hour."""
    a = accounts.c
    rows = tx.execute(select(a.id, a.registered).where(a.suspended == false()))
    return _busy(tx, "account", {(row.id, row.id): row.registered for row in rows}, hour)


def _busy_links(tx: Connection, owners: Sequence[int], hour: int) -> _Busy:
    """Return the links of these accounts with enough clicks in the hour (index links_account_clicks)."""
    n = links.c
    rows = tx.execute(select(n.account, n.id, n.created).where(is_one_of(n.account, owners), n.clicks >= MIN_CLICKS))
    return _busy(tx, "link", {(row.account, row.id): row.created for row in rows}, hour)


def _busy(tx: Connection, kind: str, created: Mapping[_Key, int], hour: int) -> _Busy:
    clicks = func.sum(_c.clicks)
    query = select(_c.account, _c.item, clicks).where(*_in_hour(kind, _one_of_items(created), hour))
    rows = tx.execute(query.group_by(_c.account, _c.item).having(clicks >= MIN_CLICKS)) if created else ()
    # Clicks of a link that was moved can be those of another account.
    return {(own, item): (int(n), created[own, item]) for own, item, n in rows if (own, item) in created}


def _one_of_items(keys: Iterable[_Key]) -> ColumnElement[bool]:
    return is_one_of(_c.item, {item for _, item in keys})


def _in_hour(kind: str, is_item: ColumnElement[bool], hour: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for the rows of items in an hour.

    They read these rows only, not those of all times (primary key of click_times), as a join would.
    """
    return _c.kind == kind, is_item, _c.at >= hour, _c.at < hour + _HOUR


def _surges(tx: Connection, kind: str, busy: _Busy, hour: int) -> Sequence[tuple[int, Item]]:
    """Return the account and the item of each surge, in the order of their ids."""
    known = {key: values for key, values in busy.items() if (hour - values[1]) // _DAY >= _MIN_DAYS}
    usual = _usual(tx, kind, known, hour) if known else {}
    surges = []
    for (account, item), (clicks, created) in sorted(known.items()):
        mean = usual.get((account, item), 0) / min(_DAYS, (hour - created) // _DAY)
        if clicks > FACTOR * max(mean, MIN_USUAL):
            surges.append((account, Item(item, {"clicks": clicks, "usual": round(mean), "hour": hour})))
    return surges


def _usual(tx: Connection, kind: str, keys: Iterable[_Key], hour: int) -> Mapping[_Key, int]:
    """Return the clicks in the same hour of all days before, by item."""
    is_item = _one_of_items(keys)
    days = [_in_hour(kind, is_item, hour - day * _DAY) for day in range(1, _DAYS + 1)]
    each = union_all(*(select(_c.account, _c.item, _c.clicks).where(*day) for day in days)).subquery().c
    query = select(each.account, each.item, func.sum(each.clicks)).group_by(each.account, each.item)
    return {(row[0], row[1]): int(row[2]) for row in tx.execute(query)}
