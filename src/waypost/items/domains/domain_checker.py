"""The job that checks branded domains, one process of all nodes at a time, through the outgoing HTTP guard.

A domain fails if it does not point at this installation, or if the certificate of an https one is not valid or ends
within a week.
"""

import threading
from collections.abc import Sequence
from functools import partial

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import leases
from waypost.db.database import Database
from waypost.http import safe_client
from waypost.items.domains import domain_checks, ownership_check
from waypost.items.domains.domain_checks import CLAIM_SECONDS, DAY, DomainCheck, Finding
from waypost.items.domains.ownership_check import NotPointingHere

BATCH = 10
"""Checks that are claimed at once: each makes four requests at most, which together end within `CLAIM_SECONDS`."""
EXPIRING_SECONDS = 7 * DAY
_TEMPORARY = frozenset({429, 502, 503, 504})
"""Statuses of a service that may be this one: it is overloaded, or its proxy does not reach it now."""
_LEASE = "domains"
_POLL_SECONDS = 60.0
_log = structlog.get_logger("domains")


def run(_settings: Settings, database: Database, stop: threading.Event) -> None:
    """Check domains until `stop` is set."""
    has_more = False
    while not stop.wait(0 if has_more else _POLL_SECONDS):
        try:
            has_more = step(database, stop)
        except (Problem, DBAPIError, OSError) as error:  # DBAPIError: damage, or a missing right
            has_more = False
            _log.warning("cannot check domains now", reason=str(error))


def step(database: Database, stop: threading.Event) -> bool:
    """Check one batch if this process gets the lease; return whether more may be due."""
    checks = database.write(_claim, durability="relaxed")
    if not checks:
        return False
    for check in checks:
        if stop.is_set():
            return False
        challenge = ownership_check.new_challenge()
        expected = database.read(partial(ownership_check.proof, challenge=challenge))
        finding = _check(check, challenge, expected)
        database.write(partial(_record, check=check, finding=finding))
    database.write(partial(leases.release, work=_LEASE), durability="relaxed")
    return len(checks) == BATCH


def _claim(tx: Connection) -> Sequence[DomainCheck]:
    if not leases.acquire(tx, _LEASE, every=CLAIM_SECONDS):
        return ()
    now = clock.now()
    domain_checks.enroll(tx, now)
    checks = domain_checks.claim_batch(tx, now, limit=BATCH)
    if not checks:
        leases.release(tx, _LEASE)
    return checks


def _record(tx: Connection, check: DomainCheck, finding: Finding) -> None:
    domain_checks.record_result(tx, check, finding, clock.now())


def _check(check: DomainCheck, challenge: str, expected: str) -> Finding:
    """Return the first problem of the host names of a domain."""
    domain = check.domain
    try:
        for host in domain.hosts:
            ownership_check.must_point_here(
                domain.scheme, host, challenge=challenge, expected=expected, seconds=ownership_check.SECONDS
            )
            if domain.scheme == "https" and (finding := _certificate(host)):
                return finding
    except NotPointingHere as problem:
        if problem.status:
            return "unknown" if problem.status in _TEMPORARY else "elsewhere"
        return "unreachable" if isinstance(problem.__cause__, safe_client.NoServer) else "unknown"
    except Exception:  # noqa: BLE001  # one domain must not stop the others
        _log.exception("cannot check a domain", host=domain.host)
        return "unknown"
    return ""


def _certificate(host: str) -> Finding:
    try:
        end = safe_client.certificate_end(host, seconds=ownership_check.SECONDS)
    except safe_client.NoServer:
        return "certificate"
    except safe_client.Refused:
        return "unknown"
    return "expiring" if end < clock.now() + EXPIRING_SECONDS else ""
