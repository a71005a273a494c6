"""One-time links that choose a new password, create an account or confirm a new e-mail address."""

from sqlalchemy import Connection

from waypost.auth import people
from waypost.core.errors import Kind, Problem, account_deleted, account_suspended
from waypost.db import audit_log
from waypost.db.signing import Signer, installation_signer, read_unverified

RESET_SECONDS = 3600
WELCOME_SECONDS = 7 * 86_400
_RESET, _REGISTER, _CHANGE = "password reset", "registration", "e-mail change"
_WELCOME = "welcome"


class ExpiredLink(Problem):
    """Raised for a link that is too old, was already used, or is not one of this installation."""

    def __init__(self) -> None:
        super().__init__(Kind.INVALID, "This link has expired or was already used.", field="pass")


def reset_link(tx: Connection, base: str, person: int) -> str:
    """Return a password reset link, valid for an hour and until the password or e-mail
    address changes or the account is suspended.

    The audit log has it. Raises NOT_FOUND if the account was deleted.
    """
    audit_log.record(tx, person, "account.reset_link_created", person)
    return _password_link(tx, base, str(person), life=RESET_SECONDS)


def welcome_link(tx: Connection, base: str, person: int) -> str:
    """Return a link with which the owner of a new account chooses a password, valid for a week, as `reset_link`."""
    return _password_link(tx, base, str(person), _WELCOME, life=WELCOME_SECONDS)


def is_welcome(token: str) -> bool:
    """Return whether the token of a password reset link is that of a new account."""
    return list(read_unverified(token)[1:]) == [_WELCOME]


def person_of(tx: Connection, signer: Signer, token: str) -> int:
    """Return the person of a password reset link. Raises INVALID if the link is not valid any more."""
    values = read_unverified(token)
    is_link = list(values[1:]) in ([], [_WELCOME])
    person = int(values[0]) if values and is_link and values[0].isdecimal() and len(values[0]) < 16 else 0
    _read(tx, signer, _RESET, token, person)
    return person


def change_link(tx: Connection, base: str, person: int, email: str) -> str:
    """Return a link that confirms a new e-mail address, valid until the password or e-mail
    address changes or the account is suspended.

    Raises NOT_FOUND if the account was deleted.
    """
    bound = _state_of(tx, person)
    token = installation_signer(tx).sign(_CHANGE, str(person), email, life=RESET_SECONDS, bound=bound)
    return f"{base}/dashboard/confirm?pass={token}"


def new_email_of(tx: Connection, token: str) -> tuple[int, str]:
    """Return the person and the new address of a link that confirms it. Raises INVALID if it is not valid any more."""
    values = read_unverified(token)
    person = int(values[0]) if len(values) == 2 and values[0].isdecimal() and len(values[0]) < 16 else 0
    _read(tx, installation_signer(tx), _CHANGE, token, person)
    return person, values[1]


def register_link(signer: Signer, base: str, email: str) -> str:
    """Return a link with which the owner of an e-mail address can create an account."""
    return f"{base}/dashboard/register?pass={signer.sign(_REGISTER, email, life=RESET_SECONDS)}"


def email_of(signer: Signer, token: str) -> str:
    """Return the confirmed e-mail address of a registration link. Raises INVALID if the link is not valid any more."""
    values = signer.unsign(_REGISTER, token)
    if values is None:
        raise ExpiredLink
    return values[0]


def _password_link(tx: Connection, base: str, *values: str, life: int) -> str:
    token = installation_signer(tx).sign(_RESET, *values, life=life, bound=_state_of(tx, int(values[0])))
    return f"{base}/dashboard/reset?pass={token}"


def _read(tx: Connection, signer: Signer, purpose: str, token: str, person: int) -> None:
    """Raise INVALID on `pass` if a link is not valid any more, or its account is suspended."""
    login = people.of(tx, person)
    if login is None or signer.unsign(purpose, token, bound=login.state) is None:
        raise ExpiredLink
    if login.suspended:
        raise account_suspended("pass")


def _state_of(tx: Connection, person: int) -> str:
    login = people.of(tx, person)
    if login is None:
        raise account_deleted()
    return login.state
