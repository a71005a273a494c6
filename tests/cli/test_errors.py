"""Errors of the database at the command line: one sentence, and a traceback only with --debug."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.support.cli import RunCommand
from tests.support.databases import damage_table
from tests.support.server import free_port


@pytest.fixture
def role_without_rights(postgres: str) -> Iterator[str]:
    """The URL of a database that belongs to another role."""
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as admin:
        admin.execute("CREATE ROLE \"app-1\" LOGIN PASSWORD 'x'")
        admin.execute("CREATE DATABASE ordinary")
        yield f"postgresql://app-1:x@{postgres.rpartition('@')[2]}/ordinary"
        admin.execute("DROP DATABASE ordinary WITH (FORCE)")
        admin.execute('DROP ROLE "app-1"')


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_database_with_another_encoding_is_refused(
    encoding: str, run: RunCommand, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = f"CREATE DATABASE encoded ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as admin:
        admin.execute(create.encode())
        try:
            monkeypatch.setenv("WAYPOST_DATABASE_URL", f"{postgres}/encoded")
            for words in (("doctor",), ("account", "list"), ("serve", "--port", free_port())):
                completed = run(*words)
                assert completed.code in (1, 2)
                printed = completed.out + completed.err
                assert f"The database has the encoding {encoding}, which cannot store every text." in printed
        finally:
            admin.execute("DROP DATABASE encoded WITH (FORCE)")


@pytest.mark.parametrize("words", [("account", "list"), ("backup", "saved.tar.gz"), ("plan", "list")])
def test_damaged_database_is_one_sentence(run_migrated: RunCommand, words: tuple[str, ...]) -> None:
    for table in ("accounts", "plans"):
        damage_table(Path("data/waypost.db"), table)
    completed = run_migrated(*words)
    assert (completed.code, completed.out) == (1, "")
    message = "waypost: The database is damaged: database disk image is malformed (SQLITE_CORRUPT). Restore"
    assert completed.err.startswith(message)
    assert completed.err.count("\n") == 1


def test_file_that_is_no_database_is_one_sentence(run_migrated: RunCommand) -> None:
    Path("data/waypost.db").write_bytes(b"another file" * 1000)
    for words in (("account", "list"), ("backup", "saved.tar.gz"), ("clicks", "verify")):
        completed = run_migrated(*words)
        assert completed.err.startswith("waypost: The database is damaged: file is not a database (SQLITE_NOTADB). Res")
        assert completed.err.count("\n") == 1


def test_database_without_a_table_is_one_sentence(run_migrated: RunCommand) -> None:
    with closing(sqlite3.connect("data/waypost.db")) as database:
        database.execute("DROP TABLE channels")
    completed = run_migrated("backup", "saved.tar.gz")
    assert completed.err.startswith("waypost: The database lacks the table channels. Restore the newest backup")
    completed = run_migrated("doctor")
    assert (completed.code, "W016 The database" in completed.out) == (1, True)
    assert "lacks the tables channels." in completed.out


@pytest.mark.parametrize("table", ["links", "campaigns", "click_times", "events", "aliases"])
@pytest.mark.parametrize("option", ["", "--json", "--repair"])
def test_totals_of_damaged_database_are_not_verified(run_migrated: RunCommand, table: str, option: str) -> None:
    damage_table(Path("data/waypost.db"), table)
    completed = run_migrated("clicks", "verify", *([option] if option else ()))
    assert (completed.code, completed.out) == (1, "")
    assert completed.err.startswith(f"waypost: The database {Path('data/waypost.db').absolute()} is damaged: ")
    assert completed.err.endswith(" Stop the service, and restore the newest backup into an empty folder.\n")


def test_debug_prints_the_traceback(run_migrated: RunCommand) -> None:
    damage_table(Path("data/waypost.db"), "accounts")
    with pytest.raises(Exception, match="malformed"):  # the interpreter prints it
        run_migrated("--debug", "account", "list")


def test_role_that_may_not_create_tables_gets_the_repair(
    run: RunCommand, role_without_rights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_DATABASE_URL", role_without_rights)
    completed = run("serve", "--port", free_port())
    assert completed.code == 1
    repair = 'ALTER DATABASE ordinary OWNER TO "app-1";'
    message = (
        f"waypost: The role app-1 may not create tables in the database ordinary. Run as its administrator: {repair}"
    )
    assert completed.err == f"{message} (permission denied for schema public)\n"
