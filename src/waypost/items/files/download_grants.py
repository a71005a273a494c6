"""Count, resume and retry downloads by single statements, so that limits are exact (decisions 21, 22 and 68)."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    LargeBinary,
    Select,
    bindparam,
    case,
    exists,
    insert,
    select,
    update,
)

from waypost.db.schema import download_grants, files
from waypost.db.statements import DriverChange, DriverSelect
from waypost.visits.record_queries import FileView

DAY = 86_400
_RETRY_SECONDS = 600
_FRESH_SECONDS = 10  # after which a client that asks again at once has been noticed
_LITTLE_BYTES = 64 * 1024
_LITTLE_SHARE = 100


@dataclass(frozen=True)
class Visitor:
    """A visitor of a file: the stored hashes of its cookie or address, and a new cookie for a browser that has none."""

    hashed: bytes
    address: bytes | None
    """None if it is not known."""
    new_token: str = ""


@dataclass(frozen=True)
class DownloadGrant:
    """The right to download a file's bytes. `taken`: it was taken from the file's download limit.

    `is_retry`: it was taken before, and is used again.
    """

    id: int
    taken: bool = False
    is_retry: bool = False


@dataclass(frozen=True)
class DownloadEnd:
    """The end of a response: bytes that were not sent, those that the client may not have read, and those that it has.

    `is_broken`: the client closed the connection before it had taken all.
    """

    unsent: int
    unread: int
    delivered: int
    is_broken: bool


_f, _g = files.c, download_grants.c
_FILE = (_f.id == bindparam("file")) & (_f.account == bindparam("of_account"))
_NOW = bindparam("now", type_=BigInteger)
_SERVED = bindparam("more", type_=BigInteger)
_MAX_BYTES = bindparam("max_bytes", type_=BigInteger)
_IS_AVAILABLE = _FILE & _f.purged.is_(None) & (_f.expiry.is_(None) | (_f.expiry >= _NOW))
_GRANT_VALUES = {
    "account": bindparam("of_account", type_=BigInteger),
    "file": bindparam("file", type_=BigInteger),
    "visitor": bindparam("visitor", type_=LargeBinary),
    "address": bindparam("address", type_=LargeBinary),
    "served": _SERVED,
    "expires": bindparam("expires", type_=BigInteger),
}


_COLUMNS: list[Any] = list(_GRANT_VALUES.values())
_VALUES = select(*_COLUMNS)
_GRANT_TAKEN = DriverChange(insert(download_grants).values(_GRANT_VALUES).returning(_g.id))


class _Take:
    """The statements that take a download of a file which meets a condition."""

    def __init__(self, condition: ColumnElement[bool]) -> None:
        """Build them."""
        taken = (
            update(files)
            .where(condition, _f.taken < _f.maxdownloads)
            .values(taken=_f.taken + 1, ended=case((_f.taken + 1 >= _f.maxdownloads, _NOW), else_=_f.ended))
        )
        self._unlimited = _grant_for_each(_VALUES.where(condition, _f.maxdownloads.is_(None)))
        self._limited = _grant_for_each(_VALUES.select_from(taken.returning(_f.id).cte("taken")))
        self._take_limited = DriverChange(taken)

    def execute(self, tx: Connection, parameters: dict[str, Any], *, limited: bool) -> int | None:
        """Return the id of the new grant, if the file has a limit or has none, as `limited` says."""
        statement = self._limited if limited else self._unlimited
        if limited and tx.dialect.name == "sqlite":  # it cannot change two tables by one statement
            if self._take_limited.execute(tx, **parameters).rowcount == 0:
                return None
            statement = _GRANT_TAKEN
        rows = statement.execute(tx, **parameters).fetchall()
        return int(rows[0][0]) if rows else None


def _grant_for_each(rows: Select[Any]) -> DriverChange:
    return DriverChange(insert(download_grants).from_select(list(_GRANT_VALUES), rows).returning(_g.id))


_GRANT = (_g.id == bindparam("grant")) & (_g.account == bindparam("of_account"))
_HAS_LEFT = _g.served + _SERVED <= _MAX_BYTES
_HAS_BEGUN = (
    select(_g.id)
    .where(_g.account == bindparam("of_account"), _g.file == bindparam("of_file"))
    .where(_g.visitor == bindparam("of_visitor"), _g.expires >= _NOW)
    .limit(1)
)
_NEWEST = _HAS_BEGUN.where(_HAS_LEFT).order_by(_g.id.desc()).scalar_subquery()
_RESUME = (
    update(download_grants)
    .where(_g.account == bindparam("of_account"), _g.id == _NEWEST, _HAS_LEFT)
    .values(served=_g.served + _SERVED)
    .returning(_g.id)
)
_OF_VISITOR = (
    (_g.account == bindparam("of_account"))
    & (_g.file == bindparam("of_file"))
    & ((_g.visitor == bindparam("of_visitor")) | (_g.address == bindparam("of_address", type_=LargeBinary)))
)
_BROKEN = _g.retry_until >= _NOW
_NEWEST_BROKEN = select(_g.id).where(_OF_VISITOR, _BROKEN, _HAS_LEFT).order_by(_g.id.desc()).limit(1).scalar_subquery()
_RETRY = (
    update(download_grants)
    .where(_g.account == bindparam("of_account"), _g.id == _NEWEST_BROKEN, _BROKEN, _HAS_LEFT)
    .values(served=_g.served + _SERVED, retry_until=None)
    .returning(_g.id)
)
_TAKE = _Take(_IS_AVAILABLE)
_OF_FILE = (_g.account == bindparam("of_account")) & (_g.file == bindparam("file"))
_TAKE_UNLESS_BROKEN = _Take(_IS_AVAILABLE & ~exists().where(_OF_FILE, _BROKEN))
_IS_BROKEN = select(_g.id).where(_OF_VISITOR, _BROKEN).limit(1)
_IS_FRESH = select(_g.id).where(_OF_VISITOR, _g.expires >= bindparam("fresh", type_=BigInteger)).limit(1)
_SERVE = update(download_grants).where(_GRANT, _HAS_LEFT).values(served=_g.served + _SERVED)
_LIMIT = DriverSelect(select(_f.maxdownloads, _f.taken).where(_FILE))
_HAS_LIMIT_LEFT = _f.maxdownloads.is_(None) | (_f.taken < _f.maxdownloads)
_CAN_RESUME = exists().where(_OF_FILE, _g.visitor == bindparam("of_visitor"), _g.expires >= _NOW)
_CAN_RETRY = exists().where(_OF_FILE, _BROKEN)
_AVAILABLE = select(_f.id).where(
    _IS_AVAILABLE, _HAS_LIMIT_LEFT | _CAN_RESUME | _CAN_RETRY, _f.object == bindparam("object")
)
_EXISTS = select(_g.id).where(_GRANT)
_SENT = _g.served - bindparam("unsent", type_=BigInteger)
_UNREAD = _g.unread + bindparam("unread", type_=BigInteger)
_FINISH = (
    update(download_grants)
    .where(_GRANT)
    .values(
        served=_SENT,
        unread=_UNREAD,
        retry_until=case(
            (bindparam("complete", type_=BigInteger) <= _SENT - _UNREAD, None),
            (bindparam("less_than", type_=BigInteger) > _SENT - _UNREAD, bindparam("until", type_=BigInteger)),
            else_=_g.retry_until,
        ),
    )
)


def take(tx: Connection, file: FileView, visitor: Visitor, *, served: int, now: int) -> DownloadGrant | None:
    """Take one download; None if none is left. `served` bytes are about to be sent.

    Executes one statement, or two on SQLite, unless the file got a limit or lost it since it was read. PostgreSQL may
    be in autocommit mode.
    """
    parameters = _take_parameters(file, visitor, served, now)
    is_limited = file.maxdownloads is not None
    for limited in (is_limited, not is_limited):
        grant = _TAKE.execute(tx, parameters, limited=limited)
        if grant is not None:
            return DownloadGrant(grant, taken=limited)
    return None


def retry_or_take(tx: Connection, file: FileView, visitor: Visitor, *, served: int, now: int) -> DownloadGrant | None:
    """Start a broken download of the visitor again, else take a new one.

    While no visitor can start a download of the file again, this executes the statement of `take` only.
    """
    limited = file.maxdownloads is not None
    parameters = _take_parameters(file, visitor, served, now)
    grant = _TAKE_UNLESS_BROKEN.execute(tx, parameters, limited=limited)
    if grant is not None:
        return DownloadGrant(grant, taken=limited)
    used = retry(tx, file, visitor, served=served, now=now)
    return used or take(tx, file, visitor, served=served, now=now)


def _take_parameters(file: FileView, visitor: Visitor, served: int, now: int) -> dict[str, Any]:
    key = {"of_account": file.account, "file": file.id, "visitor": visitor.hashed, "address": visitor.address}
    return {**key, "more": served, "now": now, "expires": now + DAY}


def resume(tx: Connection, file: FileView, visitor: Visitor, *, served: int, now: int) -> DownloadGrant | None:
    """Resume the visitor's newest download of the last day that can serve `served` more of its bytes."""
    key = {"of_account": file.account, "of_file": file.id, "of_visitor": visitor.hashed}
    row = tx.execute(_RESUME, {**key, "more": served, "max_bytes": max_bytes(file.size), "now": now}).first()
    return DownloadGrant(row.id, is_retry=True) if row else None


def has_begun(tx: Connection, file: FileView, visitor: Visitor, now: int) -> bool:
    """Return whether the visitor has a download of the last day, with or without bytes left."""
    key = {"of_account": file.account, "of_file": file.id, "of_visitor": visitor.hashed}
    return tx.execute(_HAS_BEGUN, {**key, "now": now}).first() is not None


def retry(tx: Connection, file: FileView, visitor: Visitor, *, served: int, now: int) -> DownloadGrant | None:
    """Start the newest download again that brought next to nothing to the visitor, or to its address (decision 68)."""
    key = _visitor_key(file, visitor)
    row = tx.execute(_RETRY, {**key, "more": served, "max_bytes": max_bytes(file.size), "now": now}).first()
    return DownloadGrant(row.id, is_retry=True) if row else None


def is_broken(tx: Connection, file: FileView, visitor: Visitor, now: int) -> bool | None:
    """Return whether the visitor can start a download again; None if one began just now, so that it is not known."""
    key = _visitor_key(file, visitor)
    if tx.execute(_IS_BROKEN, {**key, "now": now}).first():
        return True
    return None if tx.execute(_IS_FRESH, {**key, "fresh": now + DAY - _FRESH_SECONDS}).first() else False


def little(size: int) -> int:
    """Return from how many bytes on a download of a file has brought more than next to nothing."""
    return max(_LITTLE_BYTES, -(-size // _LITTLE_SHARE))


def max_bytes(size: int) -> int:
    """Return how many bytes of a file one download can serve in total."""
    return 2 * size


def is_available(tx: Connection, file: FileView, visitor: Visitor, now: int) -> bool:
    """Return whether the file still has these bytes, and a download that the visitor may take, resume or retry."""
    key = {"file": file.id, "of_account": file.account, "of_visitor": visitor.hashed}
    parameters = {**key, "object": file.object, "now": now}
    return tx.execute(_AVAILABLE, parameters).first() is not None


def serve(tx: Connection, file: FileView, grant: int, *, served: int) -> bool:
    """Return whether the grant allows `served` more bytes, which are then taken from it.

    If the grant is gone because the file was deleted, a download in progress may finish.
    """
    key = {"grant": grant, "of_account": file.account}
    parameters = {**key, "more": served, "max_bytes": max_bytes(file.size)}
    return tx.execute(_SERVE, parameters).rowcount == 1 or tx.execute(_EXISTS, key).first() is None


def finish(tx: Connection, file: FileView, grant: DownloadGrant, end: DownloadEnd, now: int) -> None:
    """Return bytes that were taken but not sent. Let the download be started again if it brought next to nothing."""
    # A range that was sent as a whole is little only if more of the file is left.
    less_than = little(file.size) if end.is_broken else min(little(file.size), file.size)
    if not grant.is_retry and end.delivered < less_than:
        # A program has probed the file, and fetches its parts at the same time: they do not count here.
        less_than = max_bytes(file.size) + 1
    # Once a resumed part has completed the file, it is no longer next to nothing.
    complete = file.size if grant.is_retry and not end.is_broken else max_bytes(file.size) + 1
    values = {"unsent": end.unsent, "unread": end.unread, "less_than": less_than, "complete": complete}
    values["until"] = now + _RETRY_SECONDS
    tx.execute(_FINISH, {"grant": grant.id, "of_account": file.account, **values})


def downloads_left(tx: Connection, account: int, file: int) -> int | None:
    """Return how many downloads a file has left: None without a limit, 0 for a deleted file."""
    rows = _LIMIT.fetch_all(tx, file=file, of_account=account)
    if not rows:
        return 0
    maxdownloads, taken = rows[0]
    return None if maxdownloads is None else max(0, maxdownloads - taken)


def _visitor_key(file: FileView, visitor: Visitor) -> dict[str, Any]:
    key = {"of_account": file.account, "of_file": file.id}
    return {**key, "of_visitor": visitor.hashed, "of_address": visitor.address}
