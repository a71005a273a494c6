"""The use of the installation by its accounts: links, storage, last activity and scheduled deletion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from waypost.db import page_counters
from waypost.db.schema import accounts, api_keys, audit, links, plans, sessions

_BATCH = 500


@dataclass(frozen=True)
class AccountUse:
    """`stored` bytes of `storage_limit` (None: unlimited).

    `last_active` is the last sign-in, or the last use of a session or API key that still exists, in seconds; None if
    there is none. `deletion_due` is the time of a scheduled deletion.
    """

    links: int
    stored: int
    storage_limit: int | None
    last_active: int | None
    deletion_due: int | None

    @property
    def storage_percent(self) -> float | None:
        """The share of the limit that is used, in percent; None without a limit."""
        return 100 * self.stored / self.storage_limit if self.storage_limit else None


def of(tx: Connection, ids: Sequence[int]) -> Mapping[int, AccountUse]:
    """Return the use of each account."""
    use: dict[int, AccountUse] = {}
    for start in range(0, len(ids), _BATCH):
        use |= _of_batch(tx, ids[start : start + _BATCH])
    return use


def _of_batch(tx: Connection, ids: Sequence[int]) -> Mapping[int, AccountUse]:
    counts = page_counters.totals(tx, ids, links.name)
    columns = (accounts.c.id, accounts.c.stored, accounts.c.deletion_due, plans.c.storage_limit)
    query = select(*columns).join(plans, plans.c.id == accounts.c.plan).where(accounts.c.id.in_(ids))
    active = _last_active(tx, ids)
    return {
        account: AccountUse(counts.get(account, 0), stored, limit, active.get(account), due)
        for account, stored, due, limit in tx.execute(query)
    }


def _last_active(tx: Connection, ids: Sequence[int]) -> Mapping[int, int]:
    queries = [
        select(table.c.account, func.max(column)).where(table.c.account.in_(ids)).group_by(table.c.account)
        for table, column in ((sessions, sessions.c.seen), (api_keys, api_keys.c.last_used))
    ]
    is_sign_in = (audit.c.kind == "session", audit.c.item.is_(None), audit.c.name == "session.started")
    newest_first = select(audit.c.at).where(audit.c.account == accounts.c.id, *is_sign_in).order_by(audit.c.id.desc())
    sign_in = newest_first.limit(1).correlate(accounts).scalar_subquery()
    newest: dict[int, int] = {}
    for query in (*queries, select(accounts.c.id, sign_in).where(accounts.c.id.in_(ids))):
        for account, second in tx.execute(query):
            newest[account] = max(newest.get(account, 0), second or 0)
    return {account: second for account, second in newest.items() if second}
