"""A local SMTP server that stores e-mail."""

import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy

from tests.support.server import free_port
from tests.support.threads import in_thread


@contextmanager
def mailbox() -> Iterator[tuple[int, list[dict[str, str]]]]:
    """Start the server; yield its port and the list of received e-mails."""
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
                    message = message_from_bytes(body, policy=policy.default)
                    payload = message.get_payload(decode=True)
                    assert isinstance(payload, bytes)
                    messages.append({"to": to, "subject": str(message["subject"]), "text": payload.decode()})
                self.wfile.write(b"221 bye\r\n" if command == b"QUIT" else b"250 yes\r\n")
                if command == b"QUIT":
                    return

    port = free_port()
    with in_thread(socketserver.ThreadingTCPServer(("127.0.0.1", port), Session)):
        yield port, messages
