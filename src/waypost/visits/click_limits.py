"""Click limits of links. A click is taken by one conditional statement, so a limit is exact on any number of nodes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, or_, select, update

from waypost.db import moved_items
from waypost.db.database import Database
from waypost.db.schema import links
from waypost.db.statements import DriverChange
from waypost.visits.batcher import Batcher


class LinkKey(NamedTuple):
    """The key of a link."""

    account: int
    id: int


_BELOW_LIMIT = or_(links.c.clicklimit.is_(None), links.c.taken < links.c.clicklimit)
_BY_KEY = (links.c.id == bindparam("link"), links.c.account == bindparam("of_account"))
_TAKE_CLICK = DriverChange(update(links).where(*_BY_KEY, _BELOW_LIMIT).values(taken=links.c.taken + 1))
_HAS_CLICKS_LEFT = select(links.c.id).where(*_BY_KEY, _BELOW_LIMIT)


def take_click(tx: Connection, account: int, link: int) -> bool:
    """Take a click from a link's click limit; False if none is left.

    `account` can be an earlier one, which a cache knew: that finds no row.
    """
    return _for_owner(tx, account, link, lambda of: _TAKE_CLICK.execute(tx, link=link, of_account=of).rowcount == 1)


def has_clicks_left(tx: Connection, account: int, link: int) -> bool:
    """Return whether a link is below its click limit; `account` as for `take_click`."""
    row = {"link": link}
    return _for_owner(
        tx, account, link, lambda of: bool(tx.execute(_HAS_CLICKS_LEFT, {**row, "of_account": of}).first())
    )


def _for_owner(tx: Connection, account: int, link: int, ask: Callable[[int], bool]) -> bool:
    """Return whether `ask` finds the link under this account, or else under its present one if it was moved."""
    if ask(account):
        return True
    owner = moved_items.owner(tx, "link", link)
    return owner not in (None, account) and ask(int(owner or 0))


class ClickTaker:
    """Takes the clicks of one turn of the event loop in one transaction; a single click by a single statement."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._batcher: Batcher[LinkKey, bool] = Batcher(self._take_all, thread_name="click limits")

    @property
    def is_overloaded(self) -> bool:
        """Return whether many clicks are waiting, or the database is slow."""
        return self._batcher.is_overloaded

    def submit(self, link: LinkKey, done: Callable[[bool | BaseException], None]) -> None:
        """Take a click. Call `done` with whether one was left, or with the exception that was raised."""
        self._batcher.submit(link, done)

    async def take(self, link: LinkKey) -> bool:
        """Take a click. Return whether one was left."""
        return await self._batcher.run(link)

    def close(self) -> None:
        """Stop the threads."""
        self._batcher.close()

    def _take_all(self, keys: Sequence[LinkKey]) -> list[bool]:
        if len(keys) == 1:
            key = keys[0]
            take = partial(take_click, account=key.account, link=key.id)
            return [self._database.write(take, durability="process", autocommit=True, once=True)]

        def work(tx: Connection) -> list[bool]:
            taken = [False] * len(keys)
            for index in sorted(range(len(keys)), key=keys.__getitem__):  # one order, so that no two nodes deadlock
                taken[index] = take_click(tx, *keys[index])
            return taken

        return self._database.write(work, durability="process")
