"""Texts of the pages for visitors in the visitor's language."""

import gettext

from waypost.core import languages
from waypost.core.languages import LANGUAGES, SOURCE_LANGUAGE, negotiate_language, translatable

__all__ = ["LANGUAGES", "SOURCE_LANGUAGE", "negotiate_language", "translatable", "translations"]


def translations(language: str) -> gettext.NullTranslations:
    """Return the catalog of one of LANGUAGES. A text without a translation stays English."""
    return languages.translations("waypost.visits", language)
