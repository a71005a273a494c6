"""The first steps of a new user on a real service: start, printed command, tour."""

import json
import re
import shutil
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from tests.support.newcomer import newcomer, shell_blocks
from waypost.core.settings import Settings
from waypost.server.routers import api_document

ROOT = Path(__file__).resolve().parents[2]
# Replaces curl: records requests and responses.
_CURL = """#!/usr/bin/env bash
set -euo pipefail
call=$(mktemp "$CALLS/$(date +%s%N).XXXXXX")
printf '%s\\0' "$@" > "$call"
PATH=${PATH#*:} curl "$@" | tee "$call.answer"
"""


@dataclass(frozen=True)
class Call:
    """A curl call of the tour and its response."""

    words: list[str]
    answer: str

    @property
    def method(self) -> str:
        return self.words[self.words.index("-X") + 1] if "-X" in self.words else "GET"

    @property
    def path(self) -> str:
        url = next(word for word in self.words if word.startswith("http"))
        return "/" + url.split("/", 3)[3].partition("?")[0]

    @cached_property
    def json(self) -> Any:
        return json.loads(self.answer)


def _tour() -> list[str]:
    """Shell blocks of the tour."""
    return shell_blocks(ROOT / "docs" / "tour.md")


def _calls(folder: Path) -> list[Call]:
    requests = sorted(path for path in folder.iterdir() if path.suffix != ".answer")
    return [
        Call(path.read_text().split("\0")[:-1], path.with_name(f"{path.name}.answer").read_text()) for path in requests
    ]


def test_first_start_stores_credentials_and_second_start_does_not(tmp_path: Path) -> None:
    user = newcomer(tmp_path)
    with user.serving("first.log", forks=False) as log_path:
        file = tmp_path / "work" / "data" / "first-sign-in-1.txt"
        assert str(file) in log_path.read_text()
        text = file.read_text()
        commands = re.findall(r"^ *(curl .*)$", text, flags=re.MULTILINE)
        assert len(commands) == 1
        completed = user.shell(commands[0])
        body = json.loads(completed.stdout)
        assert body["error"] == 0
        owner = body["data"]
        assert (owner["username"], owner["email"]) == ("owner", "owner@example.com")
        secrets = re.findall(r"(?:password|API key) +(\S+)$", text, flags=re.MULTILINE)
        assert len(secrets) == 2
        for word in (user.base, owner["username"], owner["email"], *secrets):
            assert word in text
    with user.serving("second.log", forks=False) as log_path:
        completed = user.shell(commands[0])
        assert json.loads(completed.stdout)["data"]["id"] == owner["id"]
        text = log_path.read_text()
    assert not [word for word in (*secrets, "wp_", "password", "API key", "curl") if word in text], text
    assert not [word for word in (*secrets, "wp_") if word in (tmp_path / "first.log").read_text()]
    # A start writes nothing outside the data folder.
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == [".venv", "data"]
    assert list((tmp_path / "home").rglob("*")) == []
    assert list((tmp_path / "tmp").rglob("*")) == []
    assert {path.name for path in (tmp_path / "work" / "data").iterdir()} >= {"waypost.db"}


def test_tour_covers_every_endpoint(tmp_path: Path) -> None:
    user = newcomer(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "curl").write_text(_CURL)
    (tmp_path / "bin" / "curl").chmod(0o755)
    (tmp_path / "calls").mkdir()
    assert shutil.which("curl")
    script = "\n".join(_tour())
    assert script.count("http://localhost:8000") == 1
    with user.serving("serve.log"):
        path = f"{tmp_path / 'bin'}:{user.environment['PATH']}"
        script = script.replace("http://localhost:8000", user.base)
        completed = user.shell(script, PATH=path, CALLS=str(tmp_path / "calls"))
    assert completed.returncode == 0, completed.stderr
    calls = _calls(tmp_path / "calls")
    api = [call for call in calls if call.path.startswith("/api/")]
    assert [call for call in api if not call.path.endswith(("/export", "/zip")) and call.json["error"] != 0] == []
    visits = [call for call in calls if call not in api]
    assert [call.answer.splitlines()[0] for call in visits] == [
        "HTTP/1.1 302 Found",
        "Hello from a file",
        "HTTP/1.1 302 Found",
    ]
    assert "location: https://example.com/sale" in visits[0].answer.lower()
    before, after = (call.json["data"]["clicks"] for call in api if re.fullmatch(r"/api/url/\d+", call.path))
    assert (before, after) == (0, 1)
    exported = next(call.answer for call in api if call.path.endswith("/export"))
    assert len(exported.splitlines()) == 2  # the header, and the visit
    assert _endpoints() - {_endpoint(call) for call in api} == set()


def test_tour_stores_every_created_id(tmp_path: Path) -> None:
    """Readers must not need to know that an id is 1."""
    assert not re.search(r"/\d+", re.sub(r"\d+\.\d+|//\S+", "", "\n".join(_tour())))


@cache
def _endpoints() -> set[str]:
    paths = api_document(Settings())["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def _endpoint(call: Call) -> str:
    """The endpoint of a call, as written in the OpenAPI document."""
    for endpoint in sorted(_endpoints(), key=lambda one: one.count("{")):
        method, path = endpoint.split()
        if method == call.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), call.path):
            return endpoint
    raise AssertionError(f"{call.method} {call.path} is no endpoint")
