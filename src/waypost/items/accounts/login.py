"""Sign-in: check a password, and start a session unless the account has changed since."""

from dataclasses import dataclass
from typing import Self

from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from waypost.auth import people, sessions, two_factor
from waypost.clicks.classify import classifier
from waypost.core import credentials
from waypost.core.errors import account_not_found, account_suspended, invalid
from waypost.dashboard import resubmitted_forms
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.items.accounts import first_sign_in, proof

# Verified for unknown names, so that sign-in takes as long as for known ones.
_DUMMY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$QncMPTHJ/71CytvU0LxiRA$2TLrVg+nzfi4iQ3glhqt2SN6sUU8Wbg2WVOtrhBFSfo"
_WRONG_LOGIN = invalid("password", "Wrong username or password.")


@dataclass(frozen=True)
class Login:
    """A person whose password was checked, and the state of the sign-in data at that time."""

    person: int
    state: str

    @classmethod
    def checked(cls, tx: Connection, person: int) -> Self:
        """Return the login of a person whose password was set in this transaction. Raises NOT_FOUND."""
        stored = people.of(tx, person)
        if stored is None:
            raise account_not_found()
        return cls(person, stored.state)


def check_password(context: PageContext, form: Form) -> Login:
    """Return the login for the name and password of a form.

    Raises INVALID on `password`, in the same time whether the account exists.
    """
    name, password = form.text("name"), str(form["password"])[:1000]
    login = context.read(lambda tx: people.named(tx, name))
    person, hashed = (login.person, login.password) if login else (0, _DUMMY_HASH)
    subject = f"account {person}" if person else f"name {name.casefold()[:200]}"
    attempt = context.count_attempt(subject, person=person)
    if not credentials.password_matches(hashed, password) or login is None:
        proof.record_refusal(context, person or None, "wrong name or password")
        raise _WRONG_LOGIN
    context.rate_limiter.release(attempt)
    if login.suspended:
        proof.record_refusal(context, person, "suspended")
        raise account_suspended("password")
    return Login(person, login.state)


def start_session(
    context: PageContext, login: Login, next_path: str, *, kept: str = "", has_passed_code: bool = False
) -> Response:
    """Sign in with a new session cookie, which prevents session fixation. `kept`: fields of the form at `next_path`.

    If the sign-in data has changed or the account was suspended since they were checked, ask for them again: that has
    ended all sessions.
    """
    program = classifier.agent(context.request.headers.get("user-agent", "")[:500])
    agent = program.browser if program.os == "Unknown" else f"{program.browser} on {program.os}"

    def work(tx: Connection) -> str | None:
        people.lock(tx, login.person)
        stored = people.of(tx, login.person)
        if stored is None or stored.suspended or stored.state != login.state:
            return None
        if not has_passed_code and two_factor.of(tx, login.person) is not None:
            return None
        return sessions.begin(tx, login.person, agent=agent)

    token = context.write(work, in_maintenance=True)
    if token is None:
        return sign_in_again(context, "Your sign-in data was changed. Please sign in again.")
    first_sign_in.delete(context.settings, login.person)
    if fields := resubmitted_forms.restore(kept):
        response = context.render("login/resume.html", path=next_path, fields=fields)
    else:
        response = RedirectResponse(next_path, status_code=303)
    return context.set_session_cookie(response, token, login.person)


def sign_in_again(context: PageContext, message: str) -> Response:
    """Redirect to the sign-in page."""
    return context.redirect("/dashboard/signin", message=message, tone="bad")
