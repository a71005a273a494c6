"""Names of countries and languages in the viewer's language. Stored are English names and codes."""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from waypost.clicks.classify.language_names import LANGUAGE_NAMES
from waypost.clicks.geo.countries import NAMES
from waypost.dashboard.i18n import current_language, gettext, gettext_noop, pgettext

# Contexts of the names in the compiled catalogs (scripts/build_messages.py).
_COUNTRY, _LANGUAGE = "country", "language"
_ENGLISH = {_COUNTRY: NAMES, _LANGUAGE: LANGUAGE_NAMES}
_COUNTRY_NAMES = frozenset(NAMES.values())
_OTHERS = frozenset({"Unknown", "Other"})
_PLANS = {"free": gettext_noop("Free"), "unlimited": gettext_noop("Unlimited")}
Options = list[tuple[str, str]]


def plan_name(name: str) -> str:
    """Return the name of a plan: those of the two plans of every installation in the viewer's language."""
    return gettext(_PLANS[name]) if name in _PLANS else name


def agent_name(agent: str) -> str:
    """Return the name of a browser and its system, stored as `Firefox on Linux`, in the viewer's language."""
    browser, _, system = agent.rpartition(" on ")
    if not browser:
        return _other(system)
    return gettext("%(browser)s on %(system)s") % {"browser": _other(browser), "system": system}


def country_name(name: str) -> str:
    """Return the name of a country from its English name; `Unknown` as a message, other text unchanged."""
    return pgettext(_COUNTRY, name) if name in _COUNTRY_NAMES else _other(name)


def language_name(code: str) -> str:
    """Return the name of a language from its code; `Unknown` as a message, other text unchanged."""
    return pgettext(_LANGUAGE, LANGUAGE_NAMES[code]) if code in LANGUAGE_NAMES else _other(code)


def _other(text: str) -> str:
    return gettext(text) if text in _OTHERS else text


def country_options() -> Options:
    """Return the codes and names of all countries, sorted by name."""
    return list(_sorted(_COUNTRY, current_language.get()))


def language_options() -> Options:
    """Return the codes and names of all languages, sorted by name."""
    return list(_sorted(_LANGUAGE, current_language.get()))


def country_suggestions() -> Options:
    """Return the names of countries for a field, each with the English name, by which browsers find it too."""
    return [(name, NAMES[code]) for code, name in country_options()]


def language_suggestions() -> Options:
    """Return the names of languages for a field, each with code and English name, by which browsers find it too."""
    return [(name, f"{code}, {LANGUAGE_NAMES[code]}") for code, name in language_options()]


def find_country(text: str) -> str:
    """Return the English name for a name in the viewer's language, in any case and without accents; or the text."""
    code = _codes(_COUNTRY, current_language.get()).get(sort_key(text))
    return NAMES[code] if code else text


def find_language(text: str) -> str:
    """Return the code for a name in the viewer's language, in any case and without accents; or the text."""
    return text if text in LANGUAGE_NAMES else _codes(_LANGUAGE, current_language.get()).get(sort_key(text), text)


def sort_key(text: str) -> str:
    """Return the text without accents and case: `Ägypten` is sorted as `agypten` (DIN 5007-1)."""
    letters = unicodedata.normalize("NFKD", " ".join(text.split()))
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


@lru_cache(16)
def _sorted(context: str, _language: str) -> Sequence[tuple[str, str]]:
    """Return codes and names in the current language, which is an argument for the cache."""
    names = [(code, pgettext(context, name)) for code, name in _ENGLISH[context].items()]
    return sorted(names, key=lambda pair: sort_key(pair[1]))


@lru_cache(16)
def _codes(context: str, language: str) -> Mapping[str, str]:
    """Return the codes by the `sort_key` of the names in the current language."""
    return {sort_key(name): code for code, name in _sorted(context, language)}
