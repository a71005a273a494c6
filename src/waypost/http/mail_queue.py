"""The queue of e-mails in the database: each is stored before it is sent, and deleted once it is sent or given up.

An e-mail is leased for an attempt, so that one process of all nodes makes it. A process that is killed leaves a lease
that ends; the e-mail is then sent again, with the same `Message-ID`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, exists, func, insert, select, update

from waypost.core import clock
from waypost.db import due_times
from waypost.db.schema import emails
from waypost.http.smtp import Email

LEASE_SECONDS = 300
"""Longer than an attempt takes: each step of SMTP ends after 20 seconds."""
RETRY_SECONDS = (60, 300, 1800, 7200, 21_600, 43_200, 43_200)
"""The pauses after failed attempts. The attempt after the last one is the last."""
_MAX_PAUSE = max(RETRY_SECONDS)
"""No e-mail waits longer."""
_MAX_DUE = 50
_c = emails.c


@dataclass(frozen=True)
class Claim:
    """An attempt that the caller must make within the lease, which ends at `until`. `number` counts from 1."""

    id: int
    email: Email
    message_id: str
    number: int
    until: int


def add(tx: Connection, email: Email, message_id: str, *, account: int | None = None) -> int:
    """Store an e-mail but its logo, and return its id. Deleting `account` deletes the e-mail."""
    now = clock.now()
    row = {
        **{name: getattr(email, name) for name in _TEXTS},
        "account": account,
        "recipient": email.to,
        "uid": message_id,
        "attempts": 0,
        "due": now,
        "expires": now + email.life,
        "created": now,
    }
    return int(tx.execute(insert(emails).values(row).returning(_c.id)).scalar_one())


def find_due(tx: Connection) -> Sequence[int]:
    """Return e-mails whose time has come (index emails_due), the earliest first."""
    query = select(_c.id).where(_c.due <= clock.now()).order_by(_c.due, _c.id).limit(_MAX_DUE)
    return tx.execute(query).scalars().all()


def claim(tx: Connection, item: int) -> Claim | None:
    """Lease an e-mail that is due, without its logo; None if another process has it. One that is too old is deleted."""
    now = clock.now()
    tx.execute(delete(emails).where(_c.id == item, _c.expires <= now))
    lease = update(emails).where(_c.id == item, _c.due <= now).values(due=now + LEASE_SECONDS, attempts=_c.attempts + 1)
    columns = (_c.recipient, _c.uid, _c.attempts, _c.due, *(_c[name] for name in _TEXTS))
    row = tx.execute(lease.returning(*columns)).mappings().first()
    if row is None:
        return None
    email = Email(row["recipient"], **{name: row[name] for name in _TEXTS})
    return Claim(item, email, row["uid"], row["attempts"], row["due"])


def record_sent(tx: Connection, item: int) -> None:
    """Delete an e-mail that was sent, or that is given up."""
    tx.execute(delete(emails).where(_c.id == item))


def record_failure(tx: Connection, claimed: Claim) -> int:
    """Schedule the next attempt, and return the pause before it in seconds; without one, delete the e-mail: 0."""
    if claimed.number > len(RETRY_SECONDS):
        record_sent(tx, claimed.id)
        return 0
    pause, now = RETRY_SECONDS[claimed.number - 1], clock.now()
    retry = update(emails).where(_c.id == claimed.id, _c.due == claimed.until, _c.expires > now + pause)
    if tx.execute(retry.values(due=now + pause)).rowcount:
        return pause
    tx.execute(delete(emails).where(_c.id == claimed.id, _c.due == claimed.until))
    return 0


def has_impossible(tx: Connection) -> bool:
    """Return whether `correct_impossible` has something to do (index emails_due)."""
    return due_times.has_impossible(tx, _c.due, _MAX_PAUSE)


def correct_impossible(tx: Connection) -> None:
    """Let e-mails be due whose time is of a clock that was ahead."""
    due_times.correct(tx, _c.due, _MAX_PAUSE)


def count_due(tx: Connection) -> int:
    """Return how many e-mails are due (index emails_due)."""
    return tx.execute(select(func.count()).select_from(emails).where(_c.due <= clock.now())).scalar_one()


def has_expired(tx: Connection) -> bool:
    """Return whether `delete_expired` has something to do (index emails_expires)."""
    return bool(tx.execute(select(exists().where(_c.expires <= clock.now()))).scalar_one())


def delete_expired(tx: Connection) -> None:
    """Delete the e-mails that are too old."""
    tx.execute(delete(emails).where(_c.expires <= clock.now()))


def remove_account(tx: Connection, account: int) -> None:
    """Delete the e-mails about an account that is deleted."""
    tx.execute(delete(emails).where(_c.account == account))


_TEXTS = ("subject", "text", "service", "html", "unsubscribe")
