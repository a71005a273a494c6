"""Count and resume downloads by single conditional statements, so that limits are exact (decisions 21, 22)."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Connection, LargeBinary, Select, bindparam, case, insert, select, update

from waypost.db.driver_statements import DriverChange, DriverSelect
from waypost.db.schema import download_grants, files
from waypost.visits.lookup import FileView

DAY = 86_400


@dataclass(frozen=True)
class DownloadGrant:
    """The right to download a file's bytes. `taken`: it was taken from the file's download limit."""

    id: int
    taken: bool = False


_f, _g = files.c, download_grants.c
_FILE = (_f.id == bindparam("file")) & (_f.account == bindparam("of_account"))
_NOW = bindparam("now", type_=BigInteger)
_SERVED = bindparam("more", type_=BigInteger)
_MAX_BYTES = bindparam("max_bytes", type_=BigInteger)
_IS_AVAILABLE = _FILE & _f.purged.is_(None) & (_f.expiry.is_(None) | (_f.expiry >= _NOW))
_TAKE = (
    update(files)
    .where(_IS_AVAILABLE, _f.taken < _f.maxdownloads)
    .values(taken=_f.taken + 1, ended=case((_f.taken + 1 >= _f.maxdownloads, _NOW), else_=_f.ended))
)
_GRANT_VALUES = {
    "account": bindparam("of_account", type_=BigInteger),
    "file": bindparam("file", type_=BigInteger),
    "visitor": bindparam("visitor", type_=LargeBinary),
    "served": _SERVED,
    "expires": bindparam("expires", type_=BigInteger),
}


def _grant_for_each(rows: Select[Any]) -> DriverChange:
    return DriverChange(insert(download_grants).from_select(list(_GRANT_VALUES), rows).returning(_g.id))


_COLUMNS: list[Any] = list(_GRANT_VALUES.values())
_VALUES = select(*_COLUMNS)
_GRANT_UNLIMITED = _grant_for_each(_VALUES.where(_IS_AVAILABLE, _f.maxdownloads.is_(None)))
_GRANT_LIMITED = _grant_for_each(_VALUES.select_from(_TAKE.returning(_f.id).cte("taken")))
"""Not for SQLite, which cannot change two tables by one statement."""
_TAKE_LIMITED = DriverChange(_TAKE)
_GRANT_TAKEN = DriverChange(insert(download_grants).values(_GRANT_VALUES).returning(_g.id))
_GRANT = (_g.id == bindparam("grant")) & (_g.account == bindparam("of_account"))
_HAS_LEFT = _g.served + _SERVED <= _MAX_BYTES
_NEWEST = (
    select(_g.id)
    .where(_g.account == bindparam("of_account"), _g.file == bindparam("of_file"))
    .where(_g.visitor == bindparam("of_visitor"), _g.expires >= _NOW, _HAS_LEFT)
    .order_by(_g.id.desc())
    .limit(1)
    .scalar_subquery()
)
_RESUME = (
    update(download_grants)
    .where(_g.account == bindparam("of_account"), _g.id == _NEWEST, _HAS_LEFT)
    .values(served=_g.served + _SERVED)
    .returning(_g.id)
)
_SERVE = update(download_grants).where(_GRANT, _HAS_LEFT).values(served=_g.served + _SERVED)
_LIMIT = DriverSelect(select(_f.maxdownloads, _f.taken).where(_FILE))
_EXISTS = select(_g.id).where(_GRANT)
_GIVE_BACK = update(download_grants).where(_GRANT).values(served=_g.served - bindparam("unsent", type_=BigInteger))


def take(tx: Connection, file: FileView, visitor: bytes, *, served: int, now: int) -> DownloadGrant | None:
    """Take one download; None if none is left. `served` bytes are about to be sent.

    Executes one statement, or two on SQLite, unless the file got a limit or lost it since it was read. PostgreSQL may
    be in autocommit mode.
    """
    key = {"of_account": file.account, "file": file.id, "visitor": visitor}
    parameters = {**key, "more": served, "now": now, "expires": now + DAY}
    is_limited = file.maxdownloads is not None
    for limited in (is_limited, not is_limited):
        grant = _take(tx, parameters, limited=limited)
        if grant is not None:
            return DownloadGrant(grant, taken=limited)
    return None


def _take(tx: Connection, parameters: dict[str, Any], *, limited: bool) -> int | None:
    """Return the id of the new grant, if the file has a limit or has none, as `limited` says."""
    statement = _GRANT_LIMITED if limited else _GRANT_UNLIMITED
    if limited and tx.dialect.name == "sqlite":
        if _TAKE_LIMITED.execute(tx, **parameters).rowcount == 0:
            return None
        statement = _GRANT_TAKEN
    rows = statement.execute(tx, **parameters).fetchall()
    return int(rows[0][0]) if rows else None


def resume(
    tx: Connection, account: int, file: int, visitor: bytes, *, served: int, max_bytes: int, now: int
) -> DownloadGrant | None:
    """Resume the visitor's newest download of the last day that can serve `served` more of its `max_bytes` bytes."""
    visitor_file = {"of_account": account, "of_file": file, "of_visitor": visitor}
    row = tx.execute(_RESUME, {**visitor_file, "more": served, "max_bytes": max_bytes, "now": now}).first()
    return DownloadGrant(row.id) if row else None


def serve(tx: Connection, account: int, grant: int, *, served: int, max_bytes: int) -> bool:
    """Return whether the grant allows `served` more bytes, which are then taken from it.

    If the grant is gone because the file was deleted, a download in progress may finish.
    """
    key = {"grant": grant, "of_account": account}
    parameters = {**key, "more": served, "max_bytes": max_bytes}
    return tx.execute(_SERVE, parameters).rowcount == 1 or tx.execute(_EXISTS, key).first() is None


def give_back(tx: Connection, account: int, grant: int, *, unsent: int) -> None:
    """Return bytes that were taken but not sent."""
    tx.execute(_GIVE_BACK, {"grant": grant, "of_account": account, "unsent": unsent})


def downloads_left(tx: Connection, account: int, file: int) -> int | None:
    """Return how many downloads a file has left: None without a limit, 0 for a deleted file."""
    rows = _LIMIT.fetch_all(tx, file=file, of_account=account)
    if not rows:
        return 0
    maxdownloads, taken = rows[0]
    return None if maxdownloads is None else max(0, maxdownloads - taken)
