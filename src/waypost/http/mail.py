"""E-mail of the service, such as password reset links. Sent by a background thread; requests do not wait for it."""

import smtplib
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from email.utils import formataddr, formatdate, make_msgid
from math import inf
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import structlog

from waypost.core.settings import Settings

_log = structlog.get_logger("mail")
_TIMEOUT_SECONDS = 20
_SHUTDOWN_SECONDS = 10
_PORTS = {"smtp": 587, "smtps": 465}
_MAX_QUEUED = 200
# E-mail is prepared after the response: before, it would slow the response down, and more if there is a recipient.
_DELAY_SECONDS = 0.25
_NO_TLS = "the SMTP server does not offer STARTTLS; set WAYPOST_SMTP_TLS=off to send e-mail and password in plain text"


class Email(NamedTuple):
    """An e-mail to one recipient. `service` is the name of the sender, unless the settings have one."""

    to: str
    subject: str
    text: str
    service: str = ""


class Mailer:
    """Sends e-mail through the SMTP server of the settings, if there is one."""

    def __init__(self, settings: Settings, report_queued: Callable[[int], None] = lambda _: None) -> None:
        """Prepare it. `report_queued` is called with the length of the queue when it changes."""
        self._url = urlsplit(settings.smtp_url.get_secret_value())
        self._requires_tls = settings.smtp_tls == "required"
        self._sender = settings.mail_from or unquote(self._url.username or "") or f"waypost@{settings.own_host}"
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="mail")
        self._report_queued = report_queued
        self._queued = 0
        self._lock = threading.Lock()
        self._deadline = inf

    @property
    def can_send(self) -> bool:
        """True if an SMTP server is configured."""
        return bool(self._url.hostname)

    def send_later(self, prepare: Callable[[], Email | None]) -> None:
        """Queue an e-mail that `prepare` makes in the mail thread, or not. Without an SMTP server, do nothing.

        Neither the response nor its time depends on whether there is a recipient. Errors are only logged.
        """
        if not self.can_send:
            return
        if self._queued >= _MAX_QUEUED:
            _log.error("e-mail queue is full")
            return
        self._count(1)
        self._executor.submit(self._work, prepare, time.monotonic() + _DELAY_SECONDS)

    def send_now(self, email: Email) -> str:
        """Send an e-mail in the calling thread. Return the reason if the SMTP server did not accept it, else ""."""
        return self._try_to_deliver(email)

    def _work(self, prepare: Callable[[], Email | None], start: float) -> None:
        try:
            time.sleep(max(0, start - time.monotonic()))
            if (email := prepare()) is not None and (reason := self._try_to_deliver(email)):
                _log.error("e-mail could not be sent", reason=reason, subject=email.subject)
        except Exception as error:  # noqa: BLE001  # the outermost edge of the thread
            _log.exception("e-mail could not be prepared", reason=str(error))
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self._queued += change
            self._report_queued(self._queued)

    def _message(self, to: str, subject: str, text: str, service: str = "") -> EmailMessage:
        message = EmailMessage()
        is_named = "<" in self._sender or not service
        message["From"] = self._sender if is_named else formataddr((service, self._sender))
        message["To"], message["Subject"] = to, subject
        message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=self._sender.rpartition("@")[2])
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(text)
        return message

    def close(self) -> None:
        """Send queued e-mail for at most ten seconds more, then stop."""
        self._deadline = time.monotonic() + _SHUTDOWN_SECONDS
        self._executor.shutdown()

    def _try_to_deliver(self, email: Email) -> str:
        """Send an e-mail. Return why it could not be sent, else ""."""
        message = self._message(*email)
        try:
            self._deliver(message, email.to)
        except (OSError, smtplib.SMTPException, ValueError) as error:  # ValueError: a character that SMTP cannot send
            return str(error) or type(error).__name__
        return ""

    def _deliver(self, message: EmailMessage, to: str) -> None:
        with self._connect() as server:
            if self._url.username:
                server.login(unquote(self._url.username), unquote(self._url.password or ""))
            server.send_message(message, to_addrs=[to])

    def _connect(self) -> smtplib.SMTP:
        """Connect with TLS and a checked certificate; `smtp_tls` can allow plain text for smtp://."""
        host, port = self._url.hostname or "", self._url.port or _PORTS[self._url.scheme]
        seconds = min(_TIMEOUT_SECONDS, self._deadline - time.monotonic())
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
