"""The guide "To a moment in the past" of docs/backup.md works: PostgreSQL returns to the moment before a mistake."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.support.load import add_ana, until
from tests.support.postgres import FAST_OPTIONS, Postgres, own_postgres
from tests.support.server import Server, serving
from tests.support.source import ROOT
from waypost.db.database import Database

_GUIDE = (ROOT / "docs" / "backup.md").read_text().partition("## To a moment in the past")[2].partition("\n## ")[0]
_BLOCKS = re.findall(r"^```(ini|bash)\n(.*?)^```$", _GUIDE, flags=re.MULTILINE | re.DOTALL)
_MOMENT = "2026-11-24 03:00:00+00"


@pytest.fixture
def archive() -> Iterator[Path]:
    """The folder that takes the place of /var/backups. The user of PostgreSQL may write into it."""
    with tempfile.TemporaryDirectory(prefix="waypost-backups-") as folder:
        (Path(folder) / "wal").mkdir()
        for path in (Path(folder), Path(folder) / "wal"):
            path.chmod(0o777)
        yield Path(folder)


def _adapted(block: str, archive: Path) -> str:
    assert "/var/backups/" in block
    return block.replace("/var/backups", str(archive))


def _options(archive: Path) -> list[str]:
    """Return the settings of the guide as options of the server. A few seconds are enough for its archive_timeout."""
    lines = [line.partition(" = ") for line in _adapted(_BLOCKS[0][1], archive).splitlines()]
    settings = {name: value.strip("'") for name, _, value in lines}
    assert settings.keys() == {"archive_mode", "archive_command", "archive_timeout"}
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def _return_to(moment: str, server: Postgres, archive: Path) -> None:
    """Follow the guide: the server is stopped, and started from the base backup."""
    server.stop()
    server.data.rename(server.data.with_name("old"))
    copy = ["cp", "-a", str(archive / "base"), str(server.data)]
    subprocess.run(copy, check=True, cwd="/", **server.runner)
    assert _MOMENT in _BLOCKS[2][1]
    with (server.data / "postgresql.auto.conf").open("a") as settings:
        settings.write(_adapted(_BLOCKS[2][1], archive).replace(_MOMENT, moment))
    (server.data / "recovery.signal").touch()
    server.start()
    until(lambda: not _is_recovering(server))


def _is_recovering(server: Postgres) -> bool:
    return bool(_value(server, "SELECT pg_is_in_recovery()"))


def _value(server: Postgres, query: str) -> object:
    with psycopg.connect(f"{server.url}/postgres") as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def _visit(node: Server, alias: str) -> int:
    return node.call("GET", f"/{alias}", follow_redirects=False, headers={"User-Agent": "curl/8"}).status_code


def _clicks(node: Server, key: str, alias: str) -> int:
    response = node.call("GET", "/api/urls", key=key, params={"short": alias})
    return int(response.json()["data"]["clicks"]) if response.status_code == 200 else -1


def test_guide_returns_to_the_moment_before_a_mistake(archive: Path, tmp_path: Path) -> None:
    assert [language for language, _ in _BLOCKS] == ["ini", "bash", "ini"]
    with own_postgres(*FAST_OPTIONS, "-c", "full_page_writes=on", *_options(archive)) as server:
        url = f"{server.url}/postgres"
        run_node = partial(serving, tmp_path / "node", database_url=url, base_url="http://go.localhost:8000")
        with run_node() as node:
            database = Database(url)
            key = database.write(add_ana)
            database.close()
            environment = {"PATH": f"{server.binaries}:{os.environ['PATH']}", "PGHOST": "127.0.0.1"}
            environment |= {"PGPORT": str(server.port), "PGUSER": "postgres"}
            subprocess.run(
                ["bash", "-ec", _adapted(_BLOCKS[1][1], archive)], check=True, cwd="/", env=environment, **server.runner
            )
            body = {"url": "https://example.com/", "custom": "printed"}
            link = node.call("POST", "/api/url/add", key=key, json=body).json()["id"]
            assert [_visit(node, "printed") for _ in range(3)] == [302, 302, 302]
            until(lambda: _clicks(node, key, "printed") == 3)
            moment = str(_value(server, "SELECT now()"))
            assert node.call("DELETE", f"/api/url/{link}/delete", key=key).status_code == 200
            assert _visit(node, "printed") == 404
        _return_to(moment, server, archive)
        with run_node() as node:
            assert _visit(node, "printed") == 302
            until(lambda: _clicks(node, key, "printed") == 4)
