"""The commands of the audit log, and the checkpoint of the dashboard."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.conftest import Person
from tests.support.cli import ANA, RunCommand
from tests.support.dashboard_client import Browser
from tests.support.source import ROOT
from waypost.audit import checkpoints
from waypost.db.database import Database
from waypost.items.accounts import ops as accounts
from waypost.server import background


def test_changed_row_is_reported_with_exit_code_1(run_migrated: RunCommand, working_folder: Path) -> None:
    assert run_migrated("audit", "checkpoint").code == 1  # the log is empty
    assert run_migrated(*ANA).code == 0
    note = working_folder / "checkpoint.txt"
    note.write_text(run_migrated("audit", "checkpoint").out)
    assert "The log is complete and unchanged." in run_migrated("audit", "verify", "--checkpoint", note).out
    with closing(sqlite3.connect(working_folder / "data" / "waypost.db")) as connection:
        connection.execute("UPDATE audit SET label = 'eve' WHERE name = 'account.created'")
        connection.commit()
    result = run_migrated("audit", "verify")
    assert (result.code, "(account.created of " in result.out, "was changed." in result.out) == (1, True, True)
    assert run_migrated("audit", "verify", "--json").code == 1


def test_export_is_verified_by_the_documented_commands(run_migrated: RunCommand, working_folder: Path) -> None:
    run_migrated(*ANA)
    (working_folder / "log").write_text(run_migrated("audit", "export").out)
    (working_folder / "note").write_text(run_migrated("audit", "checkpoint").out)
    key = run_migrated("audit", "checkpoint", "--key").out.strip()
    command = [sys.executable, "-I", str(ROOT / "docs" / "verify_audit.py"), "log", "note", key]
    done = subprocess.run(command, cwd=working_folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_administrators_download_the_latest_checkpoint(database: Database, ana: Person, dashboard: Browser) -> None:
    page = "/audit?scope=installation"
    address = f"{page}&format=checkpoint"
    assert dashboard.get(address).status_code == 404  # there is none yet
    assert "format=checkpoint" not in dashboard.get(page).text
    background.sequence_now(database)
    note = database.write(lambda tx: checkpoints.sign(tx, "go.example.com/audit"))
    assert dashboard.get(address).text == note
    shown = dashboard.get(page).text
    assert "format=checkpoint" in shown
    assert '<code dir="ltr">waypost audit verify</code>' in shown
    database.write(lambda tx: accounts.set_admin(tx, ana.account, admin=False))
    assert "go.example.com/audit" not in dashboard.get(address).text
