"""What `waypost doctor` finds: what keeps the service from running, and what its operator had better know."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.cli import Ran, Run
from tests.support.server import free_port
from waypost.server import system_checks
from waypost.settings import Settings


def _nothing(_home: Path) -> None:
    pass


def _folder_is_a_file(home: Path) -> None:
    (home / "data").write_text("in the way")


def _folder_below_a_file(home: Path) -> None:
    (home / "file").write_text("in the way")


def _newer_database(home: Path) -> None:
    (home / "data").mkdir()
    with closing(sqlite3.connect(home / "data" / "waypost.db")) as database:
        database.executescript("CREATE TABLE alembic_version (version_num); INSERT INTO alembic_version VALUES (9999)")


def _broken_database(home: Path) -> None:
    (home / "data").mkdir()
    (home / "data" / "waypost.db").write_bytes(b"this is not a database" * 100)


class Found(NamedTuple):
    """What `doctor` finds: an id and some of its words, with these settings in that state of the folder."""

    id: str
    told: str
    settings: dict[str, str]
    prepare: Callable[[Path], None] = _nothing


ERRORS = (
    Found("W001", "data is not writable", {}, _folder_is_a_file),
    Found(
        "W001", "is not writable: Not a directory. Make it writable", {"DATA_DIR": "file/data"}, _folder_below_a_file
    ),
    Found("W010", "does not answer: file is not a database.", {}, _broken_database),
    Found("W010", "Connection refused", {"DATABASE_URL": "postgresql://nobody:secret@127.0.0.1:1/none"}),
    Found("W011", "is at revision 9999, but this version of waypost knows only", {}, _newer_database),
)
WARNINGS = (
    Found("W020", "which only this machine can open", {"BASE_URL": "", "HOST": "0.0.0.0"}),
    Found("W021", "all visitors will have the proxy's address", {"BASE_URL": "https://go.example.com"}),
    Found("W022", "so the header is ignored", {"COUNTRY_HEADER": "CF-IPCountry"}),
    Found("W031", "files are stored in the data folder", {"STORAGE_ENDPOINT": "http://127.0.0.1:1"}),
)


def _prepare(found: Found, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found.prepare(home)
    for name, value in found.settings.items():
        monkeypatch.setenv(f"WAYPOST_{name}", value)


def test_a_healthy_installation_has_nothing_to_find(filled: Run) -> None:
    assert filled("doctor") == Ran(0, "Nothing keeps this service from running.\n", "")


def test_a_new_installation_has_nothing_to_find(run: Run) -> None:
    assert run("doctor") == Ran(0, "Nothing keeps this service from running.\n", "")


@pytest.mark.parametrize("found", ERRORS, ids=lambda found: f"{found.id} {found.told}")
def test_an_error_is_found_and_keeps_the_service_from_starting(
    found: Found, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _prepare(found, home, monkeypatch)
    for command, code in (("doctor", 1), ("serve", 2)):
        refused = run(command)
        assert (refused.code, refused.out) == (code, ""), command
        assert refused.err.startswith(f"{found.id} "), refused.err
        assert found.told in refused.err
        assert refused.err.count("\n") == 1
        assert "secret" not in refused.err


@pytest.mark.parametrize("found", ERRORS, ids=lambda found: f"{found.id} {found.told}")
def test_no_command_ends_in_a_traceback(found: Found, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _prepare(found, home, monkeypatch)
    for words in (("account", "list"), ("plan", "add", "gold"), ("backup", "saved.tar.gz")):
        refused = run(*words)
        if (found.id, *words[:1]) == ("W011", "backup"):
            continue  # an older waypost may still save what a newer one made
        assert (refused.code, refused.out) == (1, ""), words
        assert refused.err.startswith("waypost: "), refused.err
        assert refused.err.count("\n") == 1


@pytest.mark.parametrize("found", WARNINGS, ids=lambda found: found.id)
def test_a_warning_is_found_and_keeps_nobody_from_anything(
    found: Found, filled: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _prepare(found, home, monkeypatch)
    said = filled("doctor")
    assert (said.code, said.out) == (0, "Nothing keeps this service from running.\n")
    assert said.err.startswith(f"{found.id} ")
    assert found.told in said.err
    assert said.err.count("\n") == 1


def test_little_space_is_a_warning(filled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    left = shutil.disk_usage(".")._replace(free=512 * 1024 * 1024 - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: left)
    said = filled("doctor")
    assert said.code == 0
    assert said.err.startswith("W002 Less than 512 MiB are free at ")


def test_a_storage_that_does_not_work_is_found_by_the_doctor_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_STORAGE_URL", "s3://bucket/prefix")
    monkeypatch.setenv("WAYPOST_STORAGE_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("WAYPOST_STORAGE_KEY", "somebody")
    monkeypatch.setenv("WAYPOST_STORAGE_SECRET", "not-to-be-shown")
    refused = run("doctor")
    assert (refused.code, refused.out) == (1, "")
    assert "W030 The file storage s3://bucket/prefix does not work: objects cannot be written" in refused.err
    assert "not-to-be-shown" not in refused.err


def test_half_a_key_of_a_storage_is_found(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, storage_url="s3://bucket", storage_key="somebody")
    assert [finding.id for finding in system_checks.run(settings)] == ["W032"]
