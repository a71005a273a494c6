"""Dead-link checks in the database: enroll links, claim checks that are due, record results, list dead links.

A failing destination is checked every day. It is dead after three failures in a row over at least two days, and alive
after one success. Redirects of the link are not affected.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Select, and_, bindparam, case, false, func, insert, or_, select, true, update

from waypost.db import audit_log, due_times
from waypost.db.item_columns import name_of
from waypost.db.schema import accounts, link_checks, links
from waypost.db.schema.nouns import NOUNS

DAY = 86_400
Verdict = Literal["ok", "failed", "unknown"]
"""`unknown`: the check says nothing about visitors, such as a status that sites send to programs only."""
_MIN_FAILURES = 3
_MIN_FAILING_SECONDS = 2 * DAY
_CLAIM_SECONDS = 600  # after this time without a result, a claimed check is due again
_ENROLL_LIMIT = 1000
_ENROLL_OVERLAP = 1000  # a link with a smaller id may be committed later
_UNKNOWN = {"checked": None, "status": 0, "failing_since": None, "failures": 0, "dead": False}


@dataclass(frozen=True)
class LinkCheck:
    """A claimed check of a destination. No other process claims it before `claimed_until`. `was_dead`: until then."""

    account: int
    link: int
    url: str
    claimed_until: int
    was_dead: bool


@dataclass(frozen=True)
class CheckResult:
    """The last check of a destination: its time, the HTTP status (0 without a response), and since when it fails.

    With status 0 and without `failing_since`, the destination could not be checked.
    """

    checked: int
    status: int
    failing_since: int | None
    dead: bool


def enroll(tx: Connection, now: int) -> bool:
    """Make checks of new links due now (index link_checks_link). Return whether there may be more new links."""
    newest = select(func.coalesce(func.max(link_checks.c.link), 0)).scalar_subquery()
    own_check = (link_checks.c.link == links.c.id, link_checks.c.account == links.c.account)
    is_new = (links.c.id > newest - _ENROLL_OVERLAP, ~select(link_checks.c.link).where(*own_check).exists())
    new = tx.execute(select(links.c.account, links.c.id).where(*is_new).order_by(links.c.id).limit(_ENROLL_LIMIT)).all()
    for account in sorted({row.account for row in new}):
        _enroll(tx, account, [row.id for row in new if row.account == account], now)
    return len(new) == _ENROLL_LIMIT


def _enroll(tx: Connection, account: int, ids: Sequence[int], now: int) -> None:
    # The row lock prevents a concurrent deletion; SQLite has one writer at a time anyway.
    kept = select(links.c.id).where(links.c.account == account, links.c.id.in_(ids)).order_by(links.c.id)
    existing = tx.execute(kept.with_for_update(read=True, key_share=True)).scalars().all()
    if existing:
        tx.execute(insert(link_checks), [{"account": account, "link": link, "due": now} for link in existing])


def claim_batch(tx: Connection, now: int, *, limit: int, period: int) -> tuple[list[LinkCheck], bool]:
    """Claim checks that are due (index link_checks_due). Return them, and whether any check was due.

    Links that visitors cannot follow (disabled, expired, of a suspended account) and other schemes than HTTP are not
    checked: their result is cleared and they are due again after `period` seconds. A later time is of a clock that was
    ahead, and is corrected.
    """
    due_times.correct(tx, link_checks.c.due, max(period, DAY))
    c = links.c
    is_checked = and_(
        c.status != "disabled",
        or_(c.expiry.is_(None), c.expiry >= now),
        or_(c.url.ilike("http://%"), c.url.ilike("https://%")),
        accounts.c.suspended == false(),
    )
    query = (
        select(c.account, c.id, c.url, is_checked.label("is_checked"), link_checks.c.dead)
        .join(link_checks, and_(link_checks.c.account == c.account, link_checks.c.link == c.id))
        .join(accounts, accounts.c.id == c.account)
        .where(link_checks.c.due <= now)
        .order_by(link_checks.c.due)
        .limit(limit)
    )
    rows = tx.execute(query).all()
    _update(tx, [row for row in rows if not row.is_checked], {**_UNKNOWN, "due": now + period})
    until = now + _CLAIM_SECONDS
    _update(tx, [row for row in rows if row.is_checked], {"due": until})
    checks = [LinkCheck(row.account, row.id, row.url, until, row.dead) for row in rows if row.is_checked]
    return checks, bool(rows)


def record_result(tx: Connection, check: LinkCheck, *, status: int, verdict: Verdict, now: int, period: int) -> None:
    """Store the result of a claimed check, unless the destination has changed since it was claimed.

    An unknown one changes nothing but the times: a destination that failed is checked again on the next day. Records
    that the destination is dead, or is alive again.
    """
    c = link_checks.c
    later = now + _with_jitter(period)
    values: dict[str, object] = {"checked": now}
    if verdict == "unknown":
        values["due"] = case((c.failing_since.is_(None), later), else_=now + DAY)
    else:
        values |= {**_UNKNOWN, "checked": now, "status": status, "due": later}
    if verdict == "failed":
        since = func.coalesce(c.failing_since, now)
        is_long = and_(c.failures + 1 >= _MIN_FAILURES, since <= now - _MIN_FAILING_SECONDS)
        values |= {"failing_since": since, "failures": c.failures + 1, "dead": case((is_long, true()), else_=false())}
        values["due"] = now + DAY
    is_claimed = (c.account == check.account, c.link == check.link, c.due == check.claimed_until)
    is_dead = tx.execute(update(link_checks).where(*is_claimed).values(values).returning(c.dead)).scalar()
    if is_dead is not None and is_dead != check.was_dead:
        named = select(name_of(NOUNS["link"])).where(links.c.account == check.account, links.c.id == check.link)
        event, label = "link.dead" if is_dead else "link.alive", str(tx.execute(named).scalar() or "")
        audit_log.record(tx, check.account, event, check.link, label=label, after={"url": check.url})


def reset_if_moved(tx: Connection, account: int, link: int, *, old: str, new: str) -> None:
    """Clear the result and make the check due when the destination has changed."""
    if new != old:
        reset(tx, account, [link])


def reset(tx: Connection, account: int, ids: Sequence[int]) -> None:
    """Clear the results of links and make their checks due."""
    if ids:
        owned_by = (link_checks.c.account == account, link_checks.c.link.in_(ids))
        tx.execute(update(link_checks).where(*owned_by).values(**_UNKNOWN, due=0))


def dead_link_ids(account: int) -> Select[int]:
    """Select the ids of the account's links with a dead destination (index link_checks_dead_account)."""
    return select(link_checks.c.link).where(link_checks.c.dead == true(), link_checks.c.account == account)


def count_dead(tx: Connection) -> int:
    """Count the links of all accounts with a dead destination."""
    query = select(func.count()).select_from(link_checks).where(link_checks.c.dead == true())
    return int(tx.execute(query).scalar_one())


def dead_among(tx: Connection, account: int, ids: Iterable[int]) -> set[int]:
    """Return those of the links that have a dead destination."""
    return set(tx.execute(dead_link_ids(account).where(link_checks.c.link.in_(ids))).scalars())


def get_result(tx: Connection, account: int, link: int) -> CheckResult | None:
    """Return the result of a link's last check; `None` before the first one."""
    c = link_checks.c
    owned_by = (c.account == account, c.link == link)
    query = select(c.checked, c.status, c.failing_since, c.dead).where(*owned_by, c.checked.is_not(None))
    row = tx.execute(query).mappings().first()
    return None if row is None else CheckResult(**row)


def get_results(tx: Connection, account: int, ids: Iterable[int]) -> Mapping[int, CheckResult]:
    """Return the results of the last checks of these links, by link."""
    c = link_checks.c
    query = select(c.link, c.checked, c.status, c.failing_since, c.dead).where(
        c.account == account, c.link.in_(ids), c.checked.is_not(None)
    )
    return {link: CheckResult(*result) for link, *result in tx.execute(query)}


def _update(tx: Connection, checks: Iterable[Any], values: dict[str, object]) -> None:
    """Update the checks, by account and link."""
    keys = [{"of_account": row.account, "of_link": row.id} for row in checks]
    if keys:
        is_checked = (link_checks.c.account == bindparam("of_account"), link_checks.c.link == bindparam("of_link"))
        tx.execute(update(link_checks).where(*is_checked).values(values), keys)


def _with_jitter(period: int) -> int:
    """Shorten the period by up to 10 %, so that links of one batch spread over time."""
    return period - secrets.randbelow(period // 10)
