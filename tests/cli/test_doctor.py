"""Findings of `waypost doctor`: errors that prevent a start, and warnings."""

import re
import resource
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import create_person
from tests.support.asgi_client import AsgiClient
from tests.support.cli import CommandResult, RunCommand
from tests.support.databases import damage_table
from tests.support.files import new_file
from tests.support.server import free_port
from tests.support.source import ROOT, SOURCE
from waypost.admin import system_checks
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build


def _prepare_nothing(_home: Path) -> None:
    pass


def _folder_is_a_file(working_folder: Path) -> None:
    (working_folder / "data").write_text("in the way")


def _folder_below_a_file(working_folder: Path) -> None:
    (working_folder / "file").write_text("in the way")


def _newer_database(working_folder: Path) -> None:
    (working_folder / "data").mkdir(0o700)
    with closing(sqlite3.connect(working_folder / "data" / "waypost.db")) as database:
        database.executescript("CREATE TABLE alembic_version (version_num); INSERT INTO alembic_version VALUES (9999)")
    (working_folder / "data" / "waypost.db").chmod(0o600)


def _broken_database(working_folder: Path) -> None:
    (working_folder / "data").mkdir(0o700)
    (working_folder / "data" / "waypost.db").write_bytes(b"this is not a database" * 100)
    (working_folder / "data" / "waypost.db").chmod(0o600)


def _readable_data_folder(working_folder: Path) -> None:
    (working_folder / "data").chmod(0o755)


def _damaged_country_database(working_folder: Path) -> None:
    (working_folder / "file.mmdb").write_text("damaged")


class ExpectedFinding(NamedTuple):
    """A finding: its id and part of its message, with the settings and folder that cause it."""

    id: str
    message: str
    settings: dict[str, str]
    prepare: Callable[[Path], None] = _prepare_nothing


ERRORS = (
    ExpectedFinding("W001", "data is not writable", {}, _folder_is_a_file),
    ExpectedFinding(
        "W001", "is not writable: Not a directory. Make it writable", {"DATA_DIR": "file/data"}, _folder_below_a_file
    ),
    ExpectedFinding("W010", "does not answer: file is not a database.", {}, _broken_database),
    ExpectedFinding("W010", "Connection refused", {"DATABASE_URL": "postgresql://unknown:secret@127.0.0.1:1/none"}),
    ExpectedFinding("W011", "is at revision 9999, but this version of waypost knows only", {}, _newer_database),
)
WARNINGS = (
    ExpectedFinding("W004", "no setting WAYPOST_PROT, so it is ignored. Did you mean WAYPOST_PORT?", {"PROT": "9000"}),
    ExpectedFinding("W004", "no setting WAYPOST_XYZZY, so it is ignored. Remove it.", {"XYZZY": ""}),
    ExpectedFinding("W005", "Other users of this machine can access", {}, _readable_data_folder),
    ExpectedFinding("W023", "none.mmdb cannot be read: No such file or directory", {"GEO_FILE": "none.mmdb"}),
    ExpectedFinding("W023", "file.mmdb is not an .mmdb file", {"GEO_FILE": "file.mmdb"}, _damaged_country_database),
    ExpectedFinding("W020", "which only this machine can open", {"BASE_URL": "", "HOST": "0.0.0.0"}),
    ExpectedFinding("W021", "all visitors will have the proxy's address", {"BASE_URL": "https://go.example.com"}),
    ExpectedFinding("W022", "so the header is ignored", {"COUNTRY_HEADER": "CF-IPCountry"}),
    ExpectedFinding("W024", "means the whole network 172.0.0.0/8", {"TRUSTED_PROXIES": "172.30.8.0/8"}),
    ExpectedFinding("W026", "has 0.0.0.0/0, so each visitor can choose", {"TRUSTED_PROXIES": "127.0.0.1,0.0.0.0/0"}),
    ExpectedFinding("W026", "has ::/0, so each visitor can choose", {"TRUSTED_PROXIES": "::/0"}),
    ExpectedFinding("W031", "files are stored in the data folder", {"STORAGE_ENDPOINT": "http://127.0.0.1:1"}),
)


def _prepare(finding: ExpectedFinding, working_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding.prepare(working_folder)
    for name, value in finding.settings.items():
        monkeypatch.setenv(f"WAYPOST_{name}", value)


def test_doctor_finds_nothing_in_healthy_installation(run_migrated: RunCommand, working_folder: Path) -> None:
    completed = run_migrated("doctor")
    summary, *checks = completed.out.splitlines()
    assert summary == f"All checks passed. Installation: {working_folder / 'data'}"
    assert len(checks) == 19
    assert {check.split()[0] for check in checks} == {"ok"}
    assert (completed.code, completed.err) == (0, "")


def test_doctor_warns_if_few_files_can_be_open(run_migrated: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 2048))
    completed = run_migrated("doctor")
    assert (completed.code, _summary(completed)) == (0, "No errors, 1 warning.")
    assert "warning  Open files: W006 A process may open only 2048 files" in completed.out


def _summary(completed: CommandResult) -> str:
    """Return the first line of a checklist without the place of the installation."""
    return completed.out.splitlines()[0].partition(" Installation: ")[0]


@pytest.mark.parametrize("finding", ERRORS, ids=lambda result: f"{result.id} {result.message}")
def test_error_finding_prevents_start(
    finding: ExpectedFinding, run: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _prepare(finding, working_folder, monkeypatch)
    for command, code in (("doctor", 1), ("serve", 2)):
        completed = run(command)
        assert completed.code == code, command
        assert "All checks passed" not in completed.out
        lines = (completed.out + completed.err).splitlines()
        if command == "doctor":
            assert lines.pop(0).partition(" Installation: ")[0] == "1 error."
        line, *others = lines
        assert not [other for other in others if not other.startswith("ok ")]
        start = rf"FAILED   [^:]+: {finding.id} " if command == "doctor" else f"{finding.id} "
        assert re.match(start, line), line
        assert finding.message in line
        assert "secret" not in line
        assert line in (completed.out if command == "doctor" else completed.err)


@pytest.mark.parametrize("finding", ERRORS, ids=lambda result: f"{result.id} {result.message}")
def test_commands_never_print_traceback(
    finding: ExpectedFinding, run: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _prepare(finding, working_folder, monkeypatch)
    code = 2 if finding.id == "W001" else 1  # no installation
    for arguments in (("account", "list"), ("plan", "add", "gold"), ("backup", "saved.tar.gz")):
        completed = run(*arguments)
        if (finding.id, *arguments[:1]) == ("W011", "backup"):
            continue  # an older waypost may still save what a newer one made
        assert (completed.code, completed.out) == (code, ""), arguments
        assert completed.err.startswith("waypost: "), completed.err
        assert completed.err.count("\n") == 1


@pytest.mark.parametrize("finding", WARNINGS, ids=lambda result: result.id)
def test_warning_finding_does_not_prevent_start(
    finding: ExpectedFinding, run_migrated: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _prepare(finding, working_folder, monkeypatch)
    completed = run_migrated("doctor")
    assert (completed.code, _summary(completed)) == (0, "No errors, 1 warning.")
    line, *others = completed.out.splitlines()[1:]
    assert not [other for other in others if not other.startswith("ok ")]
    assert re.match(rf"warning  [^:]+: {finding.id} ", line)
    assert finding.message in line
    assert completed.err == ""


def test_low_disk_space_is_warning(run_migrated: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    left = shutil.disk_usage(".")._replace(free=512_000_000 - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: left)
    completed = run_migrated("doctor")
    assert completed.code == 0
    assert "warning  Data folder: W002 Less than 512 MB are free at " in completed.out


def test_full_disk_is_error(run_migrated: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    left = shutil.disk_usage(".")._replace(free=16_000_000 - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: left)
    completed = run_migrated("doctor")
    assert completed.code == 1
    assert "FAILED   Data folder: W002 The disk is full: less than 16 MB are free at " in completed.out


def test_full_disk_prevents_only_the_start_of_a_new_installation(
    run_migrated: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = shutil.disk_usage(".")._replace(free=16_000_000 - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: left)
    for folder, prevents in (("data", False), ("new", True)):
        findings = system_checks.run(Settings(data_dir=Path(folder)))
        assert [(one.id, one.prevents_start) for one in findings if one.level == "error"] == [("W002", prevents)]
    monkeypatch.setenv("WAYPOST_DATA_DIR", "new")
    completed = run_migrated("serve")
    assert completed.code == 2
    assert "W002 The disk is full" in completed.err
    assert not Path("new").exists()


@pytest.mark.parametrize("table", ["links", "click_times", "aliases"])
def test_damaged_page_is_error(run_migrated: RunCommand, table: str) -> None:
    damage_table(Path("data/waypost.db"), table)
    completed = run_migrated("doctor")
    assert (completed.code, completed.err) == (1, "")
    assert re.search(r"^FAILED   Content: W016 The database \S+waypost.db is damaged: ", completed.out, re.MULTILINE)


def test_journal_that_cannot_be_written_is_error(run_migrated: RunCommand) -> None:
    Path("data/journal").touch()
    completed = run_migrated("doctor")
    assert completed.code == 1
    assert "FAILED   Clicks: W007 Clicks are lost, because the journal data/journal is missing." in completed.out


def test_clicks_that_wait_long_are_error(run_migrated: RunCommand) -> None:
    Path("data/journal").mkdir()
    Path("data/journal/1.log").write_text("1000\t1\tlink\t1\t\t127.0.0.1\t\t\t\t\n")
    completed = run_migrated("doctor")
    assert completed.code == 1
    assert "FAILED   Clicks: W018 Clicks wait for more than 30 seconds to be counted." in completed.out


def test_folder_without_installation_is_one_line(run: RunCommand) -> None:
    completed = run("doctor")
    assert (completed.code, completed.out, completed.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("trace", ["installation-id", "journal/1.log", "files/ab/cd"])
def test_folder_that_lost_its_database_is_error(run: RunCommand, trace: str) -> None:
    file = Path("data") / trace
    file.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    file.write_text("x")
    for command, code in (("doctor", 1), ("serve", 2)):
        completed = run(command)
        assert completed.code == code
        assert "W015 The database " in completed.out + completed.err
        assert not Path("data/waypost.db").exists()


def test_every_code_is_documented() -> None:
    source = (SOURCE / "admin" / "system_checks.py").read_text()
    uses = Counter(re.findall(r'"(W\d{3})"', source))
    assert [code for code, number in uses.items() if number > 1] == ["W002"]  # one meaning each; a disk has two levels
    codes = {*uses, "W000"}
    assert codes == set(re.findall(r"^\| `(W\d{3})` \|", (ROOT / "docs" / "checks.md").read_text(), re.MULTILINE))


def test_doctor_reports_broken_storage(run_migrated: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_STORAGE_URL", "s3://bucket/prefix")
    monkeypatch.setenv("WAYPOST_STORAGE_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("WAYPOST_STORAGE_KEY", "somebody")
    monkeypatch.setenv("WAYPOST_STORAGE_SECRET", "not-to-be-shown")
    completed = run_migrated("doctor")
    assert (completed.code, _summary(completed)) == (1, "1 error.")
    assert completed.out.splitlines()[1].startswith("FAILED   File storage: ")
    assert "W030 The file storage s3://bucket/prefix does not work: objects cannot be written" in completed.out
    assert not re.search("not-to-be-shown|Debug source", completed.out)


def test_doctor_reports_folder_that_lost_its_files(run_migrated: RunCommand) -> None:
    settings = Settings(data_dir=Path("data"))
    with closing(Database(settings.database)) as database, AsgiClient(build(settings, database)) as client:
        new_file(create_person(client, database, "ana"), "a.bin")
    assert "W030" not in run_migrated("doctor").out
    shutil.move("data/files", "elsewhere")
    for folder in (None, Path("data/files")):  # a removed folder, and one whose disk is not mounted
        if folder is not None:
            folder.mkdir()
        completed = run_migrated("doctor")
        assert completed.code == 1
        assert "W030 The file storage data/files does not work: its folder is empty, although it" in completed.out


def test_doctor_reports_incomplete_storage_credentials(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, storage_url="s3://bucket", storage_key="somebody")
    assert [finding.id for finding in system_checks.run(settings)] == ["W032"]


def test_maintenance_is_warning(run_migrated: RunCommand) -> None:
    assert run_migrated("maintenance", "status").out == "Maintenance is off.\n"
    run_migrated("maintenance", "on")
    assert run_migrated("maintenance", "status").out.startswith("Maintenance is on since 20")
    completed = run_migrated("doctor")
    assert (completed.code, _summary(completed)) == (0, "No errors, 1 warning.")
    assert "warning  Maintenance mode: W041 " in completed.out
    run_migrated("maintenance", "off")
    assert _summary(run_migrated("doctor")) == "All checks passed."


def test_problems_come_first_and_are_counted(run_migrated: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_XYZZY", "1")
    monkeypatch.setenv("WAYPOST_TRUSTED_PROXIES", "0.0.0.0/0")
    Path("data/journal").touch(0o600)
    completed = run_migrated("doctor")
    summary, *checks = completed.out.splitlines()
    assert summary.startswith("1 error, 2 warnings. Installation: ")
    assert [check.split()[0] for check in checks[:4]] == ["FAILED", "warning", "warning", "ok"]
    assert (completed.code, completed.err) == (1, "")


def test_checks_that_cannot_be_completed_are_not_passed(run_migrated: RunCommand) -> None:
    with closing(sqlite3.connect("data/waypost.db")) as database:
        database.execute("DROP TABLE installation")
        database.commit()
    completed = run_migrated("doctor")
    assert (completed.code, completed.out.splitlines()[0]) == (1, "The checks could not be completed.")
    assert "no such table: installation" in completed.err
