"""Create an account by a command, whose owner chooses the password with a link that is sent by e-mail."""

from dataclasses import dataclass

from sqlalchemy import Connection

from waypost.core import credentials
from waypost.core.languages import SOURCE_LANGUAGE
from waypost.core.settings import Settings
from waypost.dashboard.mails import Installation
from waypost.db.database import Database
from waypost.http import mail
from waypost.items.accounts import email_links, emails, ops
from waypost.media.branding import store as brands


@dataclass(frozen=True)
class Invitation:
    """A new account without an API key, and the link for its password, valid for a week. `sent`: also by e-mail."""

    id: int
    email: str
    username: str
    link: str
    sent: bool


def invite(
    settings: Settings, database: Database, *, email: str, username: str, plan: str, rate_limit: int | None
) -> Invitation:
    """Create the account and send its owner the link. Raises INVALID or TAKEN on the invalid field."""
    password = credentials.hash_password(credentials.new_password())

    def work(tx: Connection) -> tuple[ops.Account, str, int | None]:
        account = ops.add(tx, email=email, username=username, password=password, plan=plan, rate_limit=rate_limit)
        link = email_links.welcome_link(tx, settings.dashboard, account.id)
        sender, names = Installation(settings, brands.of_installation(tx)), {"username": account.username}
        message = emails.with_link(sender, account.email, SOURCE_LANGUAGE, emails.WELCOME, link, **names)
        return account, link, mail.enqueue(tx, settings, message, account=account.id)

    account, link, item = database.write(work)
    if item is not None:
        mail.Mailer(settings, database, brands.logo_of_installation).send(item)  # the service may not run
    return Invitation(account.id, account.email, account.username, link, sent=item is not None)
