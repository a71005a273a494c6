"""Parts of a URL: the one that is shown or named in a policy, and the query, with parameters of several sources."""

from urllib.parse import unquote, unquote_plus, urlsplit

from waypost.core.uris import url_host


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
