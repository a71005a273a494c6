"""In which language a visitor reads our pages: English, which the templates are written in, or one of `catalogues/`.

A catalogue is a gettext .po file. Another language is one more file there, and its name in LANGUAGES.
"""

import ast
import gettext
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files

SOURCE = "en"
LANGUAGES = (SOURCE, "de")
_LONGEST = 128  # characters of Accept-Language that are looked at
_PART = re.compile(r"\s*([a-z]{1,8})(?:-[a-z0-9-]+)?\s*(?:;\s*q=([01](?:\.\d{0,3})?))?\s*\Z")
_ENTRY = re.compile(r'^(msgid|msgid_plural|msgstr(?:\[\d\])?) ((?:"(?:[^"\\]|\\.)*"\s*)+)', re.MULTILINE)


class Catalogue(gettext.NullTranslations):
    """The texts of one language; what is not in it stays English."""

    def __init__(self, texts: dict[str, tuple[str, ...]]) -> None:
        super().__init__()
        self.texts = texts

    def gettext(self, message: str) -> str:
        return self.texts[message][0] if message in self.texts else message

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """The form for a number, by the rule that English and German share."""
        return self.texts.get(msgid1, (msgid1, msgid2))[n != 1]


@cache
def catalogue(language: str) -> Catalogue:
    """The catalogue of one of LANGUAGES."""
    if language == SOURCE:
        return Catalogue({})
    text = files("waypost.visits").joinpath("catalogues", f"{language}.po").read_text()
    return Catalogue(dict(_entries(text)))


@lru_cache(maxsize=1024)
def chosen(accept_language: str) -> str:
    """The first of our languages by the visitor's own order, English if there is none (RFC 9110, section 12.5.4)."""
    best, weight = SOURCE, 0.0
    for part in accept_language[:_LONGEST].lower().split(","):
        found = _PART.match(part)
        if found and found[1] in LANGUAGES and float(found[2] or 1) > weight:
            best, weight = found[1], float(found[2] or 1)
    return best


def text(message: str) -> str:
    """Marks a text that a template will translate, so that the catalogues are known to have it."""
    return message


def _entries(po: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    message = ""
    forms: list[str] = []
    for found in _ENTRY.finditer(po):
        words = "".join(ast.literal_eval(line) for line in found[2].splitlines() if line.strip())
        if found[1] == "msgid":
            if message and all(forms):
                yield message, tuple(forms)
            message, forms = words, []
        elif found[1].startswith("msgstr"):
            forms.append(words)
    if message and all(forms):
        yield message, tuple(forms)
