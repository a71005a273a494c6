"""RunCommand `waypost` commands in process and capture output and exit code."""

import json
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.support.asgi_client import AsgiClient
from waypost.cli.main import main
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

ANA = ("account", "add", "--email", "ana@example.com", "--username", "ana")


@dataclass(frozen=True)
class CommandResult:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


RunCommand = Callable[..., CommandResult]


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands run, with the settings of a new installation."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WAYPOST_BASE_URL", "http://go.localhost:8000")
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def run(
    working_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[RunCommand]:
    """A function that runs `waypost` with arguments in a new installation."""
    handlers, level = logging.root.handlers[:], logging.root.level
    environment, umask = dict(os.environ), os.umask(0o022)
    os.umask(umask)

    def run(*arguments: object) -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["waypost", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        return CommandResult(code if isinstance(code, int) else int(code is not None), *capsys.readouterr())

    yield run
    # Commands change state of the process.
    os.umask(umask)
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def run_migrated(run: RunCommand, working_folder: Path, sqlite_template: Path) -> RunCommand:
    """A function that runs `waypost` in an installation with tables and no account."""
    create_installation(working_folder / "data", sqlite_template)
    return run


def create_installation(folder: Path, sqlite_template: Path) -> None:
    """Create a data folder with tables and no account."""
    folder.mkdir(0o700, exist_ok=True)
    shutil.copy(sqlite_template, folder / "waypost.db")
    (folder / "waypost.db").chmod(0o600)


@contextmanager
def opened() -> Iterator[AsgiClient]:
    """Open the service in process, with the current settings."""
    settings = Settings()
    with AsgiClient(build(settings, Database(settings.database))) as client:
        yield client


def status(key: str, method: str = "GET") -> int:
    """Return the status of a call with an API key."""
    path = "/api/account" if method == "GET" else "/api/channel/add"
    with opened() as client:
        return client.request(method, path, headers={"Authorization": f"Bearer {key}"}).status_code


def call(key: str, method: str, path: str, **options: Any) -> Any:
    """Return the JSON of an API call."""
    with opened() as client:
        response = client.request(method, path, headers={"Authorization": f"Bearer {key}"}, **options)
    assert response.status_code == 200, response.text
    return response.json()
