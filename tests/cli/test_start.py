"""Modules that commands load: each one imports only what it needs, because large modules take seconds to import."""

import re
import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.support.cli import RunCommand
from waypost import __version__

SERVICE = {"PIL", "alembic", "fastapi", "fontTools", "jinja2", "obstore", "uvicorn", "zxingcpp"}
INSTALLATION = {"pydantic_settings", "sqlalchemy", "structlog"}
POSTGRESQL = {"psycopg", "psycopg_binary"}
PRELOAD = """
import sys, uvicorn
from waypost.server import workers
workers.preload(uvicorn.Config("waypost.server.app:create", factory=True))
from waypost.server.routers import fastapi_app
print(fastapi_app.cache_info().currsize, *sys.modules)
"""


def _loaded(*arguments: str) -> set[str]:
    """Run a command in a process of its own and return the packages that it imported."""
    command = [sys.executable, "-X", "importtime", "-m", "waypost", *arguments]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in completed.stderr, completed.stderr
    names = set(re.findall(r"^import time:.*\| +(\w+)", completed.stderr, re.MULTILINE))
    assert {"typer", "waypost"} <= names
    return names


@pytest.mark.parametrize("arguments", [(), ("--help",), ("--version",), ("version",), ("nonsense",)], ids=str)
def test_command_without_installation_loads_no_large_module(arguments: Sequence[str]) -> None:
    assert _loaded(*arguments) & (SERVICE | INSTALLATION | POSTGRESQL) == set()


@pytest.mark.parametrize("arguments", [("account", "list"), ("plan", "list"), ("block", "list"), ("account", "--help")])
def test_command_on_installation_does_not_load_the_service(arguments: Sequence[str], run_migrated: RunCommand) -> None:
    assert _loaded(*arguments) & (SERVICE | INSTALLATION | POSTGRESQL) == INSTALLATION


def test_workers_share_the_built_api_and_need_no_postgresql_driver() -> None:
    completed = subprocess.run([sys.executable, "-c", PRELOAD], capture_output=True, text=True, check=True, timeout=60)
    built, *loaded = completed.stdout.split()
    assert built == "1"
    assert {"waypost.server.app", "fastapi"} <= set(loaded)
    assert not POSTGRESQL & set(loaded)


def test_version_option_prints_version(run: RunCommand) -> None:
    assert run("--version").out == f"{__version__}\n"


def test_misspelled_command_is_answered_with_suggestion(run: RunCommand) -> None:
    completed = run("serv")
    assert completed.code == 2
    assert "No such command 'serv'. Did you mean 'serve'?" in completed.err
