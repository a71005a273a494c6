"""Parts of a URL: the one that is shown or named in a policy, the query with parameters of several sources, and UTM."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, quote, unquote, unquote_plus, urlsplit

from waypost.core.uris import url_host

UTM_NAMES = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")


def origin_of(url: str) -> str:
    """Return scheme, host and port of a web URL as a Content-Security-Policy names them.

    "" for other schemes, and for hosts that a policy cannot name: IPv6 addresses and invalid names.
    """
    try:
        parts = urlsplit(url)
        host, port = url_host(parts.hostname or ""), parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host or ":" in host:
        return ""
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")


def display_host(url: str) -> str:
    """Return the host of a URL for people: not IDNA-encoded, without user and port. "" if there is none."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return unquote(host) if url_host(host) else host


def parameter_name(pair: str) -> str:
    """Return the decoded name of `name=value`."""
    return unquote_plus(pair.partition("=")[0])


def with_queries(url: str, *queries: str) -> str:
    """Return a web URL with the parameters of these queries, as `joined`."""
    if not any(queries):
        return url
    parts = urlsplit(url)
    return parts._replace(query=joined_queries(parts.query, *queries)).geturl()


def joined_queries(*queries: str) -> str:
    """Return the parameters of all queries. Those of a later one replace those with the same name of earlier ones.

    They take the place of the first one they replace, or else are the last ones. Names that one query repeats stay, and
    every parameter stays as it is written.
    """
    result = ""
    for query in filter(None, queries):
        result = _replaced(result, query) if result else query
    return result


def _replaced(query: str, newer: str) -> str:
    pairs, newer_pairs = query.split("&"), newer.split("&")
    replaced = {parameter_name(pair) for pair in newer_pairs} & {parameter_name(pair) for pair in pairs} - {""}
    if not replaced:
        return f"{query}&{newer}"
    by_name: dict[str, list[str]] = {name: [] for name in replaced}
    for pair in newer_pairs:
        by_name.get(parameter_name(pair), []).append(pair)
    result = []
    for pair in pairs:
        # The first one with a name is replaced by all newer ones, and the others by nothing.
        result += by_name.pop(parameter_name(pair), []) if parameter_name(pair) in replaced else [pair]
    return "&".join(result + [pair for pair in newer_pairs if parameter_name(pair) not in replaced])


def is_taggable(url: str) -> bool:
    """Return whether the URL can have UTM parameters: a URL of an app can have any form."""
    return url.lstrip()[:8].lower().startswith(("http://", "https://"))


def utm_values_of(url: str) -> Mapping[str, str]:
    """Return the UTM parameters in a URL."""
    return {name: value for name, value in reversed(utm_pairs_of(url)) if name in UTM_NAMES}


def utm_pairs_of(url: str) -> Sequence[tuple[str, str]]:
    """Return the names and values of the parameters of a URL that has UTM parameters."""
    if "utm_" not in url:
        return ()
    try:
        return parse_qsl(urlsplit(url).query)
    except ValueError:  # a destination of an app can have any form
        return ()


def set_utm_parameters(url: str, values: Mapping[str, str]) -> str:
    """Return the URL with the parameters whose value is not empty; all other parts stay as they are.

    A parameter takes the place of the first one with its name, else it is the last one. A URL of an app is returned as
    it is.
    """
    if not is_taggable(url):
        return url
    return write_utm_parameters(url, {name: value for name, value in values.items() if value})


def write_utm_parameters(url: str, values: Mapping[str, str]) -> str:
    """Return any URL with the parameters, as `set_utm_parameters`; those whose value is empty are removed."""
    rest, mark, fragment = url.strip().partition("#")
    before, _, query = rest.partition("?")
    removed = {name for name, value in values.items() if not value}
    kept = "&".join(pair for pair in query.split("&") if pair and parameter_name(pair) not in removed)
    added = "&".join(f"{name}={quote(value, safe=_UNQUOTED)}" for name, value in values.items() if value)
    written = joined_queries(kept, added)
    return before + ("?" + written if written else "") + mark + fragment


_UNQUOTED = "!*'()"
"""Characters that `encodeURIComponent` of browsers keeps, besides letters, digits and `-_.~`."""
