"""Count and resume downloads by single conditional statements, so that limits are exact (decisions 21, 22)."""

from dataclasses import dataclass

from sqlalchemy import Connection, case, insert, or_, select, update

from waypost.db.schema import download_grants, files

DAY = 86_400


@dataclass(frozen=True)
class DownloadGrant:
    """The right to download a file's bytes. `taken`: it was taken from the file's download limit."""

    id: int
    taken: bool = False


def take(tx: Connection, account: int, file: int, visitor: bytes, *, served: int, now: int) -> DownloadGrant | None:
    """Take one download; None if none is left. `served` bytes are about to be sent."""
    c = files.c
    is_available = (c.id == file, c.account == account, c.purged.is_(None), or_(c.expiry.is_(None), c.expiry >= now))
    ended = case((c.taken + 1 >= c.maxdownloads, now), else_=c.ended)
    limited = update(files).where(*is_available, c.taken < c.maxdownloads).values(taken=c.taken + 1, ended=ended)
    taken = tx.execute(limited).rowcount == 1
    unlimited = select(c.id).where(*is_available, c.maxdownloads.is_(None)).with_for_update(key_share=True)
    if not taken and tx.execute(unlimited).first() is None:
        return None
    values = {"account": account, "file": file, "visitor": visitor, "served": served, "expires": now + DAY}
    new_id = tx.execute(insert(download_grants).values(values).returning(download_grants.c.id)).scalar_one()
    return DownloadGrant(int(new_id), taken)


def resume(
    tx: Connection, account: int, file: int, visitor: bytes, *, served: int, max_bytes: int, now: int
) -> DownloadGrant | None:
    """Resume the visitor's newest download of the last day that can serve `served` more of its `max_bytes` bytes."""
    c = download_grants.c
    owned_by, has_left = c.account == account, c.served + served <= max_bytes
    valid = select(c.id).where(owned_by, c.file == file, c.visitor == visitor, c.expires >= now, has_left)
    newest = valid.order_by(c.id.desc()).limit(1).scalar_subquery()
    stmt = update(download_grants).where(owned_by, c.id == newest, has_left).values(served=c.served + served)
    row = tx.execute(stmt.returning(c.id)).first()
    return DownloadGrant(row.id) if row else None


def serve(tx: Connection, account: int, grant: int, *, served: int, max_bytes: int) -> bool:
    """Return whether the grant allows `served` more bytes, which are then taken from it.

    If the grant is gone because the file was deleted, a download in progress may finish.
    """
    c = download_grants.c
    by_key = (c.id == grant, c.account == account)
    stmt = update(download_grants).where(*by_key, c.served + served <= max_bytes).values(served=c.served + served)
    return tx.execute(stmt).rowcount == 1 or tx.execute(select(c.id).where(*by_key)).first() is None


def give_back(tx: Connection, account: int, grant: int, *, unsent: int) -> None:
    """Return bytes that were taken but not sent."""
    c = download_grants.c
    by_key = (c.id == grant, c.account == account)
    tx.execute(update(download_grants).where(*by_key).values(served=c.served - unsent))


def downloads_left(tx: Connection, account: int, file: int) -> int | None:
    """Return how many downloads a file has left: None without a limit, 0 for a deleted file."""
    c = files.c
    row = tx.execute(select(c.maxdownloads, c.taken).where(c.id == file, c.account == account)).first()
    if row is None:
        return 0
    return None if row.maxdownloads is None else max(0, row.maxdownloads - row.taken)
