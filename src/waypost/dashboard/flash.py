"""Messages that the next page shows: in a signed cookie, for a minute."""

from typing import Literal, NamedTuple

from waypost.db.signing import Signer

COOKIE = "waypost_said"
SECONDS = 60
Tone = Literal["good", "bad"]


class Flash(NamedTuple):
    """A message. `copy_text` is a short URL with a copy button.

    `batch` is sent by an Undo button to the page `undo_path`; "" for no button.
    `edit_path` and `another_path` are the forms of a new link and of another one. With them, the message is a card.
    """

    tone: str
    message: str
    copy_text: str = ""
    undo_path: str = ""
    batch: str = ""
    edit_path: str = ""
    another_path: str = ""


NO_UNDO = ("", "")
"""`undo_path` and `batch` of a message without an Undo button."""
NO_CARD = ("", "")
"""`edit_path` and `another_path` of a message without a card."""


def sign(signer: Signer, flash: Flash) -> str:
    """Return the value of the cookie; long texts are cut."""
    short = flash._replace(message=flash.message[:500], copy_text=flash.copy_text[:500])
    return signer.sign(COOKIE, *short, life=SECONDS)


def read(signer: Signer, cookie: str) -> Flash | None:
    """Return the message of a cookie; None for an invalid or expired one."""
    values = signer.unsign(COOKIE, cookie)
    return Flash(*values) if values and len(values) == len(Flash._fields) else None
