"""Links that work once, for e-mails and the command line: to choose a new password, or to create an account."""

from sqlalchemy import Connection

from waypost.accounts import ops
from waypost.errors import Problem, invalid
from waypost.signing import Signer, installation_signer, read_unverified

RESET_SECONDS = 3600
WELCOME_SECONDS = 7 * 86_400
_RESET, _REGISTER = "password reset", "registration"


def reset_link(tx: Connection, base: str, account: int, *, life: int = RESET_SECONDS) -> str:
    """Return a password reset link, valid for `life` seconds and until the password changes."""
    password_hash = ops.hashed_password(tx, account) or ""
    token = installation_signer(tx).sign(_RESET, str(account), life=life, bound=password_hash)
    return f"{base}/dashboard/reset?pass={token}"


def account_of(tx: Connection, signer: Signer, token: str) -> int:
    """Return the account of a password reset link. Raises INVALID if the link is not valid any more."""
    values = read_unverified(token)
    account = int(values[0]) if len(values) == 1 and values[0].isdecimal() and len(values[0]) < 16 else 0
    password_hash = ops.hashed_password(tx, account)
    if password_hash is None or signer.unsign(_RESET, token, bound=password_hash) is None:
        raise _expired()
    return account


def register_link(signer: Signer, base: str, email: str) -> str:
    """Return a link with which the owner of an e-mail address can create an account."""
    return f"{base}/dashboard/register?pass={signer.sign(_REGISTER, email, life=RESET_SECONDS)}"


def email_of(signer: Signer, token: str) -> str:
    """Return the confirmed e-mail address of a registration link. Raises INVALID if the link is not valid any more."""
    values = signer.unsign(_REGISTER, token)
    if values is None:
        raise _expired()
    return values[0]


def _expired() -> Problem:
    return invalid("pass", "This link has expired or was already used. Please request a new one.")
