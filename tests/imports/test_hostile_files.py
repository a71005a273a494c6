"""Files of strangers: every interpreter of one has bounded memory and time, and can be canceled."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from tests.support.hostile_files import HOSTILE_FILES, SLOW_FILES
from tests.support.load import add_ana, until
from tests.support.server import Server, serving
from tests.support.threads import join
from waypost.core.errors import Kind, Problem
from waypost.core.sandbox import process
from waypost.core.sandbox.process import Limits
from waypost.db.database import Database
from waypost.db.schema.nouns import NOUNS
from waypost.transfer.imports.batches import Cancellation
from waypost.transfer.imports.file_source import FileSource, open_file

_MAX_GROWTH_KIB = 64 << 10
_REASON = Problem(Kind.IMPORT_STATE, "The import was canceled.")


class _Node(NamedTuple):
    server: Server
    key: str

    def import_file(self, path: Path) -> None:
        """Upload a file, and start to plan its import."""
        content = path.read_bytes()
        file = self.server.call("POST", "/api/files/upload/x", key=self.key, content=content).json()["id"]
        started = self.server.call("POST", "/api/import/add", key=self.key, json={"file": file})
        assert started.status_code == 200, started.text

    def details(self) -> dict[str, Any]:
        """Return the details of the import."""
        details: dict[str, Any] = self.server.call("GET", "/api/import", key=self.key).json()["details"]
        return details

    def processes(self) -> list[psutil.Process]:
        """Return the processes of the service."""
        main = psutil.Process(self.server.process.pid)
        return [main, *main.children(recursive=True)]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Node]:
    """A server with an account and a link."""
    folder = tmp_path_factory.mktemp("node")
    with serving(folder, workers=1) as server:
        database = Database(f"sqlite:///{folder}/waypost.db")
        key = database.write(add_ana)
        database.close()
        server.call("POST", "/api/url/add", key=key, json={"url": "https://example.com/", "custom": "other"})
        yield _Node(server, key)


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_hostile_file_needs_bounded_memory_and_is_refused(node: _Node, tmp_path: Path, name: str) -> None:
    write, message = HOSTILE_FILES[name]
    write(tmp_path / "file")
    own = node.processes()
    for each in own:
        Path(f"/proc/{each.pid}/clear_refs").write_text("5")  # resets the peak
    before = {each.pid: _memory(each.pid, "VmRSS:") for each in own}
    node.import_file(tmp_path / "file")

    def has_ended() -> bool:
        assert node.server.call("GET", "/other", follow_redirects=False).status_code == 302
        return not node.details()["running"]

    until(has_ended)
    details = node.details()
    growth = {pid: _memory(pid, "VmHWM:") - memory for pid, memory in before.items()}
    assert max(growth.values()) < _MAX_GROWTH_KIB
    assert message in details["error"] if message else details["state"] == "planned"
    until(lambda: len(node.processes()) == len(own))


@pytest.mark.parametrize("name", SLOW_FILES)
def test_cancellation_ends_reading_at_once(tmp_path: Path, name: str) -> None:
    path, cancellation, failures = tmp_path / "file", Cancellation(), list[Problem]()
    SLOW_FILES[name](path)

    def read() -> None:
        with pytest.raises(Problem) as caught, open_file(path, {}, cancellation=cancellation) as source:
            for _ in source:
                pass
        failures.append(caught.value)

    thread = threading.Thread(target=read)
    thread.start()
    until(_reading_children)
    cancellation.cancel(_REASON)
    join(thread)
    assert (failures, _reading_children()) == ([_REASON], [])


def test_file_that_computes_without_end_is_refused_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waypost.transfer.imports.file_source._SECONDS", 1)
    monkeypatch.setattr("waypost.transfer.imports.file_source._SECONDS_PER_MIB", 0)
    SLOW_FILES["dump"](tmp_path / "file")
    with pytest.raises(Problem, match="takes too long"), open_file(tmp_path / "file", {}) as source:
        list(source)


_FOREIGN = {"name": "ab/abcdef", "filename": "a.pdf", "size": 1, "sha256": "00" * 32, "mediatype": "text/plain"}
_IMPOSSIBLE = {
    "an account": (None, {"kind": "account"}),
    "a table": (None, {"kind": "links"}),
    "no kind": (None, {"kind": ""}),
    "an attribute": ("https://old.example", {"kind": "__class__"}),
    "stored bytes without an archive": (None, {"kind": "file", "stored": _FOREIGN}),
    "counters without an archive": (None, {"kind": "link", "totals": {"clicks": 1}}),
    "references without an archive": (None, {"kind": "link", "references": {"pixels": [1]}}),
    "the owner as a counter": ("https://old.example", {"kind": "link", "totals": {"account": 1}}),
    "the id as a counter": ("https://old.example", {"kind": "campaign", "totals": {"id": 1}}),
}


@pytest.mark.parametrize(("service", "record"), _IMPOSSIBLE.values(), ids=_IMPOSSIBLE)
def test_record_that_no_file_can_have_is_refused(tmp_path: Path, service: str | None, record: dict[str, Any]) -> None:
    """A file that has taken over the child can make it send any record."""
    with _taken_over(tmp_path, service, record) as source, pytest.raises(Problem, match="cannot be read") as caught:
        list(source)
    assert (caught.value.kind, caught.value.field) == (Kind.INVALID, "file")


@pytest.mark.parametrize("kind", NOUNS)
def test_record_of_each_kind_of_an_archive_is_read(tmp_path: Path, kind: str) -> None:
    totals = dict.fromkeys(NOUNS[kind].totals, 2)
    with _taken_over(tmp_path, "https://old.example", {"kind": kind, "totals": totals}) as source:
        assert [(record.kind, record.totals) for record in source] == [(kind, totals)]


@contextmanager
def _taken_over(folder: Path, service: str | None, record: dict[str, Any]) -> Iterator[FileSource]:
    path = folder / "file"
    path.write_text(json.dumps([service, record]))
    with process.start("tests.support.sandbox_targets:send_record", Limits()) as sandbox:
        source = FileSource(sandbox, None, Cancellation())
        source.open(path, {}, None, "unambiguous")
        yield source


def test_child_loads_neither_settings_nor_database_nor_http_client() -> None:
    """They take most of the time in which a child starts."""
    program = "import sys, waypost.transfer.imports.file_child; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "waypost.transfer.imports.file_child" in loaded
    assert not {"waypost.core.settings", "pydantic", "pydantic_settings", "httpcore2", "sqlalchemy"} & set(loaded)


def _memory(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def _reading_children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if any("file_child" in word for word in child.cmdline())]
