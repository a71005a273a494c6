"""The texts of e-mail to owners of accounts, in the language of the recipient."""

from typing import NamedTuple

from waypost.dashboard.i18n import gettext, gettext_noop, text_in
from waypost.dashboard.mails import Button, Part, Sender, compose, written_in
from waypost.http.mail import Email

_HOUR, _DAYS = 3600, 2 * 86_400


class Message(NamedTuple):
    """A subject, the first paragraph and the label of the button, all untranslated, and when it is not sent any more.

    `life` is in seconds.
    """

    subject: str
    text: str
    button: str = ""
    life: int = _DAYS


def notice(sender: Sender, recipient: str, language: str, message: Message, **values: str) -> Email:
    """Return an e-mail about a change of an account, with advice for the case that its owner did not make it."""
    page = f"{sender.settings.dashboard}/dashboard/account"
    return _email(sender, recipient, language, message, _ADVICE, page, _LOCKED_OUT, **values)


def with_link(
    sender: Sender, recipient: str, language: str, message: Message, link: str, end: str = "", **values: str
) -> Email:
    """Return an e-mail with a link; `end` is a last paragraph."""
    return _email(sender, recipient, language, message, "", link, end, **values)


def test_message(sender: Sender, recipient: str, language: str) -> Email:
    """Return an e-mail that shows an administrator that e-mail works."""
    return _email(sender, recipient, language, _TEST)


def _email(
    sender: Sender,
    recipient: str,
    language: str,
    message: Message,
    before: str = "",
    link: str = "",
    end: str = "",
    **values: str,
) -> Email:
    """Return an e-mail with the paragraphs `before` and `end` around a link."""
    names = {"service": sender.service_name, **values}
    with written_in(language):
        parts: list[Part] = [text_in(language, message.text, **names)]
        parts += [gettext(before)] if before else []
        parts += [Button(gettext(message.button), link)] if link else []
        parts += [gettext(end)] if end else []
        return compose(sender, recipient, text_in(language, message.subject, **names), parts, life=message.life)


_TEST = Message(
    gettext_noop("Test e-mail from %(service)s"),
    gettext_noop("E-mail of %(service)s works: this message was sent from the page Health."),
)
WEBHOOK_FAILS = Message(
    gettext_noop("A webhook of %(service)s fails"),
    gettext_noop(
        'The webhook "%(name)s" of the %(service)s account %(username)s fails. Messages are sent again, and wait on its'
        " page. After 5 days without a success the webhook is disabled:"
    ),
    gettext_noop("Open webhook"),
)
WEBHOOK_DISABLED = Message(
    gettext_noop("A webhook of %(service)s was disabled"),
    gettext_noop(
        'The webhook "%(name)s" of the %(service)s account %(username)s was disabled, because it failed for 5 days.'
        " Enable it on its page; the missed messages are there:"
    ),
    gettext_noop("Open webhook"),
)
WEBHOOK_GONE = Message(
    gettext_noop("A webhook of %(service)s was disabled"),
    gettext_noop(
        'The webhook "%(name)s" of the %(service)s account %(username)s was disabled, because its server answered that'
        " it is gone (410). Enable it on its page; the missed messages are there:"
    ),
    gettext_noop("Open webhook"),
)
NEW_KEY = Message(
    gettext_noop("A new API key was created"),
    gettext_noop("A new API key, “%(name)s”, was created for the %(service)s account %(username)s."),
    gettext_noop("Account settings"),
)
FACTOR_ENABLED = Message(
    gettext_noop("Two-factor authentication was enabled"),
    gettext_noop(
        "Two-factor authentication of the %(service)s account %(username)s was enabled."
        " All other browsers were signed out."
    ),
    gettext_noop("Account settings"),
)
FACTOR_DISABLED = Message(
    gettext_noop("Two-factor authentication was disabled"),
    gettext_noop(
        "Two-factor authentication of the %(service)s account %(username)s was disabled."
        " All other browsers were signed out."
    ),
    gettext_noop("Account settings"),
)
FACTOR_REPLACED = Message(
    gettext_noop("Two-factor authentication uses a new phone"),
    gettext_noop(
        "Two-factor authentication of the %(service)s account %(username)s was moved to another phone or app. The old"
        " codes and recovery codes do not work any more. All other browsers were signed out."
    ),
    gettext_noop("Account settings"),
)
FACTOR_REMOVED = Message(
    gettext_noop("Two-factor authentication was removed by an administrator"),
    gettext_noop(
        "An administrator removed the two-factor authentication of the %(service)s account %(username)s. All browsers"
        " were signed out. Sign-in asks only for the password until you set up a new phone."
    ),
    gettext_noop("Account settings"),
)
WRONG_CODES = Message(
    gettext_noop("Wrong sign-in codes for your %(service)s account"),
    gettext_noop(
        "Many wrong codes were entered to sign in to the %(service)s account %(username)s, after the right password."
        " Further codes have to wait."
    ),
    gettext_noop("Account settings"),
)
NEW_PASSWORD = Message(
    gettext_noop("The password of your %(service)s account was changed"),
    gettext_noop("The password of the %(service)s account %(username)s was changed. All browsers were signed out."),
    gettext_noop("Account settings"),
)
NEW_ADDRESS = Message(
    gettext_noop("The e-mail address of your %(service)s account was changed"),
    gettext_noop("The e-mail address of the %(service)s account %(username)s was changed to %(email)s."),
    gettext_noop("Account settings"),
)
ADDRESS_REQUESTED = Message(
    gettext_noop("A new e-mail address was entered for your %(service)s account"),
    gettext_noop(
        "A new e-mail address was entered for the %(service)s account %(username)s. It is used once it is confirmed"
        " by a link that was sent to it. A new password makes that link invalid."
    ),
    gettext_noop("Account settings"),
)
DELETION = Message(
    gettext_noop("Your %(service)s account will be deleted"),
    gettext_noop(
        "The %(service)s account %(username)s will be deleted with everything in it on %(time)s. Until then, sign in to"
        " cancel the deletion or to export the data."
    ),
    gettext_noop("Account settings"),
)
CONFIRM_ADDRESS = Message(
    gettext_noop("Confirm your e-mail address"),
    gettext_noop("This address was entered for an account of %(service)s. Confirm it here within one hour:"),
    gettext_noop("Confirm"),
    _HOUR,
)
RESET = Message(
    gettext_noop("Reset your %(service)s password"),
    gettext_noop(
        "A password reset was requested for your %(service)s account. Choose a new password here within one hour:"
    ),
    gettext_noop("Choose a new password"),
    _HOUR,
)
REGISTRATION = Message(
    gettext_noop("Your %(service)s account"),
    gettext_noop("Welcome to %(service)s. Create your account here within one hour:"),
    gettext_noop("Create account"),
    _HOUR,
)
WELCOME = Message(
    gettext_noop("Your %(service)s account"),
    gettext_noop(
        "An account of %(service)s was created for you. Your username is %(username)s. Choose your password here within"
        " 7 days:"
    ),
    gettext_noop("Choose your password"),
)
EXISTING_ACCOUNT = Message(
    gettext_noop("Your %(service)s account"),
    gettext_noop("An account was requested with this e-mail address, which already has one. Sign in here:"),
    gettext_noop("Sign in"),
)
NOT_REQUESTED = gettext_noop("If you did not request it, ignore this e-mail.")
_ADVICE = gettext_noop("If you did not do this, choose a new password, revoke all API keys and end all sessions:")
_LOCKED_OUT = gettext_noop("If you cannot sign in any more, contact the administrator.")
