"""The second factor: codes of an authenticator app (RFC 6238), and recovery codes for when the phone is gone."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import pyotp
from sqlalchemy import Connection, delete, func, insert, select, update

from waypost import clock, credentials
from waypost.db.database import upsert
from waypost.db.schema import totp_secrets, recovery_codes

_STEP = 30
_DRIFT = 1  # steps that a phone's clock may be wrong
_CODES = 10
_LETTERS = "bcdfghjkmnpqrstvwxyz23456789"  # nothing that is misread from paper


@dataclass(frozen=True)
class Factor:
    """What the account's page says: since when, and how many recovery codes are left."""

    created: int
    codes: int


def new_secret() -> str:
    """A secret for an app: 160 random bits in base 32."""
    return pyotp.random_base32()


def address(secret: str, *, username: str, issuer: str) -> str:
    """What the app's camera reads."""
    return pyotp.TOTP(secret).provisioning_uri(name=username, issuer_name=issuer)


def fits(secret: str, code: str) -> int | None:
    """The step of time that a code belongs to, if it is one of now."""
    digits = "".join(code.split())
    if not (digits.isascii() and digits.isdecimal() and len(digits) == 6):
        return None
    app, now = pyotp.TOTP(secret), clock.now() // _STEP
    found = None
    for step in range(now - _DRIFT, now + _DRIFT + 1):  # all of them, so that time says nothing
        if secrets.compare_digest(app.generate_otp(step), digits):
            found = step
    return found


def of(tx: Connection, account: int) -> Factor | None:
    """The account's second factor, if it has one."""
    created = tx.execute(select(totp_secrets.c.created).where(totp_secrets.c.account == account)).scalar_one_or_none()
    if created is None:
        return None
    mine = select(func.count()).select_from(recovery_codes).where(recovery_codes.c.account == account)
    return Factor(created, int(tx.execute(mine).scalar_one()))


def switch_on(tx: Connection, account: int, *, secret: str, step: int) -> Sequence[str]:
    """Ask for codes of this app from now on; the recovery codes, shown once. `step` is that of the first code."""
    row = {"account": account, "secret": secret, "last_step": step, "created": clock.now()}
    new = upsert(tx, totp_secrets).values(row)
    tx.execute(new.on_conflict_do_update(index_elements=["account"], set_=row))
    return new_codes(tx, account)


def new_codes(tx: Connection, account: int) -> Sequence[str]:
    """Fresh recovery codes instead of those that there were."""
    tx.execute(delete(recovery_codes).where(recovery_codes.c.account == account))
    codes = ["-".join("".join(secrets.choice(_LETTERS) for _ in range(5)) for _ in range(2)) for _ in range(_CODES)]
    rows = [{"account": account, "digest": _digest(account, code)} for code in codes]
    tx.execute(insert(recovery_codes), rows)
    return codes


def switch_off(tx: Connection, account: int) -> None:
    """Ask for the password only."""
    tx.execute(delete(totp_secrets).where(totp_secrets.c.account == account))
    tx.execute(delete(recovery_codes).where(recovery_codes.c.account == account))


def accept(tx: Connection, account: int, code: str) -> bool:
    """Take a code of the app or a recovery code, either once only; whether it was right."""
    secret = tx.execute(select(totp_secrets.c.secret).where(totp_secrets.c.account == account)).scalar_one_or_none()
    if secret is None:
        return False
    step = fits(secret, code)
    if step is not None:
        later = (totp_secrets.c.account == account) & (totp_secrets.c.last_step < step)
        return tx.execute(update(totp_secrets).where(later).values(last_step=step)).rowcount == 1
    mine = (recovery_codes.c.account == account) & (recovery_codes.c.digest == _digest(account, code))
    return tx.execute(delete(recovery_codes).where(mine)).rowcount == 1


def _digest(account: int, code: str) -> bytes:
    """What is stored of a recovery code: 48 random bits, of which ten guesses a minute are let through."""
    plain = "".join(letter for letter in code.lower() if letter in _LETTERS)
    return credentials.digest(f"recovery\t{account}\t{plain}")
