"""Downloads that are counted, and going on with one: single conditional statements, so exact (decisions 21 and 22)."""

from dataclasses import dataclass

from sqlalchemy import Connection, case, insert, or_, select, update

from waypost.schema import claims, files

DAY = 86_400


@dataclass(frozen=True)
class Claim:
    """The right to bytes of a file. `taken`: a limit was lowered for it now."""

    id: int
    taken: bool = False


def take(tx: Connection, file: int, visitor: bytes, *, served: int, now: int) -> Claim | None:
    """Take one download, if the file has one left; `served` bytes are about to be sent."""
    c = files.c
    there = (c.id == file, c.purged.is_(None), or_(c.expiry.is_(None), c.expiry >= now))
    last = case((c.taken + 1 >= c.maxdownloads, now), else_=c.ended)
    limited = update(files).where(*there, c.taken < c.maxdownloads).values(taken=c.taken + 1, ended=last)
    taken = tx.execute(limited).rowcount == 1
    endless = select(c.id).where(*there, c.maxdownloads.is_(None)).with_for_update(key_share=True)
    if not taken and tx.execute(endless).first() is None:
        return None
    row = {"file": file, "visitor": visitor, "served": served, "until": now + DAY}
    return Claim(int(tx.execute(insert(claims).values(row).returning(claims.c.id)).scalar_one()), taken)


def resume(tx: Connection, file: int, visitor: bytes, *, served: int, most: int, now: int) -> Claim | None:
    """Go on with a download of the same visitor: one of the last day, with `served` of its `most` bytes left."""
    c = claims.c
    mine = select(c.id).where(c.file == file, c.visitor == visitor, c.until >= now, c.served + served <= most)
    newest = mine.order_by(c.id.desc()).limit(1).scalar_subquery()
    used = update(claims).where(c.id == newest, c.served + served <= most).values(served=c.served + served)
    row = tx.execute(used.returning(c.id)).first()
    return Claim(row.id) if row else None


def serve(tx: Connection, claim: int, *, served: int, most: int) -> bool:
    """Take `served` bytes more from what the claim has left; whether it had them.

    A claim that is gone, since the file was deleted, lets what has begun come to its end.
    """
    c = claims.c
    used = update(claims).where(c.id == claim, c.served + served <= most).values(served=c.served + served)
    return tx.execute(used).rowcount == 1 or tx.execute(select(c.id).where(c.id == claim)).first() is None


def give_back(tx: Connection, claim: int, *, unsent: int) -> None:
    """Bytes that were taken and not sent."""
    tx.execute(update(claims).where(claims.c.id == claim).values(served=claims.c.served - unsent))


def left(tx: Connection, file: int) -> int | None:
    """How many downloads a file has left; None when it has no limit. 0 for one that is not there any more."""
    row = tx.execute(select(files.c.maxdownloads, files.c.taken).where(files.c.id == file)).first()
    if row is None:
        return 0
    return None if row.maxdownloads is None else max(0, row.maxdownloads - row.taken)
