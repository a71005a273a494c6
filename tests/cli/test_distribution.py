"""`waypost distribute` on a PostgreSQL whose functions record what Citus would do. bench/citus.py tries a real one."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.cli import RunCommand
from tests.support.databases import ON_POSTGRESQL
from waypost.db.distribution import BY_HOST, COPIED, ITEMS, STATISTICS

_CITUS = """
CREATE TABLE pg_dist_node (shouldhaveshards bool, isactive bool);
INSERT INTO pg_dist_node VALUES (false, true), (true, true), (true, true);
CREATE TABLE pg_dist_partition (logicalrelid regclass, partmethod "char", repmodel "char", by text, with_table text);
CREATE FUNCTION citus_version() RETURNS text LANGUAGE sql AS $$ SELECT 'Citus 15.0' $$;
CREATE FUNCTION citus_is_coordinator() RETURNS bool LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION citus_total_relation_size(regclass) RETURNS bigint LANGUAGE sql AS $$ SELECT 1000000 $$;
CREATE FUNCTION create_distributed_table(name text, by text, colocate_with text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF name = current_setting('waypost.fails', true) THEN RAISE 'the node is lost'; END IF;
  INSERT INTO pg_dist_partition VALUES (name::regclass, 'h', 's', by, colocate_with);
END $$;
CREATE FUNCTION create_reference_table(name text) RETURNS void LANGUAGE sql AS
  $$ INSERT INTO pg_dist_partition VALUES (name::regclass, 'n', 't', '', '') $$;
CREATE FUNCTION undistribute_table(name text, cascade_via_foreign_keys bool DEFAULT false) RETURNS void LANGUAGE sql AS
  $$ DELETE FROM pg_dist_partition WHERE logicalrelid = name::regclass OR cascade_via_foreign_keys AND EXISTS (
    SELECT FROM pg_constraint WHERE contype = 'f' AND logicalrelid IN (conrelid, confrelid)) $$;
"""

_EVERYTHING = (*STATISTICS, *COPIED, BY_HOST, *ITEMS)


@pytest.fixture
def admin(database_url: str, run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> Iterator[psycopg.Connection[Any]]:
    """A connection to the database of the commands."""
    monkeypatch.setenv("WAYPOST_DATABASE_URL", database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@ON_POSTGRESQL
def test_tables_are_distributed_together_and_come_back(admin: psycopg.Connection[Any], run: RunCommand) -> None:
    admin.execute(_CITUS)
    planned = run("distribute", "--dry-run")
    assert [line.split()[:2] for line in planned.out.splitlines()[1:]] == [[name, "coordinator"] for name in STATISTICS]
    assert _distributed(admin) == {}
    assert "there is no terminal to ask" in run("distribute").err
    assert run("distribute", "--yes").out.count(" moved.") == len(STATISTICS)
    assert _distributed(admin) == {"events": "none", **dict.fromkeys(STATISTICS[1:], "events")}
    again = run("distribute", "--yes")
    assert "All tables are there already." in again.out
    assert run("distribute", "--undo", "--yes").out.count(" moved.") == len(STATISTICS)
    assert _distributed(admin) == {}


@ON_POSTGRESQL
def test_everything_is_distributed_and_comes_back_with_its_foreign_keys(
    admin: psycopg.Connection[Any], run: RunCommand
) -> None:
    admin.execute(_CITUS)
    keys = _foreign_keys(admin)
    planned = run("distribute", "--everything", "--dry-run")
    # Others: members, credentials, presets, webhooks, reports, notices, checks of domains.
    assert f"{len(keys) - 17} foreign keys are dropped" in planned.out
    assert run("distribute", "--everything", "--yes").out.count(" moved.") == len(_EVERYTHING)
    assert _distributed(admin) == {
        "events": "none",
        **dict.fromkeys((*STATISTICS[1:], *ITEMS), "events"),
        BY_HOST: "none",
        **dict.fromkeys(COPIED, ""),
    }
    columns = dict(admin.execute("SELECT logicalrelid::text, by FROM pg_dist_partition").fetchall())
    assert {name for name, column in columns.items() if column == "account"} == {*STATISTICS, *ITEMS}
    assert columns[BY_HOST] == "host"
    assert _foreign_keys(admin) == keys
    of_accounts = "SELECT tgname FROM pg_trigger WHERE tgrelid = 'accounts'::regclass AND NOT tgisinternal"
    assert admin.execute(of_accounts).fetchall() == [], "a node cannot write to people"
    planned = run("distribute", "--everything", "--dry-run")
    assert [line.split()[:2] for line in planned.out.splitlines()[1:-1]] == [[name, "nodes"] for name in _EVERYTHING]
    assert "All tables are there already." in planned.out
    assert run("distribute", "--undo", "--yes").out.count(" moved.") == len(_EVERYTHING)
    assert _distributed(admin) == {}
    assert _foreign_keys(admin) == keys


@ON_POSTGRESQL
def test_failed_distribution_of_everything_leaves_all_items_on_the_coordinator(
    admin: psycopg.Connection[Any], run: RunCommand, database_url: str
) -> None:
    admin.execute(_CITUS)
    keys, name = _foreign_keys(admin), database_url.rpartition("/")[2]
    admin.execute(f"ALTER DATABASE {name} SET waypost.fails = 'links'".encode())
    assert "the node is lost" in run("distribute", "--everything", "--yes").err
    assert _distributed(admin).keys() == set(STATISTICS)
    assert _foreign_keys(admin) == keys
    assert "W043" not in run("doctor").out


@ON_POSTGRESQL
def test_interrupted_distribution_is_reported_and_continued(
    admin: psycopg.Connection[Any], run: RunCommand, database_url: str
) -> None:
    admin.execute(_CITUS)
    name = database_url.rpartition("/")[2]
    admin.execute(f"ALTER DATABASE {name} SET waypost.fails = 'click_times'".encode())
    failed = run("distribute", "--yes")
    assert failed.code == 1
    assert "the node is lost" in failed.err
    assert [*_distributed(admin)] == ["events", "visitors"]
    assert "not click_times, click_labels, visit_blocks" in run("doctor").out
    admin.execute(f"ALTER DATABASE {name} RESET waypost.fails".encode())
    assert run("distribute", "--yes").out.count(" moved.") == 3
    assert _distributed(admin).keys() == set(STATISTICS)
    assert "W043" not in run("doctor").out


@ON_POSTGRESQL
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            "DROP FUNCTION citus_version",
            "lacks the extension of Citus. Run as its administrator: CREATE EXTENSION citus;",
        ),
        ("DELETE FROM pg_dist_node WHERE shouldhaveshards", "The cluster has no worker."),
        (
            "CREATE OR REPLACE FUNCTION citus_is_coordinator() RETURNS bool LANGUAGE sql AS 'SELECT false'",
            "This server is a worker of the cluster.",
        ),
    ],
)
def test_refusal_names_the_reason_and_the_repair(
    admin: psycopg.Connection[Any], run: RunCommand, change: str, reason: str
) -> None:
    admin.execute(_CITUS)
    admin.execute(change.encode())
    refused = run("distribute", "--yes")
    assert refused.code == 1
    assert reason in refused.err
    assert _distributed(admin) == {}


def test_sqlite_is_refused(run_migrated: RunCommand) -> None:
    refused = run_migrated("distribute", "--yes")
    assert refused.code == 1
    assert "SQLite has no nodes." in refused.err


@ON_POSTGRESQL
@pytest.mark.parametrize(
    ("version", "setting", "refusal"),
    [
        ("CockroachDB CCL v26.1.0 (x86_64-pc-linux-gnu)", "", "its advisory locks lock nothing"),
        ("PostgreSQL 15.12-YB-2025.2.3.0-b1 on x86_64", "", "ysql_yb_enable_listen_notify=true"),
        ("PostgreSQL 15.12-YB-2025.2.3.0-b1 on x86_64", "on", ""),
    ],
)
def test_engine_that_lacks_notifications_is_refused_at_the_start(
    admin: psycopg.Connection[Any], run: RunCommand, database_url: str, version: str, setting: str, refusal: str
) -> None:
    admin.execute("CREATE SCHEMA engine")
    admin.execute(f"CREATE FUNCTION engine.version() RETURNS text LANGUAGE sql AS $$ SELECT '{version}' $$".encode())
    notifies = (
        f"SELECT CASE $1 WHEN 'yb_enable_listen_notify' THEN '{setting}' ELSE pg_catalog.current_setting($1, $2) END"
    )
    head = "CREATE FUNCTION engine.current_setting(text, bool) RETURNS text LANGUAGE sql"
    admin.execute(f"{head} AS $$ {notifies} $$".encode())
    name = database_url.rpartition("/")[2]
    admin.execute(f"ALTER DATABASE {name} SET search_path = public, engine, pg_catalog".encode())
    checked, listed = run("doctor"), run("account", "list")
    assert (refusal in checked.out and "W009" in checked.out) if refusal else "W009" not in checked.out
    assert refusal in listed.err if refusal else listed.code == 0


def _distributed(admin: psycopg.Connection[Any]) -> dict[str, str]:
    """Return the distributed tables, each with the table that decides on its place."""
    return dict(admin.execute("SELECT logicalrelid::text, with_table FROM pg_dist_partition").fetchall())


def _foreign_keys(admin: psycopg.Connection[Any]) -> set[tuple[str, str]]:
    """Return the name and the definition of each foreign key."""
    query = "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f'"
    return set(admin.execute(query).fetchall())
