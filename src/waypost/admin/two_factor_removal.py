"""Remove the second factor of an account by a command, and tell its owner."""

from sqlalchemy import Connection

from waypost.core.errors import invalid
from waypost.core.languages import SOURCE_LANGUAGE
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.http.mail import Email, Mailer
from waypost.items.accounts import emails, lost_phone, profile
from waypost.media.branding import store as brands


def remove(settings: Settings, database: Database, account: int) -> bool:
    """Remove the second factor, end all sessions and send an e-mail. Return whether e-mail is configured.

    Raises INVALID if there is no second factor, and NOT_FOUND if the account was deleted.
    """

    def work(tx: Connection) -> Email:
        owner = lost_phone.remove(tx, account)
        if owner is None:
            raise invalid("", "The account has no two-factor authentication.")
        sender = emails.Installation(settings, brands.of_installation(tx))
        language = profile.language_of(tx, account) or SOURCE_LANGUAGE
        return emails.notice(sender, owner.email, language, emails.FACTOR_REMOVED, username=owner.username)

    email, mailer = database.write(work), Mailer(settings)
    mailer.send_later(lambda: email)
    mailer.close()
    return mailer.can_send
