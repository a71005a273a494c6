"""Letters: e-mail of our own, such as the link to a new password. Sent beside everything; nobody waits."""

import smtplib
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from urllib.parse import unquote, urlsplit

import structlog

from waypost.settings import Settings

_log = structlog.get_logger("letters")
_SECONDS = 20
_PORTS = {"smtp": 587, "smtps": 465}
_MOST_WAITING = 200


class Mailer:
    """The operator's mail server, if there is one."""

    def __init__(self, settings: Settings) -> None:
        self._url = urlsplit(settings.smtp_url.get_secret_value())
        self._sender = settings.mail_from or unquote(self._url.username or "") or f"waypost@{settings.own_host}"
        self._clerk = ThreadPoolExecutor(1, thread_name_prefix="letters")
        self._waiting = 0

    @property
    def can_send(self) -> bool:
        """Whether the operator has set up a mail server."""
        return bool(self._url.hostname)

    def send(self, to: str, subject: str, text: str) -> None:
        """Hand a letter in. What goes wrong later is logged; who asked is told the same in any case."""
        letter = EmailMessage()
        letter["From"], letter["To"], letter["Subject"] = self._sender, to, subject
        letter["Date"], letter["Message-ID"] = formatdate(), make_msgid(domain=self._sender.rpartition("@")[2])
        letter["Auto-Submitted"] = "auto-generated"
        letter.set_content(text)
        if self._waiting >= _MOST_WAITING:
            _log.error("too many letters wait to be sent", subject=subject)
            return
        self._waiting += 1
        self._clerk.submit(self._bring, letter)

    def close(self) -> None:
        """Send what was handed in, then stop."""
        self._clerk.shutdown()

    def _bring(self, letter: EmailMessage) -> None:
        host, scheme = self._url.hostname or "", self._url.scheme
        port = self._url.port or _PORTS[scheme]
        try:
            kind = smtplib.SMTP_SSL if scheme == "smtps" else smtplib.SMTP
            with kind(host, port, timeout=_SECONDS) as server:
                if scheme == "smtp" and server.has_extn("starttls"):
                    server.starttls()
                if self._url.username:
                    server.login(unquote(self._url.username), unquote(self._url.password or ""))
                server.send_message(letter)
        except (OSError, smtplib.SMTPException) as error:
            _log.error("a letter could not be sent", error=str(error), subject=letter["Subject"])
        finally:
            self._waiting -= 1
