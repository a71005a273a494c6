"""Meanings of errors of the database: damage, a full disk, a standby, statements that cannot work."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from structlog.processors import format_exc_info
from structlog.testing import capture_logs

from tests.conftest import Person
from tests.support.databases import ON_POSTGRESQL, ON_SQLITE, damage_table
from waypost.db import faults
from waypost.db.database import Database
from waypost.db.faults import Fault


def _error(database: Database, statement: str) -> DBAPIError:
    """Return the error of a statement, which is not translated into a problem."""
    with pytest.raises(DBAPIError) as raised:
        database.write(lambda tx: tx.execute(text(statement)).all())
    return raised.value


@pytest.mark.parametrize("statement", ["SELECT * FROM unknown", "SELEKT 1", "SELECT unknown FROM links"])
def test_statement_that_cannot_work_is_an_internal_error(database: Database, statement: str) -> None:
    error = _error(database, statement)
    assert faults.classify(error) is Fault.OF_STATEMENT
    assert re.fullmatch(r"The database refused a statement: .+ \((42\w{3}|SQLITE_ERROR)\)\.", faults.sentence(error))
    assert database.take_damages() == 0


@ON_POSTGRESQL
@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("SELECT count(*) FROM links FOR UPDATE", "0A000"),
        ("DO $$ BEGIN RAISE EXCEPTION 'stack depth limit' USING ERRCODE = '54001'; END $$", "54001"),
        ("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '42501'; END $$", "42501"),
    ],
)
def test_unsupported_statement_is_an_internal_error(database: Database, statement: str, code: str) -> None:
    error = _error(database, statement)
    assert (faults.classify(error), faults.sqlstate(error)) == (Fault.OF_STATEMENT, code)
    assert f"({code})" in faults.sentence(error)


@ON_POSTGRESQL
def test_request_with_unsupported_statement_is_an_internal_error_and_logs_it(ana: Person, database: Database) -> None:
    create = "CREATE FUNCTION unsupported() RETURNS trigger LANGUAGE plpgsql AS"
    body = "$$ BEGIN RAISE EXCEPTION 'not on a node' USING ERRCODE = '0A000'; END $$"
    trigger = "CREATE TRIGGER unsupported BEFORE INSERT ON channels EXECUTE FUNCTION unsupported()"
    database.write(lambda tx: [tx.execute(text(each)) for each in (f"{create} {body}", trigger)])
    with capture_logs(processors=[format_exc_info]) as logged:
        response = ana.call("POST", "/channel/add", {"name": "News"})
    assert (response.status_code, response.json()["code"]) == (500, "internal")
    (entry,) = (entry for entry in logged if entry["event"] == "request failed")
    assert "INSERT INTO channels" in entry["exception"]


class _InternalError(Exception):
    """An internal error of PostgreSQL, as Citus raises it."""

    sqlstate = "XX000"

    def __init__(self, source_file: str) -> None:
        super().__init__("failure on connection marked as essential")
        self.diag = SimpleNamespace(source_file=source_file)


@pytest.mark.parametrize(
    ("source_file", "fault"), [("remote_transaction.c", Fault.UNAVAILABLE), ("nbtree.c", Fault.OF_STATEMENT)]
)
def test_node_of_a_cluster_that_is_lost_within_a_transaction_is_unavailable(source_file: str, fault: Fault) -> None:
    assert faults.classify(DBAPIError("INSERT", None, _InternalError(source_file))) is fault


@ON_POSTGRESQL
@pytest.mark.parametrize("code", ["XX001", "XX002", "58P01"])
def test_damage_on_postgres_is_counted_and_logged(database: Database, code: str) -> None:
    reason = f"invalid page in block 7, {code}"
    error = _error(database, f"DO $$ BEGIN RAISE EXCEPTION '{reason}' USING ERRCODE = '{code}'; END $$")
    assert faults.classify(error) is Fault.DAMAGE
    with capture_logs() as logged:
        database.reap_stalled_connections()
    assert [(entry["event"], entry["log_level"]) for entry in logged] == [("the database is damaged", "error")]
    assert f"{reason} (" in faults.sentence(error)
    assert database.take_damages() == 1


@ON_SQLITE
def test_damage_on_sqlite_is_counted_and_logged(database: Database) -> None:
    assert database.path is not None
    damage_table(database.path, "links")
    error = _error(database, "SELECT * FROM links")
    assert faults.classify(error) is Fault.DAMAGE
    with capture_logs() as logged:
        database.reap_stalled_connections()
    assert [(entry["event"], entry["log_level"]) for entry in logged] == [("the database is damaged", "error")]
    assert "SQLITE_CORRUPT" in faults.sentence(error)
    assert database.take_damages() == 1


def test_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    file = tmp_path / "waypost.db"
    file.write_bytes(b"no database" * 1000)
    database = Database(f"sqlite:///{file}")
    assert faults.classify(_error(database, "SELECT 1")) is Fault.DAMAGE
    database.close()
