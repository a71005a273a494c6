"""Changes of the e-mail address and password: confirmation of a new address, and e-mail that tells the owner."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy import Connection

from waypost.api.context import RequestContext
from waypost.auth import people
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
    also: Callable[[Connection, bool], T],
    *,
    email: str | None = None,
    password: str | None = None,
) -> Change[T]:
    """Change the e-mail address, or the hash of the password, and tell the owner.

    `also` runs in the same transaction; it gets whether the new address is pending.

    With SMTP a new address gets a link first, and is used once it is confirmed. Raises INVALID or TAKEN on `email`.
    """
    new_email = None if email is None else ops.checked_email(email)

    def work(tx: Connection) -> tuple[ops.Account, str, T]:
        account = ops.get(tx, context.account)
        is_pending = new_email not in (None, account.email) and context.mailer.can_send
        if is_pending and new_email is not None:
            ops.require_free_email(tx, context.account, new_email)
        ops.change(tx, context.account, email=None if is_pending else new_email, password=password)
        link = (
            email_links.change_link(tx, context.settings.dashboard, context.account, new_email or "")
            if is_pending
            else ""
        )
        return account, link, also(tx, bool(link))

    account, link, result = context.write(work)
    if password is not None:
        tell_new_password(context, account)
    if link and new_email is not None:
        language = language_of(context, account.id)
        message = emails.CONFIRM_ADDRESS
        send_limited(context, emails.with_link(context, new_email, language, message, link, emails.NOT_REQUESTED))
        tell(context, account, emails.ADDRESS_REQUESTED)
    elif new_email not in (None, account.email):
        tell_new_address(context, account, new_email or "")
    return Change(bool(link), result)


def confirm(context: RequestContext, token: str) -> None:
    """Use the new e-mail address of a link, and tell both addresses. Raises INVALID on `pass`, or TAKEN."""

    def work(tx: Connection) -> tuple[ops.Account, str]:
        owner, email = email_links.new_email_of(tx, token)
        account = ops.get(tx, owner)
        ops.change(tx, owner, email=email)
        return account, email

    tell_new_address(context, *context.write(work))


def tell_new_password(context: RequestContext, account: ops.Account) -> None:
    """Tell the owner that the password was changed."""
    tell(context, account, emails.NEW_PASSWORD)


def tell_new_address(context: RequestContext, account: ops.Account, email: str) -> None:
    """Tell the old and the new address of an account that its e-mail address was changed."""
    for recipient in (account.email, email):
        tell(context, account, emails.NEW_ADDRESS, recipient=recipient, email=email)


def tell(
    context: RequestContext, account: ops.Account, message: Message, *, recipient: str = "", **values: str
) -> None:
    """Tell an owner about a change of the account. At most ten an hour are sent to an address."""
    to, language = recipient or account.email, language_of(context, account.id)
    email = emails.notice(context, to, language, message, username=account.username, **values)

    def prepare() -> Email | None:
        is_allowed = not context.rate_limiter.acquire("notice", network="", subject=to.casefold())
        return email if is_allowed else None

    context.mailer.send_later(prepare, account=account.id)


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
