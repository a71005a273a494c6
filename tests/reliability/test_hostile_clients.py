"""Hundreds of hostile connections of one network: visitors of other networks are served, and memory stays bounded."""

from collections.abc import Iterator

import pytest

from tests.support.hostile_clients import ATTACKS, measure
from tests.support.server import Server, serving

PATHS = {"/hot": 302, "/cold": 302, "/dashboard/signin": 200, "/api/docs": 200, "/healthz": 200}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with two workers and three links."""
    with serving(tmp_path_factory.mktemp("node"), workers=2) as server:
        owner = server.owner_key
        for alias, fields in {"hot": {}, "cold": {"clicklimit": 1_000_000}, "poster": {}}.items():
            body = {"url": "https://example.com/", "custom": alias, **fields}
            assert server.call("POST", "/api/url/add", key=owner, json=body).status_code == 200
        yield server


@pytest.mark.parametrize("name", ATTACKS)
def test_hostile_network_does_not_block_visitors_of_others(server: Server, name: str) -> None:
    impact = measure(server, ATTACKS[name], list(PATHS), seconds=8)
    assert impact.statuses == {path: {status} for path, status in PATHS.items()}
    assert impact.growth_mb < 200
