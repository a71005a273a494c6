"""After kills of sender, ingester and database, messages of clicks equal the statistics to the click."""

from pathlib import Path

import psycopg
import pytest

from tests.support.kill_rounds import run_rounds
from tests.support.postgres import own_postgres

_ROUNDS = 3
"""`python -m bench.kills` has more."""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_received_clicks_equal_the_statistics_after_kills(tmp_path: Path, kind: str) -> None:
    if kind == "sqlite":
        figures = run_rounds(tmp_path / "node", _ROUNDS)
    else:
        with own_postgres() as postgres:
            with psycopg.connect(f"{postgres.url}/postgres", autocommit=True) as admin:
                admin.execute("CREATE DATABASE waypost")
            figures = run_rounds(tmp_path / "node", _ROUNDS, postgres, database_url=f"{postgres.url}/waypost")
    assert figures.is_exact, str(figures)
    assert figures.kills == 2 * _ROUNDS
