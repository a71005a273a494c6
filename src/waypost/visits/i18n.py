"""Texts of the pages for visitors in the visitor's language."""

import gettext

from waypost.core import languages
from waypost.core.languages import LANGUAGES, SOURCE_LANGUAGE, negotiate_language

__all__ = ["LANGUAGES", "SOURCE_LANGUAGE", "negotiate_language", "translatable", "translations"]


def translations(language: str) -> gettext.NullTranslations:
    """Return the catalog of one of LANGUAGES. A text without a translation stays English."""
    return languages.translations("waypost.visits", language)


def translatable(message: str) -> str:
    """Mark a message of the pages for visitors for `make messages`; a template translates it."""
    return message
