"""Changes of the e-mail address and password: confirmation of a new address, and e-mail that tells the owner."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy import Connection

from waypost.api.context import RequestContext
from waypost.auth import people
from waypost.auth.people import Person
from waypost.http.mail import Email
from waypost.items.accounts import email_links, emails, ops
from waypost.items.accounts.emails import Message

T = TypeVar("T")


@dataclass(frozen=True)
class Change(Generic[T]):
    """Result of a change. `is_pending`: the new e-mail address is used after its owner confirms it."""

    is_pending: bool
    result: T


def change(
    context: RequestContext,
    person: int,
    also: Callable[[Connection, bool], T],
    *,
    email: str | None = None,
    password: str | None = None,
) -> Change[T]:
    """Change the e-mail address, or the hash of the password, of a person, and tell the person.

    `also` runs in the same transaction; it gets whether the new address is pending.

    With SMTP a new address gets a link first, and is used once it is confirmed. Raises INVALID or TAKEN on `email`.
    """
    new_email = None if email is None else ops.checked_email(email)

    def work(tx: Connection) -> tuple[Person, str, T]:
        before = people.get(tx, person)
        is_pending = new_email not in (None, before.email) and context.mailer.can_send
        if is_pending and new_email is not None:
            ops.require_free_email(tx, person, new_email)
        ops.change(tx, person, email=None if is_pending else new_email, password=password)
        link = email_links.change_link(tx, context.settings.dashboard, person, new_email or "") if is_pending else ""
        return before, link, also(tx, bool(link))

    before, link, result = context.write(work)
    if password is not None:
        tell_new_password(context, before)
    if link and new_email is not None:
        language = before.language or context.language
        message = emails.CONFIRM_ADDRESS
        send_limited(context, emails.with_link(context, new_email, language, message, link, emails.NOT_REQUESTED))
        tell(context, before, emails.ADDRESS_REQUESTED)
    elif new_email not in (None, before.email):
        tell_new_address(context, before, new_email or "")
    return Change(bool(link), result)


def confirm(context: RequestContext, token: str) -> None:
    """Use the new e-mail address of a link, and tell both addresses. Raises INVALID on `pass`, or TAKEN."""

    def work(tx: Connection) -> tuple[Person, str]:
        person, email = email_links.new_email_of(tx, token)
        before = people.get(tx, person)
        ops.change(tx, person, email=email)
        return before, email

    tell_new_address(context, *context.write(work))


def tell_new_password(context: RequestContext, person: Person) -> None:
    """Tell a person that the password was changed."""
    tell(context, person, emails.NEW_PASSWORD)


def tell_new_address(context: RequestContext, before: Person, email: str) -> None:
    """Tell the old and the new address of a person that the e-mail address was changed."""
    for recipient in (before.email, email):
        tell(context, before, emails.NEW_ADDRESS, recipient=recipient, email=email)


def tell(context: RequestContext, person: Person, message: Message, *, recipient: str = "", **values: str) -> None:
    """Tell a person about a change of the login or account. At most ten an hour are sent to an address."""
    to, language = recipient or person.email, person.language or context.language
    email = emails.notice(context, to, language, message, username=person.username, **values)

    def prepare() -> Email | None:
        is_allowed = not context.rate_limiter.acquire("notice", network="", subject=to.casefold())
        return email if is_allowed else None

    context.mailer.send_later(prepare, account=person.person)


def language_of(context: RequestContext, person: int) -> str:
    """Return the language that the person selected, or that of the request."""
    return context.read(lambda tx: people.language_of(tx, person)) or context.language


def send_limited(context: RequestContext, email: Email) -> None:
    """Send an e-mail to an unconfirmed address: at most three an hour to an address (decision 76)."""
    context.mailer.send_later(lambda: limited(context, email))


def limited(context: RequestContext, email: Email) -> Email | None:
    """Return the e-mail, or None if its recipient got three in this hour. Call it in the mail thread."""
    wait = context.rate_limiter.acquire("e-mail", network="", subject=email.to.casefold())
    return None if wait else email
