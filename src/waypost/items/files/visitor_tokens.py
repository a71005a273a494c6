"""Signed cookies of a file's visitors: for resumed downloads, and after the file's password was entered.

Each token is valid for one stored object of one file.
"""

import secrets

from waypost.db.signing import Signer
from waypost.visits.record_queries import FileView

VISITOR_COOKIE = "wp_visitor"
UNLOCKED_COOKIE = "wp_opened"
LIFE_SECONDS = 86_400
"""How long a token is valid: as long as a download can be resumed."""

_VISITOR, _UNLOCKED = "download visitor", "unlocked file"


def new_visitor(signer: Signer, file: FileView) -> str:
    """Return a token for a new visitor."""
    return signer.sign(_VISITOR, secrets.token_urlsafe(16), bound=_object(file))


def is_visitor(signer: Signer, file: FileView, token: str) -> bool:
    """Return whether the token was created for a visitor of this file."""
    return signer.unsign(_VISITOR, token, bound=_object(file)) is not None


def unlocked(signer: Signer, file: FileView) -> str:
    """Return a token for a visitor that entered the password. A new password invalidates it."""
    return signer.sign(_UNLOCKED, life=LIFE_SECONDS, bound=f"{_object(file)}\t{file.password}")


def is_unlocked(signer: Signer, file: FileView, token: str) -> bool:
    """Return whether the visitor has entered the file's current password."""
    return signer.unsign(_UNLOCKED, token, bound=f"{_object(file)}\t{file.password}") is not None


def visitor_hash(signer: Signer, file: FileView, visitor: str) -> bytes:
    """Return a visitor's hash, the only thing stored. It is anonymous, and different for each file."""
    return signer.digest("download visitor hash", str(file.id), visitor)[:16]


def _object(file: FileView) -> str:
    return f"{file.id}\t{file.object}"
