"""Count and resume downloads by single conditional statements, so that limits are exact (decisions 21, 22)."""

from dataclasses import dataclass

from sqlalchemy import BigInteger, Connection, bindparam, case, insert, select, update

from waypost.db.driver_statements import DriverSelect
from waypost.db.schema import download_grants, files

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
_UNLIMITED = select(_f.id).where(_IS_AVAILABLE, _f.maxdownloads.is_(None)).with_for_update(key_share=True)
_INSERT = insert(download_grants).returning(_g.id)
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


def take(tx: Connection, account: int, file: int, visitor: bytes, *, served: int, now: int) -> DownloadGrant | None:
    """Take one download; None if none is left. `served` bytes are about to be sent."""
    parameters = {"file": file, "of_account": account, "now": now}
    taken = tx.execute(_TAKE, parameters).rowcount == 1
    if not taken and tx.execute(_UNLIMITED, parameters).first() is None:
        return None
    values = {"account": account, "file": file, "visitor": visitor, "served": served, "expires": now + DAY}
    return DownloadGrant(int(tx.execute(_INSERT, values).scalar_one()), taken)


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
