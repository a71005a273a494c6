"""What visitors carry, signed by this installation: who began a download, and who knows a file's password."""

import base64
import hashlib
import hmac
import secrets

from waypost.visits.lookup import FileView

VISITOR = "wp_visitor"
OPENED = "wp_opened"
LIFE = 86_400
"""Seconds that a token is good for: as long as a download can be gone on with."""


class VisitorTokens:
    """Makes and checks tokens. Each is good for one file only, whatever it is called."""

    def __init__(self, secret: bytes) -> None:
        self._key = hashlib.sha256(b"visitors of files:" + secret).digest()

    def new_visitor(self, file: FileView) -> str:
        """A token for somebody who was never here."""
        random = secrets.token_urlsafe(16)
        return f"{random}.{self._sign('visitor', file, random)}"

    def is_visitor(self, file: FileView, token: str) -> bool:
        """Whether we made this token for a visitor of this file."""
        random, _, signature = token.partition(".")
        return hmac.compare_digest(signature.encode(), self._sign("visitor", file, random).encode())

    def opened(self, file: FileView, until: int) -> str:
        """A token for somebody who knew the file's password; another password makes it worthless."""
        return f"{until}.{self._sign('opened', file, f'{until} {file.password}')}"

    def is_opened(self, file: FileView, token: str, now: int) -> bool:
        """Whether its bearer knew the password that the file has now."""
        until, _, signature = token.partition(".")
        if not (until.isascii() and until.isdecimal() and len(until) < 15 and int(until) >= now):
            return False
        return hmac.compare_digest(signature.encode(), self._sign("opened", file, f"{until} {file.password}").encode())

    def visitor_of(self, file: FileView, who: str) -> bytes:
        """All that is stored of a visitor: a hash that tells nobody who it is, and is another one for each file."""
        return hmac.digest(self._key, f"{file.id}\t{who}".encode(), "sha256")[:16]

    def _sign(self, purpose: str, file: FileView, words: str) -> str:
        digest = hmac.digest(self._key, f"{purpose}\t{file.id}\t{file.object}\t{words}".encode(), "sha256")
        return base64.urlsafe_b64encode(digest[:18]).decode()
