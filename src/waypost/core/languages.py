"""Languages of the dashboard and of the pages for visitors. English is the source; others are gettext catalogs.

`locales/<language>/LC_MESSAGES/messages.po` of a package is compiled when waypost is installed
(scripts/build_messages.py). To add a language, add its catalogs, its code to LANGUAGES, and its formats
to `formats.py`. The catalogs of a variant, such as `pt_PT`, have only the texts that differ from those of `pt`.
"""

import gettext
import re
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Literal

from waypost.core import formats

SOURCE_LANGUAGE = "en"
LANGUAGES = {
    "en": "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "pt": "Português (Brasil)",
    "pt-PT": "Português (Portugal)",
    "ar": "العربية",
}
"""Codes and own names, in the order of the language switch."""
PSEUDO_LANGUAGE = "ar-XB"
"""English written from right to left, with longer texts: for tests of the layout."""
_RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")
_MAX_FORMATTED_LENGTH = 1000
_MAX_HEADER_LENGTH = 128  # characters of Accept-Language that are parsed
_LANGUAGE_RANGE = re.compile(r"([a-z]{1,8})((?:-[a-z0-9-]+)?)(?:\s*;\s*q=([01](?:\.\d{0,3})?))?\Z")
_NOT_BRAZIL = re.compile(r"(?:-[a-z]{4})?-(?!br\b)[a-z]{2}\b")
"""The region of a reader of European Portuguese: every one but Brazil, as in CLDR."""
_REASONS = frozenset({"cause", "error", "fault", "reason"})
"""Placeholders of a reason, which is a message too."""
_BYTES = frozenset({"left", "length", "max_bytes", "max_destination", "max_parameters", "upload_limit"})
"""Placeholders of a number of bytes, which the API writes without separators."""
_DATES = frozenset({"date", "day"})
"""Placeholders of a day or time, which the API writes as `2026-12-31` or `2026-12-31 18:00:00`."""
_NOUNS = frozenset({"kind", "noun", "singular"})
"""Placeholders of a kind of item. Its name in messages of errors is in lower case."""
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_ACCENTS = str.maketrans("aeiouAEIOU", "áéíóúÁÉÍÓÚ")
_PADDING_WORD = 6
_PSEUDO_KEPT = re.compile(r"(%\(\w+\)s)")


class Catalog(gettext.GNUTranslations):
    """A catalog that also translates texts whose placeholders are already replaced, such as messages of errors."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]  # the file, as the base class has it
        self.add_fallback(_Formatted(self._messages(), self.info().get("language", SOURCE_LANGUAGE).replace("_", "-")))

    def _messages(self) -> dict[str, str]:
        messages: dict[str | tuple[str, int], str] = getattr(self, "_catalog", {})
        return {key: text for key, text in messages.items() if isinstance(key, str) and key}


class _Formatted(gettext.NullTranslations):
    """Finds the message that a formatted text was made from (docs/decisions.md, "Translated errors")."""

    def __init__(self, messages: dict[str, str], language: str) -> None:
        super().__init__()
        self._messages = messages
        self._language = language

    @cached_property
    def _parts(self) -> list[tuple[list[str], str]]:
        """Messages with placeholders: texts and names in turn, and the translation. The most specific come first."""
        formatted = [
            (_PLACEHOLDER.split(key), text) for key, text in self._messages.items() if _PLACEHOLDER.search(key)
        ]
        return sorted(formatted, key=lambda item: -sum(map(len, item[0][::2])))

    def gettext(self, message: str) -> str:
        """Return the translation with the values of `message`, or `message`."""
        return self._translated(message, reasons=_REASONS)

    def _translated(self, message: str, *, reasons: frozenset[str]) -> str:
        """Translate a message and its `reasons`. Reasons of reasons stay, so the time stays linear."""
        if message in self._messages:
            return self._messages[message]
        if " " in message and "%(" not in message and len(message) <= _MAX_FORMATTED_LENGTH:
            for parts, text in self._parts:
                if values := _values(parts, message):
                    return text % {name: self._value(name, value, reasons) for name, value in values.items()}
        return message

    def _value(self, name: str, value: str, reasons: frozenset[str]) -> str:
        if name.rstrip("2") in reasons:
            return self._translated(value, reasons=frozenset())
        if name in _BYTES and value.isdecimal():
            return formats.number(int(value), self._language)
        if name in _DATES:
            return formats.date_of_message(value, self._language)
        if name in _NOUNS and (noun := self._messages.get(value[:1].upper() + value[1:])):
            return noun
        return self._messages.get(value) or formats.value_of_message(value, self._language)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """Return the translation of the singular or plural, if they are messages of their own."""
        message = msgid1 if n == 1 else msgid2
        return self._messages.get(message, message)


class PseudoCatalog(gettext.NullTranslations):
    """Texts in brackets, with accents, a third longer and written from right to left; placeholders stay."""

    def gettext(self, message: str) -> str:
        """Return the text in the pseudo-language."""
        parts = _PSEUDO_KEPT.split(message)
        text = "".join(part if index % 2 else part.translate(_ACCENTS) for index, part in enumerate(parts))
        padding = "".join(" " if index % _PADDING_WORD == 0 else "~" for index in range(len(message) // 3))
        return f"\u202e[{text}{padding}]\u202c"

    def pgettext(self, context: str, message: str) -> str:
        """Return the text of any context in the pseudo-language."""
        return self.gettext(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """Return the singular or plural in the pseudo-language."""
        return self.gettext(msgid1 if n == 1 else msgid2)


def _values(parts: list[str], text: str) -> dict[str, str]:
    """Return the values of the placeholders in a text, in linear time; nothing if the text does not fit."""
    first, *others = (part.replace("%%", "%") for part in parts[::2])
    if not text.startswith(first) or not text.endswith(others[-1]):
        return {}
    values: dict[str, str] = {}
    start = len(first)
    for index, literal in enumerate(others):
        is_last = index == len(others) - 1
        end = len(text) - len(literal) if is_last else text.find(literal, start + 1)
        name = parts[2 * index + 1]
        if end <= start or values.setdefault(name, text[start:end]) != text[start:end]:
            return {}
        start = end + len(literal)
    return values


@cache
def translations(package: Literal["waypost.dashboard", "waypost.visits"], language: str) -> gettext.NullTranslations:
    """Return the catalog of a package in one of LANGUAGES, or of the pseudo-language."""
    if language == PSEUDO_LANGUAGE:
        return PseudoCatalog()
    if language == SOURCE_LANGUAGE:
        return gettext.NullTranslations()
    path = files(package) / "locales" / language.replace("-", "_") / "LC_MESSAGES" / "messages.mo"
    with path.open("rb") as file:
        return Catalog(file)


def translatable(message: str) -> str:
    """Mark a message of the pages for visitors for `make messages`; it is translated when a page shows it."""
    return message


@lru_cache(maxsize=1024)
def negotiate_language(accept_language: str, *, pseudo: bool = False) -> str:
    """Return the supported language that the client prefers; English if there is none (RFC 9110, section 12.5.4).

    `pseudo` allows the pseudo-language for tests.
    """
    if pseudo and accept_language.startswith(PSEUDO_LANGUAGE):
        return PSEUDO_LANGUAGE
    best, best_quality = SOURCE_LANGUAGE, 0.0
    for part in accept_language[:_MAX_HEADER_LENGTH].lower().split(","):
        match = _LANGUAGE_RANGE.match(part.strip())
        if match and match[1] in LANGUAGES and float(match[3] or 1) > best_quality:
            best, best_quality = _variant(match[1], match[2]), float(match[3] or 1)
    return best


def _variant(language: str, subtags: str) -> str:
    return "pt-PT" if language == "pt" and _NOT_BRAZIL.match(subtags) else language


def direction(language: str) -> Literal["ltr", "rtl"]:
    """Return the direction of the language's script, for the attribute `dir`."""
    return "rtl" if language.partition("-")[0] in _RIGHT_TO_LEFT else "ltr"
