"""A lost second factor: another phone after a recovery code, and its removal by an administrator."""

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.auth import people, sessions, two_factor
from waypost.auth.people import Person
from waypost.core.errors import invalid
from waypost.dashboard.context import PageContext
from waypost.dashboard.list_position import HOME

NEW_PHONE = "/dashboard/account/factor/phone"
_COOKIE, _SECONDS = "waypost_recovered", 86_400


def remember_recovery(context: PageContext, response: Response, person: int) -> Response:
    """Let this browser set up a new phone without a further code, for a day: it may have entered the last one."""
    bound = context.read(lambda tx: _state(tx, person))
    value = context.services.signer.sign(_COOKIE, str(person), life=_SECONDS, bound=bound)
    context.set_cookie(response, _COOKIE, value, max_age=_SECONDS, path=HOME)
    return response


def has_recovered(context: PageContext) -> bool:
    """Return whether this browser signed in with a recovery code of the factor that the person has now."""
    bound = context.read(lambda tx: _state(tx, context.person))
    values = context.services.signer.unsign(_COOKIE, context.request.cookies.get(_COOKIE, ""), bound=bound)
    return values == [str(context.person)]


def remove(tx: Connection, person: int) -> Person | None:
    """Remove the second factor for an administrator, and end all sessions. Return the person, to send an e-mail.

    Do nothing and return None if there is no second factor. Raises NOT_FOUND.
    """
    owner = people.get(tx, person)
    if two_factor.of(tx, person) is None:
        return None
    two_factor.disable(tx, person)
    sessions.end_all(tx, person)
    return owner


def remove_of_other(tx: Connection, administrator: int, person: int) -> Person | None:
    """Like `remove`. Raises INVALID for the administrators themselves: a stolen session or key could remove it."""
    if person == administrator and two_factor.of(tx, person) is not None:
        raise invalid("", "Remove your own two-factor authentication on your account page, or by a command.")
    return remove(tx, person)


def _state(tx: Connection, person: int) -> str:
    """Return a value that changes with the password, the e-mail address and the second factor."""
    login = people.of(tx, person)
    return f"{login.state if login else ''} {two_factor.fingerprint(tx, person)}"
