"""Upgrading: the migrations make exactly the schema, and a database is never half of two versions."""

import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from waypost.db import upgrade
from waypost.db.database import Database
from waypost.db.postgres import partition_names
from waypost.db.schema import metadata
from waypost.errors import Problem

_LATER = '''"""A later version of waypost."""

from alembic import op

revision = "9001"
down_revision = {before!r}


def upgrade() -> None:
    op.execute("CREATE TABLE later (id integer)")
    op.execute("INSERT INTO installation (name, value) SELECT 'later', value FROM installation WHERE name = 'secret'")
    {more}
'''
_PROCESS = """
import sys
from pathlib import Path
from waypost.db import upgrade
from waypost.db.database import Database

upgrade._MIGRATIONS = Path(sys.argv[2])
database = Database(sys.argv[1])
write = database.write
database.write = lambda work: (print("waiting", flush=True), write(work))[1]
print(upgrade.upgrade(database))
"""


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The migrations of a later version, which has one more."""
    return _later(tmp_path)


def test_the_migrations_make_the_schema(database: Database) -> None:
    parts = database.read(partition_names)

    def ours(name: str | None, kind: str, _parents: Any) -> bool:
        return kind != "table" or not (str(name).startswith("links_search") or name in parts)  # SQLite's search index

    def alike(_one: Any, _name: str | None, kind: str, _is_found: bool, _other: Any) -> bool:  # noqa: FBT001  # Alembic's
        """On PostgreSQL the account joins these (waypost.db.schema.columns); the next test compares them."""
        return database.is_sqlite or kind not in ("foreign_key_constraint", "unique_constraint")

    def difference(tx: Connection) -> list[Any]:
        options = {"include_name": ours, "include_object": alike, "compare_type": True}
        context = MigrationContext.configure(tx, opts=options)
        return list(compare_metadata(context, metadata))

    assert database.read(difference) == []


def test_the_migrations_make_what_the_schema_itself_would_make(database: Database, plain_url: str) -> None:
    """What the comparison above does not see: checks, what a deletion takes along, how SQLite numbers rows."""
    with closing(Database(plain_url)) as plain:
        plain.write(metadata.create_all)
        assert database.read(_described) == plain.read(_described)


def test_migrations_are_called_by_their_revisions() -> None:
    """So that nobody needs to load them to know them."""
    config = Config()
    config.set_main_option("script_location", str(Path(upgrade.__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    assert upgrade.known_revisions() == {script.revision for script in scripts.walk_revisions()}
    assert upgrade.latest_revision() == scripts.get_current_head()


def test_an_empty_database_gets_everything(plain_url: str) -> None:
    with closing(Database(plain_url)) as database:
        assert database.read(upgrade.current_revision) is None
        assert upgrade.upgrade(database) is None  # there was nothing to save
        assert database.read(upgrade.current_revision) == upgrade.latest_revision()


def test_a_newest_database_is_not_touched(database: Database, tmp_path: Path) -> None:
    before = database.path and database.path.read_bytes()
    assert upgrade.upgrade(database) is None
    assert (database.path and database.path.read_bytes()) == before
    assert not list(tmp_path.glob("*.bak"))


def test_an_upgrade_saves_the_file_first(database: Database, later: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = database.read(_facts), database.read(upgrade.current_revision)
    if database.path:
        database.path.chmod(0o640)
    monkeypatch.setattr(upgrade, "_MIGRATIONS", later)
    saved = upgrade.upgrade(database)
    assert database.read(upgrade.current_revision) == "9001"
    assert database.read(lambda tx: inspect(tx).has_table("later"))
    assert (saved is not None) == database.is_sqlite
    if saved is not None:
        assert saved.parent == database.path.parent if database.path else None
        assert saved.name.startswith(f"waypost.db.{before[1]}.")
        assert saved.stat().st_mode & 0o777 == 0o640
        with closing(Database(f"sqlite:///{saved}")) as copy:
            assert (copy.read(_facts), copy.read(upgrade.current_revision)) == before


def test_a_migration_that_fails_changes_nothing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = database.read(_facts), database.read(upgrade.current_revision), database.read(_tables)
    monkeypatch.setattr(upgrade, "_MIGRATIONS", _later(tmp_path, 'raise RuntimeError("no")'))
    with pytest.raises(RuntimeError):
        upgrade.upgrade(database)
    assert (database.read(_facts), database.read(upgrade.current_revision), database.read(_tables)) == before


def test_a_database_of_a_newer_version_is_refused(database: Database, later: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upgrade, "_MIGRATIONS", later)
        upgrade.upgrade(database)
    before = database.read(_facts)
    with pytest.raises(
        Problem, match=f"at revision 9001, this version of waypost knows only {upgrade.latest_revision()}"
    ):
        upgrade.upgrade(database)
    assert database.read(_facts) == before


@pytest.mark.parametrize("start", ["newest", "empty"])
def test_two_processes_that_upgrade_at_once_both_succeed(
    start: str, database_url: str, plain_url: str, later: Path
) -> None:
    url = database_url if start == "newest" else plain_url
    command = [sys.executable, "-c", _PROCESS, url, str(later)]
    pipe = subprocess.PIPE
    with _held(url) as all_wait:
        both = [subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) for _ in range(2)]
        for process in both:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"  # it has seen that there is something to do
        all_wait(len(both))
    answers = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    with closing(Database(url)) as database:
        assert database.read(upgrade.current_revision) == "9001"
        assert [name for name, _ in database.read(_facts)].count("later") == 1
        # Only one of them had anything to do, so only one saved the file.
        saved = sorted(out != "None\n" for out, _ in answers)
        assert saved == [False, database.is_sqlite and start == "newest"]


def test_a_saved_file_is_whole_while_somebody_reads(
    sqlite_template: Path, tmp_path: Path, later: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(sqlite_template, tmp_path / "waypost.db")
    monkeypatch.setattr(upgrade, "_MIGRATIONS", later)
    with closing(Database(f"sqlite:///{tmp_path / 'waypost.db'}")) as database:
        saved = database.read(lambda tx: (_facts(tx), upgrade.upgrade(database))[1])
    assert saved is not None
    with closing(sqlite3.connect(saved)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@contextmanager
def _held(url: str) -> Iterator[Callable[[int], None]]:
    """Hold what an upgrade waits for; calling what this yields waits until so many processes stand before it."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as holder:
            holder.execute("PRAGMA journal_mode = WAL")
            holder.execute("BEGIN IMMEDIATE")
            yield lambda _processes: None
            holder.execute("ROLLBACK")
        return
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [upgrade._ADVISORY_LOCK])

        def all_wait(processes: int) -> None:
            deadline = time.monotonic() + 30
            while other.execute(waiting).fetchone() != (processes,):
                assert time.monotonic() < deadline, "they did not wait for each other"
                time.sleep(0.02)

        yield all_wait


def _later(folder: Path, more: str = "") -> Path:
    copy = shutil.copytree(upgrade._MIGRATIONS, folder / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "versions" / "9001_later.py").write_text(_LATER.format(before=upgrade.latest_revision(), more=more))
    return copy


def _facts(tx: Connection) -> list[Any]:
    return [tuple(row) for row in tx.execute(text("SELECT name, value FROM installation ORDER BY name"))]


def _tables(tx: Connection) -> list[str]:
    return sorted(inspect(tx).get_table_names())


def _described(tx: Connection) -> dict[str, Any]:
    """Everything about each table of the schema that the order of its columns does not change.

    Without defaults: a migration needs one to add a column to rows that are there, the schema does not.
    """
    found = inspect(tx)
    described: dict[str, Any] = {}
    for name in metadata.tables:
        described[name] = {
            "columns": {
                column["name"]: (str(column["type"]), column["nullable"]) for column in found.get_columns(name)
            },
            "key": found.get_pk_constraint(name),
            "parents": sorted(found.get_foreign_keys(name), key=repr),
            "unique": sorted(found.get_unique_constraints(name), key=repr),
            "checks": sorted(found.get_check_constraints(name), key=repr),
            "indexes": sorted(found.get_indexes(name), key=repr),
        }
        if tx.dialect.name == "sqlite":
            stored = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name"
            sql = tx.execute(text(stored), {"name": name}).scalar_one()
            described[name]["kind"] = ["AUTOINCREMENT" in sql, "WITHOUT ROWID" in sql]
    return described
