"""The rules for a new password of an account. Passwords that exist are not checked again."""

import re
from collections.abc import Iterable

from waypost.core.errors import invalid
from waypost.core.text_folding import folded

_MIN_LENGTH = 8
_FIRST_GUESSES = 10_000
"""Attackers try this many passwords before all others: NIST 800-63B asks to refuse them."""
_MAX_ESTIMATED_LENGTH = 12
"""The estimate of longer texts with many signs can take seconds."""
_MIN_NAME = 4
"""A shorter name, such as `ana`, is part of words such as `banana`: a password may have it if the rest is a word."""
_WORD = re.compile(rf"[^\W\d_]{{{_MIN_NAME},}}")
_DECORATED_WORD = re.compile(r"[^a-z]{0,4}([a-z].{2,}[a-z])[^a-z]{0,4}\Z")
"""A word with a few digits and signs around it, such as `letmein` of `letmein2026`."""


def checked_password(value: str, names: Iterable[str], *, field: str = "password") -> str:
    """Return the password if it is 8 to 128 characters (decision 15) and hard to guess. Raises INVALID on `field`.

    `names`: the username and e-mail address of the account. Takes up to 50 ms: never call it in a transaction.
    """
    if not _MIN_LENGTH <= len(value) <= 128:
        raise invalid(field, f"{field} must be 8 to 128 characters.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise invalid(field, f"{field} must be a string of valid Unicode.") from error
    text = folded(value)
    if shown := next((part for part in _parts(names) if _has(text, part)), ""):
        raise invalid(field, f'{field} must not contain "{shown}", which is part of the username or e-mail address.')
    if _is_common(text):
        raise invalid(field, f"{field} is easy to guess. Use several words, or a password manager.")
    return value


def _parts(names: Iterable[str]) -> list[str]:
    """Return the names, the local parts of e-mail addresses, and their words, except for the last part of a domain.

    The longest is first, all without case.
    """
    parts: set[str] = set()
    for name in map(folded, names):
        local, _, domain = name.partition("@")
        organization, _, last = domain.rpartition(".")
        parts |= {name, local, *_WORD.findall(local), *_WORD.findall(organization or last)}
    return sorted(parts - {""}, key=lambda part: (-len(part), part))


def _has(text: str, part: str) -> bool:
    """Return whether a password contains a part of a name; if that is short, with little else."""
    rest = text.replace(part, "")
    return part in text and (len(part) >= _MIN_NAME or sum(map(str.isalpha, rest)) < _MIN_NAME)


def _is_common(text: str) -> bool:
    """Return whether attackers try a password early: a known one, also with a few digits, or a pattern."""
    if not text:
        return True
    from zxcvbn import frequency_lists, zxcvbn  # noqa: PLC0415  # 14 MB of words, which only a new password needs

    word = _DECORATED_WORD.match(text)
    period = f"{text}{text}".find(text, 1)  # after which the text repeats itself
    known = frequency_lists.FREQUENCY_LISTS["passwords"]
    if text[:period] in known or (word is not None and word[1] in known):
        return True
    return len(text) <= _MAX_ESTIMATED_LENGTH and bool(zxcvbn(text)["guesses"] <= _FIRST_GUESSES)
