"""A mail server of the tests' own."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes

from tests.support.server import free_port


@contextmanager
def mailbox() -> Iterator[tuple[int, list[dict[str, str]]]]:
    """A mail server that keeps what it is sent: (its port, the letters)."""
    letters: list[dict[str, str]] = []

    class Session(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            to = ""
            while line := self.rfile.readline():
                word = line[:4].upper()
                if word == b"RCPT":
                    to = line.decode().partition("<")[2].partition(">")[0]
                if word == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    body = b""
                    while (part := self.rfile.readline()) != b".\r\n":
                        body += part
                    letter = message_from_bytes(body)
                    payload = letter.get_payload(decode=True)
                    assert isinstance(payload, bytes)
                    letters.append({"to": to, "subject": letter["subject"], "text": payload.decode()})
                self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 yes\r\n")
                if word == b"QUIT":
                    return

    port = free_port()
    with socketserver.ThreadingTCPServer(("127.0.0.1", port), Session) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield port, letters
        server.shutdown()
        thread.join()
