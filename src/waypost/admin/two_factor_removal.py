"""Remove the second factor of an account by a command, and tell its owner."""

from sqlalchemy import Connection

from waypost.core.errors import invalid
from waypost.core.languages import SOURCE_LANGUAGE
from waypost.core.settings import Settings
from waypost.dashboard.mails import Installation
from waypost.db.database import Database
from waypost.http import mail
from waypost.items.accounts import emails, lost_phone
from waypost.media.branding import store as brands


def remove(settings: Settings, database: Database, account: int) -> bool:
    """Remove the second factor, end all sessions and send an e-mail. Return whether e-mail is configured.

    Raises INVALID if there is no second factor, and NOT_FOUND if the account was deleted.
    """

    def work(tx: Connection) -> int | None:
        owner = lost_phone.remove(tx, account)
        if owner is None:
            raise invalid("", "The account has no two-factor authentication.")
        sender = Installation(settings, brands.of_installation(tx))
        language = owner.language or SOURCE_LANGUAGE
        notice = emails.notice(sender, owner.email, language, emails.FACTOR_REMOVED, username=owner.username)
        return mail.enqueue(tx, settings, notice, account=account)

    item = database.write(work)
    if item is None:
        return False
    mail.Mailer(settings, database, brands.logo_of_installation).send(item)  # the service may not run
    return True
