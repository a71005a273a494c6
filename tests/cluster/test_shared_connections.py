"""Attackers and victims behind a proxy that shares its connections to two nodes: no victim gets a wrong response."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.load_balancers import PROXIES
from tests.support.nodes import database_copy
from tests.support.shared_connections import attack
from tests.support.shared_nodes import SharedNodes, shared_nodes

_SEED = datetime.now(UTC).toordinal()  # other attacks on each day


@pytest.fixture(scope="module")
def nodes(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNodes]:
    with database_copy(postgres, "template") as url, shared_nodes(tmp_path_factory.mktemp("nodes"), url) as nodes:
        yield nodes


@pytest.mark.parametrize("name", PROXIES)
def test_attacks_change_no_response_to_others(nodes: SharedNodes, name: str, tmp_path: Path) -> None:
    with PROXIES[name](nodes.ports(), tmp_path) as client:
        outcome = attack(nodes, client.base_url.port or 80, seed=_SEED, requests=1500, attacks=300)
    assert not outcome.failures(), f"seed {_SEED}\n{outcome.failures()}"
