"""Languages that visitors prefer, and the rules that match them (RFC 4647)."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from waypost.clicks.classify import label_tables

_MAX_LENGTH = 256  # longer values are cut before they are cached: invented ones must not fill the memory
_TAG = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{1,8})*\Z")
_QUALITY = re.compile(r"(?:q=([01](?:\.\d*)?)?)?\Z")
# Browsers send regions for scripts: zh-TW is Traditional Chinese.
_SCRIPTS = {("zh", region): "hant" for region in ("tw", "hk", "mo")} | {
    ("zh", region): "hans" for region in ("cn", "sg", "my")
}
# Languages whose tags visitors and owners use for each other. Statistics keep them apart.
_SAME = {"no": "nb", "cmn": "zh"}

Subtags = tuple[str, ...]
"""A language tag in lower case, such as `("zh", "hant", "tw")`."""


class _Match(NamedTuple):
    """A rule that matches a visitor's language. The least one is the best."""

    language: int
    """Position of the language among those of the visitor, without regions."""
    specificity: int
    preference: int
    rule: int


def subtags(tag: str) -> Subtags:
    """Return the subtags of a language tag, up to an extension; none if the tag is invalid."""
    tag = tag.strip().lower().replace("_", "-")
    if not _TAG.match(tag):
        return ()
    language, *others = tag.split("-")
    end = next((position for position, subtag in enumerate(others) if len(subtag) == 1), len(others))
    return (label_tables.LANGUAGES.get(language, language), *others[:end])


def preferred(accept_language: str) -> Sequence[Subtags]:
    """Return the languages that `Accept-Language` names, in the visitor's order."""
    return _preferred(accept_language[:_MAX_LENGTH])


def best_rule(rules: Sequence[str], accept_language: str) -> int | None:
    """Return the position of the rule for a visitor, or None.

    A rule with a region or script is for these only, one without is for all of the language. Among the rules of one
    language the more specific one comes first, then the one that the visitor prefers.
    """
    languages = [_with_script(language) for language in preferred(accept_language)]
    order = list(dict.fromkeys(language[0] for language in languages))
    matches = [
        _Match(order.index(rule[0]), -len(rule), preference, number)
        for number, rule in enumerate(map(_with_script, map(subtags, rules)))
        for preference, language in enumerate(languages)
        if rule and rule[0] == language[0] and set(rule) <= set(language)
    ]
    return min(matches).rule if matches else None


def _with_script(language: Subtags) -> Subtags:
    """Return the subtags with the script that the region implies."""
    if not language:
        return ()
    language = (_SAME.get(language[0], language[0]), *language[1:])
    scripts = [_SCRIPTS[key] for subtag in language[1:] if (key := (language[0], subtag)) in _SCRIPTS]
    has_script = any(len(subtag) == 4 and subtag.isalpha() for subtag in language[1:])  # ISO 15924
    return language if has_script else (*language, *scripts)


@lru_cache(maxsize=4_096)
def _preferred(accept_language: str) -> Sequence[Subtags]:
    weighted = []
    for part in accept_language.split(","):
        tag, _, parameter = part.partition(";")
        quality = _QUALITY.match(parameter.replace(" ", "").lower())
        if quality and (weight := float(quality[1] or 1)) > 0 and (language := subtags(tag)):
            weighted.append((weight, language))
    return tuple(language for _, language in sorted(weighted, key=lambda pair: -pair[0]))
