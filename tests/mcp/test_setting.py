"""The setting WAYPOST_MCP: off by default, without cost; on, it needs the optional extra."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.support.cli import RunCommand
from tests.support.mcp_agent import HEADERS
from waypost.core.settings import Settings

_BUILD = """
import sys
from waypost.server import app
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.core.settings import Settings
app.prepare()
settings = Settings()
database = Database(settings.database)
upgrade(database)
app.build(settings, database)
optional = {"mcp", "mcp_types", "sse_starlette", "jwt", "waypost.integrations.mcp", "jsonschema"}
print(*sorted(optional & set(sys.modules)))
"""


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings of a service with the default, off."""
    return settings.model_copy(update={"mcp": "off"})


def test_server_is_off_by_default_and_path_is_an_unknown_alias(ana: Person) -> None:
    assert Settings().mcp == "off"
    headers = {**HEADERS, "Authorization": f"Bearer {ana.key}"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert ana.client.get("/mcp").status_code == 404
    assert ana.client.post("/mcp", json=message, headers=headers).status_code in (404, 405)


@pytest.mark.parametrize(("value", "loaded"), [("off", ""), ("on", "mcp mcp_types waypost.integrations.mcp")])
def test_nothing_is_imported_unless_the_server_is_on(tmp_path: Path, value: str, loaded: str) -> None:
    environment = {"WAYPOST_MCP": value, "WAYPOST_DATA_DIR": str(tmp_path), "PATH": ""}
    command = [sys.executable, "-c", _BUILD]
    completed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert set(completed.stdout.split()) >= set(loaded.split())
    assert bool(completed.stdout.split()) == bool(loaded)


@pytest.mark.parametrize(
    ("version", "text"),
    [
        (None, "WAYPOST_MCP is on, but the Python package mcp is not installed."),
        ("1.26.0", "WAYPOST_MCP is on, but the Python package mcp has another version."),
        ("2.2.9", "WAYPOST_MCP is on, but the Python package mcp has another version."),
        ("3.0", "WAYPOST_MCP is on, but the Python package mcp has another version."),
        ("x", "WAYPOST_MCP is on, but the Python package mcp has an unknown version."),
        ("2.3.0", None),
        ("2.10.1", None),
    ],
)
def test_missing_extra_prevents_the_start_and_is_reported_by_doctor(
    run: RunCommand, monkeypatch: pytest.MonkeyPatch, version: str | None, text: str | None
) -> None:
    def version_of(name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", version_of)
    monkeypatch.setenv("WAYPOST_MCP", "on")
    doctor = run("doctor")
    assert (text or "") in " ".join(doctor.out.split())
    assert ("W040" in doctor.out) == (text is not None)
    if text is not None:
        assert doctor.code == 1
        started = run("serve")
        assert started.code == 2
        assert "Install the extra mcp (see docs/mcp.md), or set WAYPOST_MCP=off." in " ".join(started.err.split())
