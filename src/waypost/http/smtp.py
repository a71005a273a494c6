"""One e-mail over SMTP: its MIME message, and the connection with a checked certificate."""

import base64
import smtplib
import ssl
import time
from contextlib import suppress
from email.headerregistry import BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage, MIMEPart
from email.policy import EmailPolicy, Policy
from email.utils import formataddr, formatdate, make_msgid
from math import inf
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from waypost.core.settings import Settings
from waypost.core.uris import ascii_host

LOGO_CID = "logo"
"""The picture that `html` shows as `cid:logo`."""
DAY = 86_400
_TIMEOUT_SECONDS = 20
_PORTS = {"smtp": 587, "smtps": 465}
_PERMANENT = 500
_NO_TLS = "the SMTP server does not offer STARTTLS; set WAYPOST_SMTP_TLS=off to send e-mail and password in plain text"


class Email(NamedTuple):
    """An e-mail to one recipient. `service` is the name of the sender, unless the settings have one.

    `logo` is a PNG as a `data:` URL, and `unsubscribe` the URL of RFC 8058, "" for none. After `life` seconds the
    e-mail is not sent any more.
    """

    to: str
    subject: str
    text: str
    service: str = ""
    html: str = ""
    logo: str = ""
    unsubscribe: str = ""
    life: int = 2 * DAY


class Failure(NamedTuple):
    """The reason why an e-mail was not sent. `is_permanent`: the server refuses it, now and later."""

    reason: str
    is_permanent: bool
    is_offline: bool
    """True if the server could not be reached, so that other e-mails cannot be sent either."""


class _UrlHeader(UnstructuredHeader, BaseHeader):
    """A header with a URL in ASCII, which is never folded: a long one would become an encoded word."""

    def fold(self, *, policy: Policy) -> str:
        """Return the header as one line."""
        return f"{self.name}: {self}{policy.linesep}"


_headers = HeaderRegistry()
_headers.map_to_type("list-unsubscribe", _UrlHeader)
_POLICY = EmailPolicy(header_factory=_headers)


class SmtpServer:
    """The SMTP server of the settings, if there is one. All methods block."""

    def __init__(self, settings: Settings) -> None:
        self._url = urlsplit(settings.smtp_url.get_secret_value())
        self._requires_tls = settings.smtp_tls == "required"
        self._sender = settings.mail_from or unquote(self._url.username or "") or f"waypost@{settings.own_host}"
        self.deadline = inf
        """The time of the monotonic clock after which no connection is opened."""

    @property
    def is_configured(self) -> bool:
        """True if the settings have an SMTP server."""
        return bool(self._url.hostname)

    def new_message_id(self) -> str:
        """Return a `Message-ID`, which all attempts to send an e-mail share."""
        return make_msgid(domain=self._sender.rpartition("@")[2].rstrip("> "))

    def send(self, email: Email, message_id: str = "") -> Failure | None:
        """Send an e-mail. Return why it was not sent, else None."""
        try:
            self._deliver(self.message(email, message_id or self.new_message_id()), _address(email.to))
        except smtplib.SMTPRecipientsRefused as error:
            code, text = next(iter(error.recipients.values()))
            return Failure(f"{code} {text.decode('utf-8', 'replace')}", code >= _PERMANENT, is_offline=False)
        except smtplib.SMTPDataError as error:
            return Failure(str(error), error.smtp_code >= _PERMANENT, is_offline=False)
        except (OSError, smtplib.SMTPException) as error:  # also a refused sender, which refuses all e-mails
            return Failure(str(error) or type(error).__name__, is_permanent=False, is_offline=True)
        except ValueError as error:  # a character that SMTP cannot send
            return Failure(str(error), is_permanent=True, is_offline=False)
        return None

    def message(self, email: Email, message_id: str) -> EmailMessage:
        """Return the MIME message: a text part, and perhaps HTML with the logo. Raises ValueError for line breaks."""
        message = EmailMessage(_POLICY)
        is_named = "<" in self._sender or not email.service
        message["From"] = self._sender if is_named else formataddr((email.service, self._sender))
        message["To"], message["Subject"] = _address(email.to), email.subject
        message["Date"], message["Message-ID"] = formatdate(), message_id
        message["Auto-Submitted"] = "auto-generated"
        if email.unsubscribe:
            message["List-Unsubscribe"] = f"<{email.unsubscribe}>"
            message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        message.set_content(email.text)
        if email.html:
            message.add_alternative(email.html, subtype="html")
        if email.html and email.logo:
            html = message.get_payload(1)
            assert isinstance(html, MIMEPart)
            png = base64.b64decode(email.logo.partition(",")[2])
            html.add_related(png, "image", "png", cid=f"<{LOGO_CID}>", disposition="inline")
        return message

    def _deliver(self, message: EmailMessage, to: str) -> None:
        server = self._connect()
        try:
            if self._url.username:
                server.login(unquote(self._url.username), unquote(self._url.password or ""))
            server.send_message(message, to_addrs=[to])
        except smtplib.SMTPNotSupportedError as error:  # the server has no login, or no SMTPUTF8 for an address
            if to.isascii():
                raise
            raise ValueError(str(error)) from error
        finally:
            with suppress(OSError, smtplib.SMTPException):  # the message is accepted already, or its error is raised
                server.quit()
            server.close()

    def _connect(self) -> smtplib.SMTP:
        """Connect with TLS and a checked certificate; `smtp_tls` can allow plain text for smtp://."""
        host, port = self._url.hostname or "", self._url.port or _PORTS[self._url.scheme]
        seconds = min(_TIMEOUT_SECONDS, self.deadline - time.monotonic())
        if seconds <= 0:
            raise TimeoutError("the service stopped before the SMTP server answered")
        context = ssl.create_default_context()
        if self._url.scheme == "smtps":
            return smtplib.SMTP_SSL(host, port, timeout=seconds, context=context)
        server = smtplib.SMTP(host, port, timeout=seconds)
        if self._requires_tls:
            try:
                server.starttls(context=context)
            except smtplib.SMTPNotSupportedError as error:
                server.close()
                raise smtplib.SMTPException(_NO_TLS) from error
            except (OSError, smtplib.SMTPException):
                server.close()
                raise
        return server


def _address(address: str) -> str:
    """Return an address whose domain is ASCII, so that the server needs no extension for it."""
    local, at, domain = address.rpartition("@")
    return f"{local}{at}{ascii_host(domain) or domain}"
