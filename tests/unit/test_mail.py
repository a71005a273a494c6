"""E-mail over a real SMTP server: TLS with a checked certificate before login, or an error."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from pydantic import SecretStr

from tests.support.mailbox import mailbox
from tests.support.server import free_port
from waypost.core.settings import Settings
from waypost.http.smtp import Email, SmtpServer


class Inbox:
    """Handler of aiosmtpd that records logins and e-mails, each with whether TLS was used."""

    def __init__(self) -> None:
        self.logins: list[tuple[bool, bytes, bytes]] = []
        self.emails: list[tuple[bool, list[str], str]] = []

    def login(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, credentials: LoginPassword
    ) -> AuthResult:
        """Accept every login."""
        self.logins.append((session.ssl is not None, credentials.login, credentials.password))
        return AuthResult(success=True)

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  # aiosmtpd
        """Store an e-mail."""
        content = envelope.content
        assert isinstance(content, bytes)
        self.emails.append((session.ssl is not None, envelope.rcpt_tos, content.decode()))
        return "250 stored"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """A certificate authority for the tests."""
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust `authority` as an administrator does."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


@contextmanager
def _smtp_server(certificate: trustme.LeafCert | None, *, scheme: str = "smtp") -> Iterator[tuple[int, Inbox]]:
    """An SMTP server that requires STARTTLS, speaks TLS from the start, or has no TLS at all."""
    implicit = scheme == "smtps"
    inbox, context = Inbox(), None
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate.configure_cert(context)
    controller = Controller(
        inbox,
        hostname="127.0.0.1",
        port=free_port(),
        ssl_context=context if implicit else None,
        tls_context=None if implicit else context,
        require_starttls=context is not None and not implicit,
        authenticator=inbox.login,
        auth_require_tls=False,  # the client must protect its password itself
    )
    controller.start()
    try:
        yield controller.port, inbox
    finally:
        controller.stop()


def _send(url: str, *, to: str = "ana@example.com", **settings: str) -> list[str]:
    """Send one e-mail and return the reasons why it was not sent."""
    server = SmtpServer(Settings.model_validate({"smtp_url": url, "mail_from": "waypost@example.com", **settings}))
    failure = server.send(Email(to, "Reset your password", "https://go.example.com/secret"))
    return [failure.reason] if failure else []


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_login_and_email_use_tls(authority: trustme.CA, scheme: str) -> None:
    with _smtp_server(authority.issue_cert("127.0.0.1"), scheme=scheme) as (port, inbox):
        assert _send(f"{scheme}://admin:s3cr%20et@127.0.0.1:{port}") == []
    (login,), (email,) = inbox.logins, inbox.emails
    assert login[1:] == (b"admin", b"s3cr et")
    assert (email[0] or scheme == "smtps", email[1]) == (True, ["ana@example.com"])
    assert "https://go.example.com/secret" in email[2]


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_untrusted_certificate_gets_no_password_and_no_email(authority: trustme.CA, scheme: str) -> None:
    with _smtp_server(authority.issue_cert("127.0.0.1"), scheme=scheme) as (port, inbox):
        (error,) = _send(f"{scheme}://admin:secret@127.0.0.1:{port}")
    assert "certificate" in error.lower()
    assert (inbox.logins, inbox.emails) == ([], [])


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_certificate_of_another_host_gets_no_password_and_no_email(authority: trustme.CA, scheme: str) -> None:
    with _smtp_server(authority.issue_cert("attacker.example"), scheme=scheme) as (port, inbox):
        (error,) = _send(f"{scheme}://admin:secret@127.0.0.1:{port}")
    assert "certificate" in error.lower()
    assert (inbox.logins, inbox.emails) == ([], [])


@pytest.mark.parametrize("user", ["", "admin:secret@"])
def test_server_without_starttls_gets_email_only_if_tls_is_off(user: str) -> None:
    with _smtp_server(None) as (port, inbox):
        (error,) = _send(f"smtp://{user}127.0.0.1:{port}")
        assert "STARTTLS" in error
        assert "WAYPOST_SMTP_TLS" in error
        assert (inbox.logins, inbox.emails) == ([], [])
        assert _send(f"smtp://{user}127.0.0.1:{port}", smtp_tls="off") == []
    assert (len(inbox.logins), [email[1] for email in inbox.emails]) == (bool(user), [["ana@example.com"]])


@pytest.mark.parametrize("name", ["mail_from", "smtp_url"])
def test_line_break_in_sender_is_rejected(name: str) -> None:
    values = {"mail_from": "a@example.com\nBcc: eve@example.com", "smtp_url": "smtp://a%0ABcc@mail.example.com"}
    with pytest.raises(ValueError, match="without control characters"):
        Settings.model_validate({name: values[name]})


def test_line_break_in_recipient_is_rejected() -> None:
    (error,) = _send("smtp://127.0.0.1:1", to="ana@example.com\r\nBcc: eve@example.com")
    assert "linefeed" in error


def test_comma_in_recipient_does_not_add_another_one() -> None:
    with _smtp_server(None) as (port, inbox):
        _send(f"smtp://127.0.0.1:{port}", to="ana@example.com, eve@example.com", smtp_tls="off")
    assert all("eve@example.com" not in email[1] for email in inbox.emails)


@pytest.mark.parametrize(
    ("mail_from", "service", "sender"),
    [
        ("go@example.com", "", "go@example.com"),
        ("go@example.com", 'Acme, "Inc" <x@y.example>', r'"Acme, \"Inc\" <x@y.example>" <go@example.com>'),
        ("go@example.com", "Söhne", "Söhne <go@example.com>"),
        ("Desk <go@example.com>", "Acme", "Desk <go@example.com>"),
    ],
)
def test_sender_has_the_name_of_the_service_unless_the_settings_name_one(
    mail_from: str, service: str, sender: str
) -> None:
    server = SmtpServer(Settings(mail_from=mail_from, smtp_url=SecretStr("smtp://127.0.0.1:1")))
    message = server.message(Email("ana@example.com", "Hello", "Text", service), server.new_message_id())
    assert message["From"] == sender
    assert len(message["From"].addresses) == 1
    assert message["From"].addresses[0].addr_spec == "go@example.com"
    message.as_bytes()


def test_long_url_of_list_unsubscribe_is_not_folded() -> None:
    server = SmtpServer(Settings(smtp_url=SecretStr("smtp://127.0.0.1:1")))
    url = f"https://go.example.com/dashboard/reports/unsubscribe?pass={'Ab-9.' * 30}"
    message = server.message(Email("ana@example.com", "Hello", "Text", unsubscribe=url), server.new_message_id())
    for line_end in ("\n", "\r\n"):
        data = message.as_bytes(policy=message.policy.clone(linesep=line_end))
        assert f"{line_end}List-Unsubscribe: <{url}>{line_end}".encode() in data


@pytest.mark.parametrize("break_", ["\r\n", "\n", "\r"])
def test_line_break_in_list_unsubscribe_is_rejected(break_: str) -> None:
    server = SmtpServer(Settings(smtp_url=SecretStr("smtp://127.0.0.1:1")))
    email = Email("ana@example.com", "Hello", "Text", unsubscribe=f"https://a.example/{break_}Bcc: eve@example.com")
    with pytest.raises(ValueError, match="linefeed"):
        server.message(email, server.new_message_id())


@pytest.mark.parametrize(("user", "is_permanent"), [("", True), ("admin:secret@", False)])
def test_address_that_needs_smtputf8_is_permanent_and_a_server_without_login_is_not(
    user: str, *, is_permanent: bool
) -> None:
    with mailbox() as (port, received):
        server = SmtpServer(Settings(smtp_url=SecretStr(f"smtp://{user}127.0.0.1:{port}"), smtp_tls="off"))
        failure = server.send(Email("ana@example.com" if user else "zoë@example.com", "Hello", "Text"))
    assert failure is not None
    assert (failure.is_permanent, failure.is_offline, received) == (is_permanent, not is_permanent, [])


def test_refused_sender_stops_the_queue_and_discards_nothing() -> None:
    with mailbox(sender_answer=b"550 not your address\r\n") as (port, received):
        server = SmtpServer(Settings(smtp_url=SecretStr(f"smtp://127.0.0.1:{port}"), smtp_tls="off"))
        failure = server.send(Email("ana@example.com", "Hello", "Text"))
    assert failure is not None
    assert "not your address" in failure.reason
    assert (failure.is_permanent, failure.is_offline, received) == (False, True, [])
