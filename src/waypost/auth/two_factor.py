"""Two-factor authentication: codes of an authenticator app (TOTP, RFC 6238), and recovery codes for a lost phone.

The column `account` of both tables is the number of the person (ADR 22).
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import pyotp
from sqlalchemy import Connection, delete, func, insert, select, update

from waypost.auth import people
from waypost.core import clock, credentials
from waypost.core.errors import invalid
from waypost.db import audit_log
from waypost.db.schema import recovery_codes, totp_secrets

_STEP_SECONDS = 30
_MAX_DRIFT = 1  # steps by which a phone's clock may be wrong
_RECOVERY_CODES = 10
_FREE_FAILURES = 10  # wrong codes in a row before each doubles the wait
_FAILURES_PER_DAY = 50
_DAY_SECONDS = 86_400
_LETTERS = "bcdfghjkmnpqrstvwxyz23456789"  # without characters that are easily confused on paper


@dataclass(frozen=True)
class Factor:
    """The second factor of a person: when it was enabled, and the number of unused recovery codes."""

    created: int
    codes: int


@dataclass(frozen=True)
class Outcome:
    """The check of a code. `wait`: seconds in which no code is checked. `warns`: the owner should get an e-mail.

    `is_recovery`: it was a recovery code, so its owner may have lost the phone.
    """

    is_right: bool
    is_recovery: bool = False
    wait: int = 0
    warns: bool = False


def new_secret() -> str:
    """Return a secret for an authenticator app: 160 random bits in base 32."""
    return pyotp.random_base32()


def provisioning_uri(secret: str, *, username: str, issuer: str) -> str:
    """Return the otpauth URI that an authenticator app scans."""
    return pyotp.TOTP(secret).provisioning_uri(name=username, issuer_name=issuer)


def verify(secret: str, code: str) -> int | None:
    """Return the time step of a code; None if the code is not valid now."""
    digits = "".join(code.split())
    if not (digits.isascii() and digits.isdecimal() and len(digits) == 6):
        return None
    totp, now = pyotp.TOTP(secret), clock.now() // _STEP_SECONDS
    matching = None
    for step in range(now - _MAX_DRIFT, now + _MAX_DRIFT + 1):  # always all steps, for constant time
        if secrets.compare_digest(totp.generate_otp(step), digits):
            matching = step
    return matching


def of(tx: Connection, person: int) -> Factor | None:
    """Return the second factor of a person, if it has one."""
    created = tx.execute(select(totp_secrets.c.created).where(totp_secrets.c.account == person)).scalar_one_or_none()
    if created is None:
        return None
    query = select(func.count()).select_from(recovery_codes).where(recovery_codes.c.account == person)
    return Factor(created, int(tx.execute(query).scalar_one()))


def fingerprint(tx: Connection, person: int) -> str:
    """Return a value that changes with the secret and does not reveal it; "" without a second factor."""
    query = select(totp_secrets.c.secret).where(totp_secrets.c.account == person)
    secret = tx.execute(query).scalar_one_or_none()
    return "" if secret is None else credentials.digest(f"factor\t{person}\t{secret}").hex()


def enable(tx: Connection, person: int, *, secret: str, step: int) -> Sequence[str]:
    """Require codes of this secret from now on. Return the recovery codes, which are shown once.

    `step` is the time step of the code that confirmed the secret. Raises INVALID on `code` if the person has a second
    factor, which only a code of it may replace.
    """
    people.lock(tx, person)
    if of(tx, person) is not None:
        raise invalid("code", "Two-factor authentication is already enabled. To use another app, disable it first.")
    values = {"account": person, "secret": secret, "last_step": step, "created": clock.now()}
    tx.execute(insert(totp_secrets).values(values))
    audit_log.record(tx, person, "second_factor.enabled")
    return _new_codes(tx, person)


def replace(tx: Connection, person: int, *, secret: str, step: int) -> Sequence[str]:
    """Require codes of another secret than before. Return new recovery codes; the others as in `enable`."""
    disable(tx, person)
    return enable(tx, person, secret=secret, step=step)


def new_codes(tx: Connection, person: int) -> Sequence[str]:
    """Replace the recovery codes and return the new ones."""
    audit_log.record(tx, person, "second_factor.codes_renewed")
    return _new_codes(tx, person)


def _new_codes(tx: Connection, person: int) -> Sequence[str]:
    people.lock(tx, person)  # or the codes of two concurrent calls would both stay
    tx.execute(delete(recovery_codes).where(recovery_codes.c.account == person))
    codes = ["-".join(_random_letters(5) for _ in range(2)) for _ in range(_RECOVERY_CODES)]
    tx.execute(insert(recovery_codes), [{"account": person, "digest": _digest(person, code)} for code in codes])
    return codes


def disable(tx: Connection, person: int) -> None:
    """Require only the password."""
    people.lock(tx, person)
    tx.execute(delete(totp_secrets).where(totp_secrets.c.account == person))
    tx.execute(delete(recovery_codes).where(recovery_codes.c.account == person))
    audit_log.record(tx, person, "second_factor.disabled")


def accept(tx: Connection, person: int, code: str, *, is_known_browser: bool = False) -> Outcome:
    """Use up a code of the app or a recovery code; each works once.

    After ten wrong codes in a row each further one doubles the wait, and 50 in a day are checked. A known browser is
    limited by the caller instead, so that others cannot lock it out.
    """
    now = clock.now()
    columns = (
        totp_secrets.c.failures,
        totp_secrets.c.day_failures,
        totp_secrets.c.day_end,
        totp_secrets.c.blocked_until,
    )
    # An update, not a read: it locks the row, so that parallel codes are counted one after the other.
    lock = update(totp_secrets).where(totp_secrets.c.account == person).values(failures=totp_secrets.c.failures)
    row = tx.execute(lock.returning(totp_secrets.c.secret, *columns)).mappings().one_or_none()
    if row is None:
        return Outcome(is_right=False)
    if row["blocked_until"] > now and not is_known_browser:
        return Outcome(is_right=False, wait=row["blocked_until"] - now)
    is_of_app = _use_up_step(tx, person, row["secret"], code)
    if is_of_app or _use_up_recovery_code(tx, person, code):
        values: dict[str, int] = {"failures": 0, "blocked_until": 0}
        outcome = Outcome(is_right=True, is_recovery=not is_of_app)
    elif is_known_browser:
        return Outcome(is_right=False)
    else:
        is_new_day = row["day_end"] <= now
        failures = row["failures"] + 1
        today = 1 if is_new_day else row["day_failures"] + 1
        day_end = now + _DAY_SECONDS if is_new_day else row["day_end"]
        wait = _STEP_SECONDS << min(failures - _FREE_FAILURES, 12) if failures >= _FREE_FAILURES else 0
        until = day_end if today >= _FAILURES_PER_DAY else now + min(wait, _DAY_SECONDS)
        values = {"failures": failures, "day_failures": today, "day_end": day_end, "blocked_until": until}
        outcome = Outcome(is_right=False, warns=failures == _FREE_FAILURES or today == _FAILURES_PER_DAY)
    tx.execute(update(totp_secrets).where(totp_secrets.c.account == person).values(values))
    return outcome


def _use_up_step(tx: Connection, person: int, secret: str, code: str) -> bool:
    step = verify(secret, code)
    if step is None:
        return False
    is_unused = (totp_secrets.c.account == person) & (totp_secrets.c.last_step < step)
    return tx.execute(update(totp_secrets).where(is_unused).values(last_step=step)).rowcount == 1


def _use_up_recovery_code(tx: Connection, person: int, code: str) -> bool:
    is_code = (recovery_codes.c.account == person) & (recovery_codes.c.digest == _digest(person, code))
    return tx.execute(delete(recovery_codes).where(is_code)).rowcount == 1


def _random_letters(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def _digest(person: int, code: str) -> bytes:
    """Hash a recovery code. It has only 48 random bits, which is enough because attempts are rate limited."""
    plain = "".join(letter for letter in code.lower() if letter in _LETTERS)
    return credentials.digest(f"recovery\t{person}\t{plain}")
