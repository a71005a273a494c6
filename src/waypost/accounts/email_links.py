"""Links that let somebody in once: to choose a password, or to make an account. In letters, and on the command line."""

from sqlalchemy import Connection

from waypost import signing
from waypost.accounts import ops
from waypost.errors import Problem, invalid
from waypost.signing import Signer

RESET_SECONDS = 3600
WELCOME_SECONDS = 7 * 86_400
_RESET, _REGISTER = "reset", "register"


def reset_link(tx: Connection, base: str, account: int, *, life: int = RESET_SECONDS) -> str:
    """Where the account's password can be chosen anew: once, since it is worthless as soon as there is another one."""
    hashed = ops.hashed_password(tx, account) or ""
    sealed = signing.of(tx).sign(_RESET, str(account), life=life, bound=hashed)
    return f"{base}/dashboard/reset?pass={sealed}"


def account_of(tx: Connection, made: Signer, sealed: str) -> int:
    """Whose password may be chosen with this. Raises INVALID."""
    values = signing.read(sealed)[1:]
    account = int(values[0]) if len(values) == 1 and values[0].isdecimal() and len(values[0]) < 16 else 0
    hashed = ops.hashed_password(tx, account)
    if hashed is None or made.unsign(_RESET, sealed, bound=hashed) is None:
        raise _over()
    return account


def register_link(made: Signer, base: str, email: str) -> str:
    """Where somebody who reads the letters of this address can make an account."""
    return f"{base}/dashboard/register?pass={made.sign(_REGISTER, email, life=RESET_SECONDS)}"


def email_of(made: Signer, sealed: str) -> str:
    """The address that somebody has shown to be theirs. Raises INVALID."""
    values = made.unsign(_REGISTER, sealed)
    if values is None:
        raise _over()
    return values[0]


def _over() -> Problem:
    return invalid("pass", "This link is no longer good: it was used before, or it is too old. Please ask for another.")
