"""Run `waypost` commands in process and capture output and exit code."""

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

from tests.support.asgi_client import Inside
from waypost.app import build
from waypost.cli.main import main
from waypost.db.database import Database
from waypost.settings import Settings

ANA = ("account", "add", "--email", "ana@example.com", "--username", "ana")


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the commands run, with the settings of a new installation."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WAYPOST_BASE_URL", "http://go.localhost:8000")
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs `waypost` with these words."""
    handlers, level = logging.root.handlers[:], logging.root.level
    environment = dict(os.environ)

    def run(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["waypost", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else int(code is not None), *capsys.readouterr())

    yield run
    # `serve` and `doctor` change state of the process.
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def filled(run: Run, home: Path, sqlite_template: Path) -> Run:
    """The same, in an installation that has the tables and no account."""
    (home / "data").mkdir()
    shutil.copy(sqlite_template, home / "data" / "waypost.db")
    return run


@contextmanager
def opened() -> Iterator[Inside]:
    """The service, in process, over the data of the present settings."""
    settings = Settings()
    with Inside(build(settings, Database(settings.database))) as client:
        yield client


def status(key: str, method: str = "GET") -> int:
    """How the service answers a call with that key."""
    path = "/api/account" if method == "GET" else "/api/channel/add"
    with opened() as client:
        return client.request(method, path, headers={"Authorization": f"Bearer {key}"}).status_code
