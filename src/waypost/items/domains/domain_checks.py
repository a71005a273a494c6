"""Checks of branded domains in the database: enroll domains, claim checks that are due, record results.

A domain is checked at once when it is new, then once a day, and an hour after a failure. It has failed after two
failures in a row.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, and_, false, insert, select, update

from waypost.db import audit_log
from waypost.db.schema import accounts, domain_checks, domains
from waypost.items.domains.ops import Domain

DAY, HOUR = 86_400, 3600
Finding = Literal["", "unreachable", "elsewhere", "certificate", "expiring", "unknown"]
"""The problem of a domain, "" for none. `unknown`: the check says nothing about visitors."""
CLAIM_SECONDS = 900
"""After this time without a result, a claimed check is due again."""
UNCHECKED = "unchecked"
"""Instead of a problem: there was no result yet."""
_MIN_FAILURES = 2
_NEVER = -1
"""Instead of the number of failures, before the first result."""
_c = domain_checks.c


@dataclass(frozen=True)
class DomainCheck:
    """A claimed check. No other process claims it before `claimed_until`. `problem` and `failures`: until then."""

    account: int
    domain: Domain
    claimed_until: int
    failures: int
    problem: str


def enroll(tx: Connection, now: int) -> None:
    """Make checks due of new domains, and those whose time is of a clock that was ahead."""
    tx.execute(update(domain_checks).where(_c.due > now + 2 * DAY).values(due=now))
    own = and_(_c.domain == domains.c.id, _c.account == domains.c.account)
    query = select(domains.c.account, domains.c.id).outerjoin(domain_checks, own).where(_c.domain.is_(None))
    new = [
        {"account": row.account, "domain": row.id, "due": now, "failures": _NEVER, "problem": ""}
        for row in tx.execute(query)
    ]
    if new:
        tx.execute(insert(domain_checks), new)


def claim_batch(tx: Connection, now: int, *, limit: int) -> Sequence[DomainCheck]:
    """Claim checks that are due (index domain_checks_due), of accounts that are not suspended."""
    d = domains.c
    query = (
        select(_c.account, _c.failures, _c.problem, d.id, d.scheme, d.host)
        .add_columns(d.redirectroot, d.redirect404, d.ignorecase, d.alsowww)
        .join(domains, and_(d.id == _c.domain, d.account == _c.account))
        .join(accounts, accounts.c.id == _c.account)
        .where(_c.due <= now, accounts.c.suspended == false())
        .order_by(_c.due)
        .limit(limit)
    )
    checks = [_claimed(dict(row), now + CLAIM_SECONDS) for row in tx.execute(query).mappings()]
    for check in checks:
        tx.execute(update(domain_checks).where(*_is(check)).values(due=check.claimed_until))
    return checks


def _claimed(row: dict[str, Any], until: int) -> DomainCheck:
    account, failures, problem = (row.pop(name) for name in ("account", "failures", "problem"))
    return DomainCheck(account, Domain(**row), until, failures, problem)


def record_result(tx: Connection, check: DomainCheck, finding: Finding, now: int) -> None:
    """Store the result of a claimed check, and record that the domain has failed, or works again.

    An unknown one changes nothing but the time of the next check.
    """
    failures = check.failures if finding == "unknown" else max(check.failures, 0) + 1 if finding else 0
    is_first = bool(finding) and finding != "unknown" and failures < _MIN_FAILURES
    problem = check.problem if finding == "unknown" or is_first else finding
    due = now + (HOUR if is_first else DAY - secrets.randbelow(DAY // 10))
    values = {"due": due, "failures": failures, "problem": problem}
    is_claimed = (*_is(check), _c.due == check.claimed_until)
    is_stored = tx.execute(update(domain_checks).where(*is_claimed).values(values)).rowcount == 1
    if is_stored and bool(problem) != bool(check.problem):
        event = "domain.failed" if problem else "domain.recovered"
        after = {"problem": problem} if problem else None
        audit_log.record(tx, check.account, event, check.domain.id, label=check.domain.host, after=after)


def problems(tx: Connection, account: int, ids: Sequence[int]) -> Mapping[int, str]:
    """Return the problem of each domain, "" if it works, `UNCHECKED` before a result; none after one failure."""
    query = select(_c.domain, _c.problem, _c.failures).where(_c.account == account, _c.domain.in_(ids))
    problems_by_domain = dict.fromkeys(ids, UNCHECKED)
    for row in tx.execute(query):
        if row.failures == 0 or row.problem:
            problems_by_domain[row.domain] = row.problem
        elif row.failures > 0:
            del problems_by_domain[row.domain]
    return problems_by_domain


def _is(check: DomainCheck) -> tuple[Any, ...]:
    return _c.account == check.account, _c.domain == check.domain.id
