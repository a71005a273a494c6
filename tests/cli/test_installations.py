"""Only `serve` and `restore` create an installation; every other command needs one and says where it looked."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from scripts.generate_docs import commands
from tests.support.cli import ANA, RunCommand
from tests.support.load import until
from tests.support.nodes import database_copy
from tests.support.server import free_port, serving
from waypost.admin import installation
from waypost.core.errors import Problem
from waypost.core.settings import Settings

_WITHOUT_INSTALLATION = {"serve", "demo", "restore", "settings", "version", "deploy-files", "openapi"}
"""Commands that need none: two create one, `demo` uses a temporary folder, and four only print or copy."""
_SPECIAL = {
    "migrate-database": ("data", "postgresql://unknown@127.0.0.1:1/none"),
    "migrate-storage": ("old", "new"),
    "import": ("ana", "links.csv"),
    "export": ("--account", "ana", "saved.zip"),
    "plan change": ("gold", "--item-limit", "5"),
    "account add": ANA[2:],
    "brand set": ("--name", "Ana"),
    "account session end": ("ana", "--all"),
    "account move-links": ("ana", "bob", "--all"),
}


_CODES = {"missing": b"W015 ", "replaced": b"W019 "}


def _move_away(file: Path) -> None:
    file.rename(file.with_name("moved"))


def _copy_over(file: Path) -> None:
    copy = Path(shutil.copy(file, file.with_name("copy")))
    copy.replace(file)


def _restore_over(file: Path) -> None:
    content = file.read_bytes()
    for path in file.parent.glob("waypost.db*"):
        path.unlink()
    file.write_bytes(content)


def _commands() -> Iterator[tuple[str, ...]]:
    """Yield each command that needs an installation, with a value for every required argument."""
    for name, command in commands():
        words = name.removeprefix("waypost ")
        if words not in _WITHOUT_INSTALLATION:
            required = ["1" for param in command.params if param.required]
            yield (*words.split(), *_SPECIAL.get(words, required))
    yield "account", "operator", "ana"  # a former name
    yield "account", "list", "--json"


@pytest.mark.parametrize("words", list(_commands()), ids=" ".join)
def test_command_without_installation_fails_and_creates_nothing(
    words: tuple[str, ...], run: RunCommand, working_folder: Path
) -> None:
    completed = run(*words)
    assert completed.code == 2
    assert completed.out == "" or words == ("doctor",)
    assert completed.err.startswith(f"waypost: No installation found in {working_folder}/data"), completed.err
    assert "Create one with `waypost serve`" in completed.err
    assert completed.err.count("\n") == 1
    assert list(working_folder.iterdir()) == []


def test_unfinished_data_folder_is_no_installation(run: RunCommand, working_folder: Path) -> None:
    data = working_folder / "data"
    (data / "journal").mkdir(parents=True)
    for content in (None, b""):
        if content is not None:
            (data / "waypost.db").write_bytes(content)
        assert run("backup", "saved.tar.gz").code == 2
        assert run("doctor").code == 2
    assert not (working_folder / "saved.tar.gz").exists()
    assert sorted(path.name for path in data.iterdir()) == ["journal", "waypost.db"]


@pytest.mark.parametrize("content", [None, b""])
def test_serve_refuses_a_folder_that_lost_its_database(
    run: RunCommand, working_folder: Path, content: bytes | None
) -> None:
    data = working_folder / "data"
    (data / "files" / "ab").mkdir(parents=True, mode=0o700)
    (data / "files" / "ab" / "cd").write_text("a file of a user")
    if content is not None:
        (data / "waypost.db").write_bytes(content)
    completed = run("serve", "--port", free_port())
    assert completed.code in (1, 2)
    assert "the data folder is that of an installation" in completed.err
    assert "Welcome" not in completed.out
    assert (data / "waypost.db").exists() == (content is not None)


@pytest.mark.parametrize("state", ["missing", "empty", "folder"])
def test_command_names_a_folder_that_lost_its_database(state: str, run: RunCommand, working_folder: Path) -> None:
    data = working_folder / "data"
    data.mkdir(mode=0o700)
    (data / "installation-id").touch(0o600)
    if state == "folder":  # as Docker creates it for a file that is mounted and missing
        (data / "waypost.db").mkdir()
    elif state == "empty":
        (data / "waypost.db").touch(0o600)
    word = "empty" if state == "empty" else "missing"
    text = f"The database {data / 'waypost.db'} is {word}, but the data folder is that of an installation."
    for words in (("account", "list"), ("backup", "saved.tar.gz"), ("doctor",)):
        completed = run(*words)
        assert (completed.code, text in completed.out + completed.err) == (1, True), completed


def test_folder_of_another_installation_is_refused(settings: Settings, tmp_path: Path) -> None:
    installation.open_database(settings).close()
    written = (tmp_path / "installation-id").read_text()
    installation.open_database(settings).close()
    assert (tmp_path / "installation-id").read_text() == written
    (tmp_path / "installation-id").write_text("another")
    with pytest.raises(Problem, match="belongs to another installation than the database"):
        installation.open_database(settings)


def test_removed_database_is_not_created_again_by_the_service(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        key = server.owner_key
        for file in tmp_path.glob("waypost.db*"):
            file.unlink()
        ready = server.call("GET", "/readyz")
        assert (ready.status_code, ready.json()["database"]) == (503, "missing")
        assert "waypost_database_up 0.0" in server.call("GET", "/metrics").text
        for _ in range(20):
            server.call("POST", "/api/url/add", key=key, json={"url": "https://example.com/"})
        assert not (tmp_path / "waypost.db").exists()


@pytest.mark.parametrize("replace", [_move_away, _copy_over, _restore_over])
def test_replaced_database_is_not_written_until_restart(tmp_path: Path, replace: Callable[[Path], None]) -> None:
    file, link = tmp_path / "waypost.db", {"url": "https://example.com/"}
    with serving(tmp_path) as server:
        key = server.owner_key
        assert server.call("POST", "/api/url/add", key=key, json={**link, "custom": "spring"}).status_code == 200
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        replace(file)
        ready = server.call("GET", "/readyz")
        fault = "replaced" if file.exists() else "missing"
        assert (ready.status_code, ready.json()["database"]) == (503, fault)
        until(lambda: server.call("POST", "/api/url/add", key=key, json=link).status_code == 503)
        assert server.call("GET", "/spring").status_code == 302
        command, environment = [sys.executable, "-m", "waypost", "doctor"], {**os.environ, "WAYPOST_DATA_DIR": "."}
        doctor = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert (doctor.returncode, _CODES[fault] in doctor.stdout) == (1, True), doctor.stdout
        if fault == "missing":
            shutil.move(tmp_path / "moved", file)  # the same file: nothing was lost
            until(lambda: server.call("POST", "/api/url/add", key=key, json=link).status_code == 200)
            until(lambda: server.call("GET", "/readyz").status_code == 200)
    assert "the file of the database was removed" in server.output()


def test_failed_restore_leaves_nothing_behind(run: RunCommand, working_folder: Path) -> None:
    (working_folder / "saved.tar.gz").write_bytes(b"\x1f\x8b damaged")
    completed = run("restore", "saved.tar.gz")
    assert (completed.code, completed.err.count("\n")) == (1, 1)
    assert [path.name for path in working_folder.iterdir()] == ["saved.tar.gz"]


def test_command_names_missing_sqlite_file(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_DATABASE_URL", "sqlite:////nowhere/else.db")
    completed = run("account", "list")
    assert (completed.code, "No installation found in /nowhere/else.db." in completed.err) == (2, True)


@pytest.mark.parametrize("tables", [[], ["theirs"]])
def test_postgresql_database_without_tables_is_no_installation(
    tables: list[str], run: RunCommand, postgres: str, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database_copy(postgres, "template1") as url:
        with psycopg.connect(url) as connection:
            for name in tables:  # of another program
                connection.execute(f"CREATE TABLE {name} (id integer)".encode())
        monkeypatch.setenv("WAYPOST_DATABASE_URL", url)
        for words in (("account", "list"), ("doctor",), ("backup", "saved.tar.gz"), ("geo", "status"), ANA):
            completed = run(*words)
            assert completed.code == 2, words
            assert completed.out == "" or words == ("doctor",)
            assert "No installation found in postgresql://" in completed.err
        with psycopg.connect(url) as connection:
            present = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert [name for (name,) in present] == tables
    assert list(working_folder.iterdir()) == []


def test_postgresql_installation_is_found_and_named_without_password(
    run: RunCommand, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database_copy(postgres, "template") as url:
        named = url.replace("@", ":hidden@", 1) if ":" not in url.partition("@")[0].partition("//")[2] else url
        monkeypatch.setenv("WAYPOST_DATABASE_URL", named)
        assert run("account", "list", "--json").json == []
        printed = run("doctor")
        assert printed.code == 0, printed.err
        assert "Installation: postgresql://" in printed.out
        assert "hidden" not in printed.out


def test_restore_and_serve_create_installation(run_migrated: RunCommand, working_folder: Path) -> None:
    run_migrated(*ANA)
    assert run_migrated("backup", "saved.tar.gz").code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAYPOST_DATA_DIR", "restored")
        assert run_migrated("account", "list").code == 2
        assert run_migrated("restore", "saved.tar.gz").code == 0
        assert [account["username"] for account in run_migrated("account", "list", "--json").json] == ["ana"]
        patch.setenv("WAYPOST_DATA_DIR", "served")
        with serving(working_folder / "served", domain_check="off"):
            assert [account["username"] for account in run_migrated("account", "list", "--json").json] == ["owner"]


def test_failed_restore_into_no_installation_leaves_none(run: RunCommand, working_folder: Path) -> None:
    (working_folder / "damaged.tar.gz").write_bytes(b"damaged")
    assert run("restore", "damaged.tar.gz").code == 1
    assert run("account", "list").code == 2


def test_installation_of_other_user_is_reported_without_traceback(run: RunCommand, working_folder: Path) -> None:
    """The folder cannot be read. For root, which can read every folder, the file is not a database either."""
    data = working_folder / "data"
    data.mkdir()
    with closing(sqlite3.connect(data / "waypost.db")) as database:
        database.execute("CREATE TABLE x (y)")
    (data / "waypost.db").write_bytes(b"not a database" * 500)
    data.chmod(0)
    try:
        for words in (("account", "list"), ("backup", "saved.tar.gz"), ("doctor",)):
            completed = run(*words)
            assert completed.code == 1, completed.err
            assert "Traceback" not in completed.err
    finally:
        data.chmod(0o700)
