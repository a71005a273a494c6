"""UTM parameters in the query of a URL."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, quote, urlsplit

from waypost.urls.url_parts import joined_queries, parameter_name

NAMES = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")


def is_taggable(url: str) -> bool:
    """Return whether the URL can have UTM parameters: a URL of an app can have any form."""
    return url.lstrip()[:8].lower().startswith(("http://", "https://"))


def values_of(url: str) -> Mapping[str, str]:
    """Return the UTM parameters in a URL."""
    return {name: value for name, value in reversed(pairs_of(url)) if name in NAMES}


def pairs_of(url: str) -> Sequence[tuple[str, str]]:
    """Return the names and values of the parameters of a URL that has UTM parameters."""
    if "utm_" not in url:
        return ()
    try:
        return parse_qsl(urlsplit(url).query)
    except ValueError:  # a destination of an app can have any form
        return ()


def set_parameters(url: str, values: Mapping[str, str]) -> str:
    """Return the URL with the parameters whose value is not empty; all other parts stay as they are.

    A parameter takes the place of the first one with its name, else it is the last one. A URL of an app is returned as
    it is.
    """
    if not is_taggable(url):
        return url
    return write_parameters(url, {name: value for name, value in values.items() if value})


def write_parameters(url: str, values: Mapping[str, str]) -> str:
    """Return any URL with the parameters, as `set_parameters`; those whose value is empty are removed."""
    rest, mark, fragment = url.strip().partition("#")
    before, _, query = rest.partition("?")
    removed = {name for name, value in values.items() if not value}
    kept = "&".join(pair for pair in query.split("&") if pair and parameter_name(pair) not in removed)
    added = "&".join(f"{name}={quote(value, safe=_UNQUOTED)}" for name, value in values.items() if value)
    written = joined_queries(kept, added)
    return before + ("?" + written if written else "") + mark + fragment


_UNQUOTED = "!*'()"
"""Characters that `encodeURIComponent` of browsers keeps, besides letters, digits and `-_.~`."""
