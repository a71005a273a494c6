"""Downloads that are counted, and going on with one: single conditional statements, so exact (decisions 21 and 22)."""

from dataclasses import dataclass

from sqlalchemy import Connection, case, insert, or_, select, update

from waypost.db.schema import claims, files

DAY = 86_400


@dataclass(frozen=True)
class DownloadGrant:
    """The right to bytes of a file. `taken`: a limit was lowered for it now."""

    id: int
    taken: bool = False


def take(tx: Connection, account: int, file: int, visitor: bytes, *, served: int, now: int) -> DownloadGrant | None:
    """Take one download, if the file has one left; `served` bytes are about to be sent."""
    c = files.c
    there = (c.id == file, c.account == account, c.purged.is_(None), or_(c.expiry.is_(None), c.expiry >= now))
    last = case((c.taken + 1 >= c.maxdownloads, now), else_=c.ended)
    limited = update(files).where(*there, c.taken < c.maxdownloads).values(taken=c.taken + 1, ended=last)
    taken = tx.execute(limited).rowcount == 1
    endless = select(c.id).where(*there, c.maxdownloads.is_(None)).with_for_update(key_share=True)
    if not taken and tx.execute(endless).first() is None:
        return None
    row = {"account": account, "file": file, "visitor": visitor, "served": served, "until": now + DAY}
    return DownloadGrant(int(tx.execute(insert(claims).values(row).returning(claims.c.id)).scalar_one()), taken)


def resume(
    tx: Connection, account: int, file: int, visitor: bytes, *, served: int, most: int, now: int
) -> DownloadGrant | None:
    """Go on with a download of the same visitor: one of the last day, with `served` of its `most` bytes left."""
    c = claims.c
    mine, has_left = c.account == account, c.served + served <= most
    alive = select(c.id).where(mine, c.file == file, c.visitor == visitor, c.until >= now, has_left)
    newest = alive.order_by(c.id.desc()).limit(1).scalar_subquery()
    used = update(claims).where(mine, c.id == newest, has_left).values(served=c.served + served)
    row = tx.execute(used.returning(c.id)).first()
    return DownloadGrant(row.id) if row else None


def serve(tx: Connection, account: int, claim: int, *, served: int, most: int) -> bool:
    """Take `served` bytes more from what the claim has left; whether it had them.

    A claim that is gone, since the file was deleted, lets what has begun come to its end.
    """
    c = claims.c
    it = (c.id == claim, c.account == account)
    used = update(claims).where(*it, c.served + served <= most).values(served=c.served + served)
    return tx.execute(used).rowcount == 1 or tx.execute(select(c.id).where(*it)).first() is None


def give_back(tx: Connection, account: int, claim: int, *, unsent: int) -> None:
    """Bytes that were taken and not sent."""
    it = (claims.c.id == claim, claims.c.account == account)
    tx.execute(update(claims).where(*it).values(served=claims.c.served - unsent))


def left(tx: Connection, account: int, file: int) -> int | None:
    """How many downloads a file has left; None when it has no limit. 0 for one that is not there any more."""
    c = files.c
    row = tx.execute(select(c.maxdownloads, c.taken).where(c.id == file, c.account == account)).first()
    if row is None:
        return 0
    return None if row.maxdownloads is None else max(0, row.maxdownloads - row.taken)
