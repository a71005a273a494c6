"""A local SMTP server that stores e-mail."""

import socketserver
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage

from tests.support.server import free_port
from tests.support.threads import in_thread


@contextmanager
def mailbox(
    recipient_answer: bytes = b"250 yes\r\n", *, sender_answer: bytes = b"250 yes\r\n"
) -> Iterator[tuple[int, list[dict[str, str]]]]:
    """Start the server; yield its port and the list of received e-mails. The answers are those to RCPT and MAIL."""
    messages: list[dict[str, str]] = []

    class Session(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            to = ""
            while line := self.rfile.readline():
                command = line[:4].upper()
                if command == b"RCPT":
                    to = line.decode().partition("<")[2].partition(">")[0]
                if command == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    body = b""
                    while (part := self.rfile.readline()) != b".\r\n":
                        body += part
                    message = message_from_bytes(body, _class=EmailMessage, policy=policy.default)
                    messages.append({"to": to, "subject": str(message["subject"]), **_parts(message)})
                answers = {b"QUIT": b"221 bye\r\n", b"RCPT": recipient_answer, b"MAIL": sender_answer}
                self.wfile.write(answers.get(command, b"250 yes\r\n"))
                if command == b"QUIT":
                    return

    port = free_port()
    with in_thread(socketserver.ThreadingTCPServer(("127.0.0.1", port), Session)):
        yield port, messages


def _parts(message: EmailMessage) -> dict[str, str]:
    """Return the text and the HTML of a message, "" without, and the headers that tests check."""
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    headers = {name.lower(): str(message[name]) for name in ("Message-ID", "From") if name in message}
    headers |= {name.lower(): str(message[name]) for name in message if name.startswith("List-")}
    images = [part for part in message.walk() if part.get_content_maintype() == "image"]
    return {
        "text": text.get_content() if text else "",
        "html": html.get_content() if html else "",
        "pictures": " ".join(part.get_content_type() for part in images),
        "base64": " ".join(b64encode(part.get_content()).decode() for part in images),
        **headers,
    }
