"""Use of the installation by accounts, for the list of accounts: links, storage and last activity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from waypost.db import page_counters
from waypost.db.schema import accounts, api_keys, links, plans, sessions


@dataclass(frozen=True)
class AccountUse:
    """`stored` bytes of `storage_limit` (None: unlimited).

    `last_active` is the last use of a session or API key that still exists, in seconds; None if there is none.
    """

    links: int
    stored: int
    storage_limit: int | None
    last_active: int | None

    @property
    def storage_percent(self) -> str:
        """The share of the limit that is used, such as `24` or `< 1`; "" without a limit."""
        if not self.storage_limit:
            return ""
        percent = round(100 * self.stored / self.storage_limit)
        return "< 1" if self.stored and not percent else str(percent)


def of(tx: Connection, ids: Sequence[int]) -> Mapping[int, AccountUse]:
    """Return the use of each account."""
    counts = page_counters.totals(tx, ids, links.name)
    query = select(accounts.c.id, accounts.c.stored, plans.c.storage_limit).join(plans, plans.c.id == accounts.c.plan)
    active = _last_active(tx, ids)
    return {
        account: AccountUse(counts.get(account, 0), stored, limit, active.get(account))
        for account, stored, limit in tx.execute(query.where(accounts.c.id.in_(ids)))
    }


def _last_active(tx: Connection, ids: Sequence[int]) -> Mapping[int, int]:
    newest: dict[int, int] = {}
    for table, column in ((sessions, sessions.c.seen), (api_keys, api_keys.c.last_used)):
        query = select(table.c.account, func.max(column)).where(table.c.account.in_(ids)).group_by(table.c.account)
        for account, second in tx.execute(query):
            newest[account] = max(newest.get(account, 0), second or 0)
    return {account: second for account, second in newest.items() if second}
