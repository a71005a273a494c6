"""E-mail to the owner of an endpoint that fails or was disabled."""

from collections.abc import Mapping

from sqlalchemy import Connection

from waypost.auth import people
from waypost.core.languages import SOURCE_LANGUAGE
from waypost.core.settings import Settings
from waypost.dashboard.mails import Installation
from waypost.http.mail import Email
from waypost.items.accounts import emails
from waypost.media.branding import store as brands
from waypost.webhooks.queue import Notice, Reason

_MESSAGES: Mapping[Reason, emails.Message] = {
    "warned": emails.WEBHOOK_FAILS,
    "failing": emails.WEBHOOK_DISABLED,
    "gone": emails.WEBHOOK_GONE,
}


def email(tx: Connection, settings: Settings, notice: Notice) -> Email | None:
    """Return the e-mail in the language of the account's owner; None if it was deleted."""
    owner = people.owner_of(tx, notice.account)
    if owner is None:
        return None
    return emails.with_link(
        Installation(settings, brands.of_installation(tx)),
        owner.email,
        owner.language or SOURCE_LANGUAGE,
        _MESSAGES[notice.reason],
        f"{settings.dashboard}/dashboard/webhooks/{notice.endpoint}",
        username=owner.username,
        name=notice.title or notice.url,
    )
