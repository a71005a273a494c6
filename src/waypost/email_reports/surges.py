"""Hours in which an account or a link has more than five times its usual clicks.

Usual is the mean of the same hour of the day (UTC) over the last four weeks, but at least 20 clicks, so that small
numbers never alarm. Items younger than a week have no usual number.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from sqlalchemy import ColumnElement, Connection, false, func, select

from waypost.core import clock
from waypost.db.database import Database
from waypost.db.schema import accounts, click_times, links
from waypost.db.statements import is_one_of
from waypost.email_reports import notices
from waypost.email_reports.notices import Item

FACTOR, MIN_USUAL = 5, 20
MIN_CLICKS = FACTOR * MIN_USUAL
_HOUR, _QUARTER, _DAY = 3600, 900, 86_400
_DELAY_SECONDS = 600
"""An hour is examined so long after its end, when its clicks are counted."""
_DAYS, _MIN_DAYS = 28, 7
_POSITION = "surges"
_c = click_times.c


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
    by_account = {}
    for account, registered, clicks in _busy_accounts(tx, hour):
        whole = _surges(tx, account, "account", {account: (clicks, registered)}, hour)
        items = [Item(None, each.content) for each in whole]
        items += _surges(tx, account, "link", _busy_links(tx, account, hour), hour)
        if items:
            by_account[account] = items
    return by_account


def _busy_accounts(tx: Connection, hour: int) -> Sequence[tuple[int, int, int]]:
    """Return accounts with enough clicks in the hour: id, time of registration, clicks."""
    a = accounts.c
    registered = {row[0]: row[1] for row in tx.execute(select(a.id, a.registered).where(a.suspended == false()))}
    clicks = _clicks(tx, "account", registered, hour, _c.account == _c.item)
    return [(account, registered[account], clicks[account]) for account in sorted(clicks)]


def _busy_links(tx: Connection, account: int, hour: int) -> Mapping[int, tuple[int, int]]:
    """Return links with enough clicks in the hour, and their time of creation (index links_account_clicks)."""
    n = links.c
    query = select(n.id, n.created).where(n.account == account, n.clicks >= MIN_CLICKS)
    created = {row[0]: row[1] for row in tx.execute(query)}
    clicks = _clicks(tx, "link", created, hour, _c.account == account)
    return {link: (clicks[link], created[link]) for link in clicks}


def _clicks(tx: Connection, kind: str, items: Iterable[int], hour: int, own: ColumnElement[bool]) -> Mapping[int, int]:
    """Return the clicks in the hour of items that have enough.

    It reads the rows of these items in this hour, not those of all times (primary key of click_times), as a join would.
    """
    clicks = func.sum(_c.clicks)
    in_hour = (_c.kind == kind, is_one_of(_c.item, items), own, _c.at >= hour, _c.at < hour + _HOUR)
    query = select(_c.item, clicks).where(*in_hour).group_by(_c.item).having(clicks >= MIN_CLICKS)
    return {row[0]: int(row[1]) for row in tx.execute(query)}


def _surges(tx: Connection, account: int, kind: str, busy: Mapping[int, tuple[int, int]], hour: int) -> Sequence[Item]:
    usual = _usual(tx, account, kind, busy, hour) if busy else {}
    surges = []
    for item, (clicks, created) in busy.items():
        days = min(_DAYS, (hour - created) // _DAY)
        mean = usual.get(item, 0) / days if days >= _MIN_DAYS else clicks
        if clicks > FACTOR * max(mean, MIN_USUAL):
            surges.append(Item(item, {"clicks": clicks, "usual": round(mean), "hour": hour}))
    return surges


def _usual(tx: Connection, account: int, kind: str, items: Iterable[int], hour: int) -> Mapping[int, int]:
    """Return the clicks in the same hour of all days before, by item (primary key of click_times)."""
    quarters = [hour - day * _DAY + part for day in range(1, _DAYS + 1) for part in range(0, _HOUR, _QUARTER)]
    own = (_c.kind == kind, is_one_of(_c.item, items), _c.account == account, _c.at.in_(quarters))
    query = select(_c.item, func.sum(_c.clicks)).where(*own).group_by(_c.item)
    return {row[0]: int(row[1]) for row in tx.execute(query)}
