"""UTM parameters in the query of a URL."""

from collections.abc import Mapping
from urllib.parse import quote, unquote_plus

NAMES = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")


def is_taggable(url: str) -> bool:
    """Return whether the URL can have UTM parameters: a URL of an app can have any form."""
    return url.lstrip()[:8].lower().startswith(("http://", "https://"))


def set_parameters(url: str, values: Mapping[str, str]) -> str:
    """Return the URL with the parameters whose value is not empty; all other parts stay as they are.

    A parameter takes the place of the first one with its name, else it is the last one. A URL of an app is returned as
    it is.
    """
    if not is_taggable(url):
        return url
    rest, mark, fragment = url.strip().partition("#")
    before, _, query = rest.partition("?")
    pairs = [pair for pair in query.split("&") if pair]
    for name, value in values.items():
        if value:
            pairs = _with_parameter(pairs, name, f"{name}={quote(value, safe=_UNQUOTED)}")
    return before + ("?" + "&".join(pairs) if pairs else "") + mark + fragment


_UNQUOTED = "!*'()"
"""Characters that `encodeURIComponent` of browsers keeps, besides letters, digits and `-_.~`."""


def _with_parameter(pairs: list[str], name: str, added: str) -> list[str]:
    positions = [position for position, pair in enumerate(pairs) if unquote_plus(pair.partition("=")[0]) == name]
    if not positions:
        return [*pairs, added]
    first, *others = positions
    return [added if position == first else pair for position, pair in enumerate(pairs) if position not in others]
