"""Other users of the machine cannot read an installation: new files, existing files, and those of child processes."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import fake_internet
from tests.support.cli import ANA, RunCommand, create_installation
from tests.support.fake_internet import PUBLIC, FakeInternet
from tests.support.mmdb import mmdb
from tests.support.server import Server, serving
from waypost.core.data_files import make_folder

_TABLE = mmdb({"8.8.8.0/24": {"country": {"iso_code": "US"}}}, built=1_767_312_000, kind="DBIP-Country-Lite")
_COMMAND = Path(sys.executable).with_name("waypost")


@pytest.fixture(autouse=True)
def _common_umask() -> Iterator[None]:
    previous = os.umask(0o022)
    yield
    os.umask(previous)


def _exposed(folder: Path) -> list[str]:
    """Return the paths that other users can access. The log is written by the test."""
    paths = [folder, *(path for path in folder.rglob("*") if not path.is_symlink() and path.suffix != ".log")]
    return [f"{path} {stat.S_IMODE(path.stat().st_mode):o}" for path in paths if path.stat().st_mode & 0o077]


def _use(server: Server, key: str) -> None:
    """Make the workers and the ingester write: rows, a file, clicks, attempts and metrics."""
    body = {"url": "https://example.com/", "custom": "spring"}
    assert server.call("POST", "/api/url/add", key=key, json=body).status_code == 200
    assert server.call("POST", "/api/files/upload/a.txt", key=key, content=b"content").status_code == 200
    assert server.call("GET", "/spring").status_code == 302
    assert server.call("GET", "/api/account", key="wrong").status_code == 401


def _add_account(folder: Path) -> str:
    environment = {**os.environ, "WAYPOST_DATA_DIR": str(folder)}
    words = [str(_COMMAND), *ANA, "--rate-limit", "1000", "--json"]
    printed = subprocess.run(words, env=environment, check=True, capture_output=True).stdout.decode()
    return printed.partition('"apikey": "')[2].partition('"')[0]


@pytest.mark.parametrize("workers", [1, 2])
def test_new_installation_is_private(tmp_path: Path, workers: int) -> None:
    folder = tmp_path / "data"
    with serving(folder, domain_check="off", workers=workers) as server:
        _use(server, _add_account(folder))
        assert server.call("GET", "/spring").status_code == 302
        names = {path.name for path in folder.iterdir()}
        assert names >= {
            "waypost.db",
            "waypost.db-wal",
            "waypost.db-queue",
            "attempt_limits.db",
            "journal",
            "metrics",
            "files",
        }
        assert _exposed(folder) == []
    assert _exposed(folder) == []


def test_existing_installation_is_corrected_at_start(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder, domain_check="off") as server:
        _use(server, _add_account(folder))
    (folder / "waypost.db.0001.1.bak").write_bytes(b"")
    (folder / "waypost.db-journal").write_bytes(b"")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    outside = tmp_path / "theirs"
    outside.write_text("not ours")
    outside.chmod(0o644)
    (folder / "journal" / "link").symlink_to(outside)
    with serving(folder, domain_check="off") as server:
        readable = {name.partition(" ")[0] for name in _exposed(folder)}
        assert {path for path in readable if "/files/" not in path} == set()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700  # protects the folders below
        assert "removed access of other users" in server.output()
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_sqlite_file_outside_of_data_folder_is_corrected(tmp_path: Path, sqlite_template: Path) -> None:
    create_installation(tmp_path / "elsewhere", sqlite_template)
    database = tmp_path / "elsewhere" / "waypost.db"
    database.chmod(0o644)
    with serving(tmp_path / "data", database_url=f"sqlite:///{database}", domain_check="off"):
        assert _exposed(database.parent) == []


def test_folder_shared_by_all_users_is_left_alone(tmp_path: Path, sqlite_template: Path) -> None:
    folder = tmp_path / "shared"
    create_installation(folder, sqlite_template)
    folder.chmod(0o1777)
    with serving(folder, domain_check="off") as server:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o1777
        assert "W005" in server.output()
        assert [path for path in _exposed(folder) if not path.startswith(f"{folder} ")] == []


def test_files_of_commands_are_private(run_migrated: RunCommand, working_folder: Path) -> None:
    run_migrated(*ANA)
    run_migrated("backup", "saved.tar.gz")
    os.environ["WAYPOST_DATA_DIR"] = "nested/restored"
    (working_folder / "nested" / "restored").mkdir(parents=True)
    assert run_migrated("restore", "saved.tar.gz").code == 0
    assert _exposed(working_folder / "nested" / "restored") == []
    assert _exposed(working_folder / "data") == []
    assert not (working_folder / "saved.tar.gz").stat().st_mode & 0o077


def test_every_file_of_a_full_life_is_private(
    run_migrated: RunCommand, working_folder: Path, internet: FakeInternet
) -> None:
    folder = working_folder / "data"
    with serving(folder, domain_check="off") as server:
        _use(server, _add_account(folder))
        names = {path.name for path in folder.iterdir()}
        assert names >= {"journal", "metrics", "files", "uploads"}
        internet.add_host("tables.example", PUBLIC)
        with fake_internet.server(lambda _head: [fake_internet.ok(_TABLE)]) as internet.routes[PUBLIC]:
            assert run_migrated("geo", "update", "--url", "http://tables.example/country.mmdb").code == 0
        assert run_migrated("backup", folder / "saved.tar.gz").code == 0
        assert run_migrated("block", "add", "evil.example").code == 0
        assert {path.name for path in (folder / "geo").iterdir()} == {"country.mmdb"}
        assert _exposed(folder) == []
    assert run_migrated("migrate-storage", "data/files", "data/moved").code == 0
    assert _exposed(folder) == []


def test_created_folders_are_private_with_common_umask(tmp_path: Path) -> None:
    make_folder(tmp_path / "one" / "two")
    assert _exposed(tmp_path / "one") == []


def test_doctor_reports_exposed_file_and_changes_nothing(run_migrated: RunCommand, working_folder: Path) -> None:
    database = working_folder / "data" / "waypost.db"
    database.chmod(0o640)
    completed = run_migrated("doctor")
    assert (completed.code, str(database) in completed.out) == (0, True)
    assert "warning  Permissions: W005 " in completed.out
    assert stat.S_IMODE(database.stat().st_mode) == 0o640
