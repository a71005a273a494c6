"""Characters of texts that people type: the one form in which texts are compared, and one that a terminal can show.

Texts are compared by decision 72. Stored texts stay as they were typed.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Soft hyphens, marks of direction, selectors of variants and other characters without a shape, as ranges."""
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_MAX_LETTER = 0x1E943
"""The last character with case."""


def first_refused(text: str, is_allowed: Callable[[str], object]) -> str:
    """Return the first character that is not allowed, or its code point if it cannot be seen; "" if all are allowed."""
    character = next((each for each in text if not is_allowed(each)), "")
    return character if character.isprintable() else f"U+{ord(character):04X}"


def folded(text: str) -> str:
    """Return a text in the form that is compared: composed, without case, spaces at its ends and invisible characters.

    The dot above is no part of a small i, so that `istanbul` equals `İstanbul`.
    """
    if text.isascii():
        return text.lower().strip()
    visible = unicodedata.normalize("NFC", without_invisible(text))
    return unicodedata.normalize("NFC", visible.casefold()).replace("i\u0307", "i").strip()


def without_invisible(text: str) -> str:
    """Return a text without invisible characters."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def unfolded(text: str) -> tuple[str, str]:
    """Return the characters whose folded form is a character of a folded text, and their folded forms in this order."""
    pairs = [(letter, form) for form in dict.fromkeys(text) for letter in _letters().get(form, "")]
    return "".join(letter for letter, _ in pairs), "".join(form for _, form in pairs)


@cache
def _letters() -> Mapping[str, str]:
    """Return all characters that differ from their folded form, by that form if it is one character."""
    letters: dict[str, str] = {}
    for number in range(_MAX_LETTER + 1):
        letter = chr(number)
        if len(form := letter.casefold().replace("i\u0307", "i")) == 1 and form != letter:
            letters[form] = letters.get(form, "") + letter
    return letters


def escape_control_characters(text: str, keep: str = "") -> str:
    """Return the text for a terminal: control and format characters as escapes such as `\\x1b`.

    They could move the cursor, hide text, forge lines or reverse the reading order.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else ascii(char)[1:-1] for char in text)
