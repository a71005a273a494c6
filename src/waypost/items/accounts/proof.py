"""Verify that a form is from the signed-in person: by the password, and a code if there is a second factor."""

from contextlib import suppress
from functools import partial

from waypost.auth import people, two_factor
from waypost.core import credentials
from waypost.core.errors import Problem, invalid
from waypost.dashboard.context import PageContext, too_many_attempts
from waypost.dashboard.forms import Form
from waypost.db import audit_log
from waypost.items.accounts import emails, login_changes


def require_password(context: PageContext, form: Form, *, field: str = "password") -> None:
    """Raise INVALID unless the form contains the person's password: an open session alone is not enough."""
    attempt = context.count_attempt(f"account {context.person}", person=context.person)
    login = context.read(lambda tx: people.of(tx, context.person))
    if login is None or not credentials.password_matches(login.password, str(form[field])[:1000]):
        raise invalid(field, "Wrong password.")
    context.rate_limiter.release(attempt)


def check_password_and_code(context: PageContext, form: Form) -> bool:
    """Return whether the form has no errors. Add those of the password, and of the code if there is a second factor.

    A code is accepted only once, so it is not checked while the form has other errors.
    """
    form.attempt(lambda: require_password(context, form))
    if context.read(lambda tx: two_factor.of(tx, context.person)) is not None:
        if not form.text("code"):
            form.errors.setdefault("code", "Enter the code from your app, or a recovery code.")
        elif not form.errors:
            form.attempt(lambda: require_code(context, context.person, form.text("code")))
    return not form.errors


def require_code(context: PageContext, person: int, code: str) -> bool:
    """Accept a code of the authenticator app or a recovery code once; return whether it is a recovery code.

    Raises INVALID on `code`, or RATE_LIMITED.

    After many wrong codes the owner gets an e-mail, because the client knows the password.
    """
    attempt = context.count_attempt(f"code {person}", person=person)
    is_known = bool(context.known_browser(person))
    outcome = context.write(
        lambda tx: two_factor.accept(tx, person, code, is_known_browser=is_known), in_maintenance=True
    )
    if outcome.warns:
        login_changes.tell(context, context.read(lambda tx: people.get(tx, person)), emails.WRONG_CODES)
    if outcome.wait:
        raise too_many_attempts(outcome.wait)
    if not outcome.is_right:
        record_refusal(context, person, "wrong code")
        raise invalid("code", "Wrong code, or already used. The app shows a new one every 30 seconds.")
    context.rate_limiter.release(attempt)
    return outcome.is_recovery


def record_refusal(context: PageContext, person: int | None, reason: str) -> None:
    """Record a refused sign-in in the audit log. `person` is None for an unknown name, which is not stored.

    The response does not depend on it: the disk can be full.
    """
    event = partial(audit_log.record, account=person, name="session.refused", after={"reason": reason})
    with suppress(Problem):
        context.write(event, in_maintenance=True)
