"""Languages of the pages for visitors. Templates are written in English; other languages are gettext catalogs.

`locales/<language>/LC_MESSAGES/messages.po` is compiled when waypost is installed (scripts/build_messages.py).
To add a language, add a catalog and its code to LANGUAGES.
"""

import gettext
import re
from functools import cache, lru_cache
from importlib.resources import files

SOURCE_LANGUAGE = "en"
LANGUAGES = (SOURCE_LANGUAGE, "de")
_MAX_HEADER_LENGTH = 128  # characters of Accept-Language that are parsed
_LANGUAGE_RANGE = re.compile(r"([a-z]{1,8})(?:-[a-z0-9-]+)?(?:\s*;\s*q=([01](?:\.\d{0,3})?))?\Z")


@cache
def translations(language: str) -> gettext.NullTranslations:
    """The catalog of one of LANGUAGES. A text without a translation stays English."""
    if language == SOURCE_LANGUAGE:
        return gettext.NullTranslations()
    return gettext.translation("messages", str(files("waypost.visits") / "locales"), [language])


@lru_cache(maxsize=1024)
def negotiate_language(accept_language: str) -> str:
    """The supported language that the visitor prefers; English if there is none (RFC 9110, section 12.5.4)."""
    best, best_quality = SOURCE_LANGUAGE, 0.0
    for part in accept_language[:_MAX_HEADER_LENGTH].lower().split(","):
        match = _LANGUAGE_RANGE.match(part.strip())
        if match and match[1] in LANGUAGES and float(match[2] or 1) > best_quality:
            best, best_quality = match[1], float(match[2] or 1)
    return best


def translatable(message: str) -> str:
    """Mark a message of the pages for visitors for `make messages`; a template translates it."""
    return message
