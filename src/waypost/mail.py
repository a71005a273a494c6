"""E-mail of the service, such as password reset links. Sent by a background thread; requests do not wait for it."""

import smtplib
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from urllib.parse import unquote, urlsplit

import structlog

from waypost.settings import Settings

_log = structlog.get_logger("mail")
_TIMEOUT_SECONDS = 20
_PORTS = {"smtp": 587, "smtps": 465}
_MAX_QUEUED = 200


class Mailer:
    """Sends e-mail through the SMTP server of the settings, if there is one."""

    def __init__(self, settings: Settings) -> None:
        self._url = urlsplit(settings.smtp_url.get_secret_value())
        self._sender = settings.mail_from or unquote(self._url.username or "") or f"waypost@{settings.own_host}"
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="mail")
        self._queued = 0

    @property
    def can_send(self) -> bool:
        """True if an SMTP server is configured."""
        return bool(self._url.hostname)

    def send(self, to: str, subject: str, text: str) -> None:
        """Queue an e-mail. Later errors are only logged: the sender's response must not depend on them."""
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = self._sender, to, subject
        message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=self._sender.rpartition("@")[2])
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(text)
        if self._queued >= _MAX_QUEUED:
            _log.error("e-mail queue is full", subject=subject)
            return
        self._queued += 1
        self._executor.submit(self._deliver, message)

    def close(self) -> None:
        """Send all queued e-mail, then stop."""
        self._executor.shutdown()

    def _deliver(self, message: EmailMessage) -> None:
        host, scheme = self._url.hostname or "", self._url.scheme
        port = self._url.port or _PORTS[scheme]
        try:
            smtp = smtplib.SMTP_SSL if scheme == "smtps" else smtplib.SMTP
            with smtp(host, port, timeout=_TIMEOUT_SECONDS) as server:
                if scheme == "smtp" and server.has_extn("starttls"):
                    server.starttls()
                if self._url.username:
                    server.login(unquote(self._url.username), unquote(self._url.password or ""))
                server.send_message(message)
        except (OSError, smtplib.SMTPException) as error:
            _log.error("e-mail could not be sent", error=str(error), subject=message["Subject"])
        finally:
            self._queued -= 1
