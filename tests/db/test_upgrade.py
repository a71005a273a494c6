"""Upgrading: the migrations make exactly the schema, and a database is never half of two versions."""

import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from tests.conftest import BASE
from tests.support.server import at_once
from waypost.admin import installation, new_accounts
from waypost.admin.new_accounts import NewAccount
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import upgrade
from waypost.db.database import Database
from waypost.db.postgres import partition_names
from waypost.db.schema import metadata
from waypost.items.accounts import ops as accounts

_NEWER_MIGRATION = '''"""A newer version of waypost."""

from alembic import op

revision = "9001"
down_revision = {before!r}


def upgrade() -> None:
    op.execute("CREATE TABLE later (id integer)")
    op.execute("INSERT INTO installation (name, value) SELECT 'later', value FROM installation WHERE name = 'secret'")
    {extra}
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
def newer_migrations(tmp_path: Path) -> Path:
    """The migrations of a newer version, with one more revision."""
    return _add_migration(tmp_path)


_EXPRESSIONS = frozenset({"domains_bare_host_unique", "domains_www_host_unique"})
"""Indexes over expressions. SQLAlchemy cannot reflect them on SQLite; tests/visits/test_www_hosts.py covers them."""
_NO_EXPRESSIONS = pytest.mark.filterwarnings(
    "ignore:Skipped unsupported reflection of expression-based index",
    "ignore:autogenerate skipping metadata-specified expression-based index",
)


@_NO_EXPRESSIONS
def test_migrations_match_schema_metadata(database: Database) -> None:
    partitions = database.read(partition_names)

    def is_compared(name: str | None, kind: str, _parents: Any) -> bool:
        return kind != "table" or not (str(name).startswith("links_search") or name in partitions)  # the search index

    def is_comparable(_object: Any, name: str | None, kind: str, _is_reflected: bool, _other: Any) -> bool:  # noqa: FBT001  # Alembic's
        """PostgreSQL keys contain the account, and it rewrites expressions of indexes; the next test compares both."""
        is_key = kind in ("foreign_key_constraint", "unique_constraint")
        return database.is_sqlite or not (is_key or name in _EXPRESSIONS)

    def difference(tx: Connection) -> list[Any]:
        options = {"include_name": is_compared, "include_object": is_comparable, "compare_type": True}
        context = MigrationContext.configure(tx, opts=options)
        return list(compare_metadata(context, metadata))

    assert database.read(difference) == []


@_NO_EXPRESSIONS
def test_migrations_create_same_tables_as_schema(database: Database, plain_url: str) -> None:
    """Compares checks, ON DELETE actions and SQLite table options, which Alembic does not."""
    with closing(Database(plain_url)) as plain:
        plain.write(metadata.create_all)
        assert database.read(_describe) == plain.read(_describe)


def test_migration_file_names_contain_revisions() -> None:
    """The file names tell the revisions without importing the migrations."""
    config = Config()
    config.set_main_option("script_location", str(Path(upgrade.__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    assert upgrade.known_revisions() == {script.revision for script in scripts.walk_revisions()}
    assert upgrade.latest_revision() == scripts.get_current_head()


def test_empty_database_is_upgraded_without_copy(plain_url: str) -> None:
    with closing(Database(plain_url)) as database:
        assert database.read(upgrade.current_revision) is None
        assert upgrade.upgrade(database) is None  # no data to copy
        assert database.read(upgrade.current_revision) == upgrade.latest_revision()


def test_current_database_is_not_changed(database: Database, tmp_path: Path) -> None:
    before = database.path and database.path.read_bytes()
    assert upgrade.upgrade(database) is None
    assert (database.path and database.path.read_bytes()) == before
    assert not list(tmp_path.glob("*.bak"))


def test_upgrade_copies_sqlite_file_first(
    database: Database, newer_migrations: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = database.read(_installation_values), database.read(upgrade.current_revision)
    if database.path:
        database.path.chmod(0o640)
    monkeypatch.setattr(upgrade, "_MIGRATIONS", newer_migrations)
    copied_file = upgrade.upgrade(database)
    assert database.read(upgrade.current_revision) == "9001"
    assert database.read(lambda tx: inspect(tx).has_table("later"))
    assert (copied_file is not None) == database.is_sqlite
    if copied_file is not None:
        assert copied_file.parent == database.path.parent if database.path else None
        assert copied_file.name.startswith(f"waypost.db.{before[1]}.")
        assert copied_file.stat().st_mode & 0o777 == 0o640
        with closing(Database(f"sqlite:///{copied_file}")) as copy:
            assert (copy.read(_installation_values), copy.read(upgrade.current_revision)) == before


def test_failed_migration_changes_nothing(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = database.read(_installation_values), database.read(upgrade.current_revision), database.read(_tables)
    monkeypatch.setattr(upgrade, "_MIGRATIONS", _add_migration(tmp_path, 'raise RuntimeError("no")'))
    with pytest.raises(RuntimeError):
        upgrade.upgrade(database)
    assert (
        database.read(_installation_values),
        database.read(upgrade.current_revision),
        database.read(_tables),
    ) == before


def test_database_of_newer_version_is_rejected(database: Database, newer_migrations: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upgrade, "_MIGRATIONS", newer_migrations)
        upgrade.upgrade(database)
    before = database.read(_installation_values)
    with pytest.raises(
        Problem, match=f"at revision 9001, this version of waypost knows only {upgrade.latest_revision()}"
    ):
        upgrade.upgrade(database)
    assert database.read(_installation_values) == before


@pytest.mark.parametrize("start", ["newest", "empty"])
def test_concurrent_upgrades_both_succeed(
    start: str, database_url: str, plain_url: str, newer_migrations: Path
) -> None:
    url = database_url if start == "newest" else plain_url
    command = [sys.executable, "-c", _PROCESS, url, str(newer_migrations)]
    pipe = subprocess.PIPE
    with _locked_upgrade(url) as wait_until_blocked:
        both = [subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) for _ in range(2)]
        for process in both:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"  # it has found the database outdated
        wait_until_blocked(len(both))
    outputs = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    with closing(Database(url)) as database:
        assert database.read(upgrade.current_revision) == "9001"
        assert [name for name, _ in database.read(_installation_values)].count("later") == 1
        # Only one of them migrates, so only one copies the file.
        copies = sorted(out != "None\n" for out, _ in outputs)
        assert copies == [False, database.is_sqlite and start == "newest"]


def test_copy_is_consistent_during_concurrent_read(
    sqlite_template: Path, tmp_path: Path, newer_migrations: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(sqlite_template, tmp_path / "waypost.db")
    monkeypatch.setattr(upgrade, "_MIGRATIONS", newer_migrations)
    with closing(Database(f"sqlite:///{tmp_path / 'waypost.db'}")) as database:
        copied_file = database.read(lambda tx: (_installation_values(tx), upgrade.upgrade(database))[1])
    assert copied_file is not None
    with closing(sqlite3.connect(copied_file)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@contextmanager
def _locked_upgrade(url: str) -> Iterator[Callable[[int], None]]:
    """Hold the lock of upgrades; yield a function that waits until so many processes are blocked by it."""
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

        def wait_until_blocked(processes: int) -> None:
            deadline = time.monotonic() + 30
            while other.execute(waiting).fetchone() != (processes,):
                assert time.monotonic() < deadline, "the processes are not blocked"
                time.sleep(0.02)

        yield wait_until_blocked


def _add_migration(folder: Path, extra: str = "") -> Path:
    copy = shutil.copytree(upgrade._MIGRATIONS, folder / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "versions" / "9001_later.py").write_text(
        _NEWER_MIGRATION.format(before=upgrade.latest_revision(), extra=extra)
    )
    return copy


def _installation_values(tx: Connection) -> list[Any]:
    return [tuple(row) for row in tx.execute(text("SELECT name, value FROM installation ORDER BY name"))]


def _tables(tx: Connection) -> list[str]:
    return sorted(inspect(tx).get_table_names())


def _describe(tx: Connection) -> dict[str, Any]:
    """Everything about each table but the order of columns and server defaults.

    A migration needs a default to add a column to existing rows; the schema does not.
    """
    inspector = inspect(tx)
    described: dict[str, Any] = {}
    for name in metadata.tables:
        described[name] = {
            "columns": {
                column["name"]: (str(column["type"]), column["nullable"]) for column in inspector.get_columns(name)
            },
            "key": inspector.get_pk_constraint(name),
            "parents": sorted(inspector.get_foreign_keys(name), key=repr),
            "unique": sorted(inspector.get_unique_constraints(name), key=repr),
            "checks": sorted(inspector.get_check_constraints(name), key=repr),
            "indexes": sorted((_index(dict(index)) for index in inspector.get_indexes(name)), key=repr),
        }
        if tx.dialect.name == "sqlite":
            stored = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name"
            sql = tx.execute(text(stored), {"name": name}).scalar_one()
            described[name]["kind"] = ["AUTOINCREMENT" in sql, "WITHOUT ROWID" in sql]
    return described


def _index(index: dict[str, Any]) -> dict[str, Any]:
    """Return an index with its options as text: on SQLite, equal conditions of partial ones are different objects."""
    options = {name: str(value) for name, value in index.get("dialect_options", {}).items()}
    return {**index, "dialect_options": options}


def test_nodes_that_start_at_once_create_one_owner(plain_url: str, tmp_path: Path) -> None:
    def start(node: int) -> NewAccount | None:
        settings = Settings(data_dir=tmp_path / f"node-{node}", base_url=BASE, database_url=plain_url)
        with closing(installation.open_database(settings)) as database:
            return new_accounts.create_first_account(settings, database)

    owners = at_once([partial(start, node) for node in range(4)])
    assert [owner.username for owner in owners if owner is not None] == ["owner"]
    with closing(Database(plain_url)) as database:
        assert database.read(lambda tx: [plan.name for plan in accounts.all_plans(tx)]) == ["free", "unlimited"]
