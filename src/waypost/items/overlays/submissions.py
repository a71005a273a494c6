"""Submissions: what visitors sent with an overlay's form."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select

from waypost.core import clock, csv_export
from waypost.db import audit_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.database import Database
from waypost.db.schema import links, overlays, submissions, webhook_endpoints, webhook_messages

MAX_SUBMISSIONS = 100_000
"""Submissions stored for one overlay; more are rejected, so that visitors cannot fill the disk."""
_EXPORT_BATCH = 2000
CSV_COLUMNS = ("id", "date", "link", "name", "email", "message", "choice")


@dataclass(frozen=True)
class Answers:
    """The fields of a form; those that the overlay's type does not have are ""."""

    name: str = ""
    email: str = ""
    message: str = ""
    choice: str = ""


@dataclass(frozen=True)
class Submission:
    """A stored submission. `link` is the link that the visitor followed, None if it was deleted."""

    id: int
    link: int | None
    name: str
    email: str
    message: str
    choice: str
    created: int


def add(tx: Connection, account: int, overlay: int, answers: Answers, *, link: int) -> int | None:
    """Store a submission; return its id, None if the overlay has too many. Raises NOT_FOUND without the overlay."""
    crud.lock_row(tx, overlays, account, overlay, shared=True)
    stored = select(submissions.c.id).where(_of_overlay(account, overlay)).limit(MAX_SUBMISSIONS).subquery()
    if tx.execute(select(func.count()).select_from(stored)).scalar_one() >= MAX_SUBMISSIONS:
        return None
    owned_by = (links.c.id == link, links.c.account == account)
    # None if the link was deleted while the visitor filled in the form.
    existing_link = tx.execute(select(links.c.id).where(*owned_by).with_for_update(key_share=True)).scalar()
    values = {"account": account, "overlay": overlay, "link": existing_link, "created": clock.now(), **vars(answers)}
    return int(tx.execute(insert(submissions).values(values).returning(submissions.c.id)).scalar_one())


def message_id(submission: int) -> str:
    """Return the id of the message with a submission for the webhook of its overlay."""
    return f"msg_{hashlib.sha256(f'submission:{submission}'.encode()).hexdigest()[:32]}"


def list_submissions(tx: Connection, account: int, overlay: int, window: PageRequest) -> Page[Submission]:
    """Return submissions, newest first (index submissions_overlay_id). Raises NOT_FOUND."""
    crud.require_owned(tx, overlays, account, overlay)
    return crud.filtered_page(tx, submissions, account, window, Submission, submissions.c.overlay == overlay)


def count_votes(tx: Connection, account: int, overlay: int) -> Mapping[str, int]:
    """Return the number of votes by option, most votes first, for a poll that the account owns."""
    c, count = submissions.c, func.count()
    query = select(c.choice, count).where(_of_overlay(account, overlay)).group_by(c.choice)
    return {str(row[0]): int(row[1]) for row in tx.execute(query.order_by(count.desc(), c.choice))}


def remove(tx: Connection, account: int, overlay: int, ids: Sequence[int]) -> int:
    """Delete submissions by id, with the messages that have them; return how many existed. Raises NOT_FOUND."""
    crud.require_owned(tx, overlays, account, overlay)
    stmt = submissions.delete().where(_of_overlay(account, overlay), submissions.c.id.in_(ids))
    removed = int(tx.execute(stmt).rowcount)
    e, m = webhook_endpoints.c, webhook_messages.c
    endpoint = select(e.id).where(e.account == account, e.overlay == overlay)
    sent = (m.account == account, m.endpoint.in_(endpoint), m.uid.in_([message_id(each) for each in ids]))
    tx.execute(delete(webhook_messages).where(*sent))
    audit_log.record(tx, account, "overlay.submissions_deleted", overlay, before={"submissions": removed})
    return removed


def export(database: Database, account: int, overlay: int) -> Iterator[str]:
    """Yield all submissions of an overlay that the account owns as CSV, oldest first, in batches.

    Each batch is a transaction of its own, so that a slow client holds no snapshot.
    """
    yield ",".join(CSV_COLUMNS) + "\r\n"
    last_id = 0
    while batch := database.read(partial(_read_after, account=account, overlay=overlay, last_id=last_id)):
        last_id = batch[-1].id
        yield csv_export.lines(
            (item.id, clock.text(item.created), item.link or "", item.name, item.email, item.message, item.choice)
            for item in batch
        )


def _read_after(tx: Connection, account: int, overlay: int, last_id: int) -> list[Submission]:
    query = crud.select_columns(submissions, Submission)
    query = query.where(_of_overlay(account, overlay), submissions.c.id > last_id).order_by(submissions.c.id)
    return [Submission(*row) for row in tx.execute(query.limit(_EXPORT_BATCH))]


def _of_overlay(account: int, overlay: int) -> ColumnElement[bool]:
    return and_(submissions.c.overlay == overlay, submissions.c.account == account)
