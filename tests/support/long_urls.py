"""The longest destination with the longest query of a visitor, through a proxy."""

import httpx2

from waypost.core.uris import MAX_DESTINATION, MAX_LOCATION, MAX_PARAMETERS, MAX_QUERY

_PARAMETERS = [{"name": "p", "value": "x" * 255}] * 31  # with `p=` and `&`, 258 bytes each
_LAST = [{"name": "p", "value": "x" * (MAX_PARAMETERS - 31 * 258 - 2)}]
LONGEST = {"url": "https://example.com/".ljust(MAX_DESTINATION, "x"), "parameters": [*_PARAMETERS, *_LAST]}
"""A link with the longest destination and parameters."""


def visit_longest(client: httpx2.Client, alias: str) -> int:
    """Visit a link like LONGEST with queries that fit, and with one that does not. Return the number of its clicks."""
    lengths = (0, MAX_QUERY - 1, MAX_QUERY)
    for length in lengths:
        response = client.get(f"/{alias}?{'q' * length}")
        assert response.status_code == 302, (length, response.status_code, response.text[:200])
        expected = MAX_LOCATION - MAX_QUERY + length - (not length)
        assert len(response.headers["location"]) == expected
    refused = client.get(f"/{alias}?{'q' * (MAX_QUERY + 1)}", headers={"Accept": "application/json"})
    assert (refused.status_code, refused.json()["code"]) == (414, "too_long")
    return len(lengths)
