"""The query of a URL: parameters of several sources in one (decision 49)."""

from urllib.parse import unquote_plus, urlsplit


def name_of(pair: str) -> str:
    """Return the decoded name of `name=value`."""
    return unquote_plus(pair.partition("=")[0])


def with_queries(url: str, *queries: str) -> str:
    """Return a web URL with the parameters of these queries, as `joined`."""
    if not any(queries):
        return url
    parts = urlsplit(url)
    return parts._replace(query=joined(parts.query, *queries)).geturl()


def joined(*queries: str) -> str:
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
    replaced = {name_of(pair) for pair in newer_pairs} & {name_of(pair) for pair in pairs} - {""}
    if not replaced:
        return f"{query}&{newer}"
    by_name: dict[str, list[str]] = {name: [] for name in replaced}
    for pair in newer_pairs:
        by_name.get(name_of(pair), []).append(pair)
    result = []
    for pair in pairs:
        # The first one with a name is replaced by all newer ones, and the others by nothing.
        result += by_name.pop(name_of(pair), []) if name_of(pair) in replaced else [pair]
    return "&".join(result + [pair for pair in newer_pairs if name_of(pair) not in replaced])
