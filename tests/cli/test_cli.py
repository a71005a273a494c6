"""The command line: backup, blocklist, reports, JSON output and errors."""

import io
import os
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.cli import ANA, RunCommand, status
from waypost import __version__
from waypost.admin.installation import open_database
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.files import ops as files
from waypost.items.moderation import reports
from waypost.server.routers import api_document
from waypost.storage.factory import open_store

_GONE = "2001-01-01"


def test_version_is_printed(run: RunCommand) -> None:
    assert run("version").out == f"{__version__}\n"
    assert f"## {__version__}\n" in (Path(__file__).parents[2] / "CHANGELOG.md").read_text()


def test_openapi_document_is_printed(run: RunCommand, working_folder: Path) -> None:
    printed = run("openapi").json
    assert printed == api_document(Settings())
    assert printed["servers"] == [{"url": "http://go.localhost:8000"}]
    assert list(working_folder.iterdir()) == []


def test_backup_is_restored(run_migrated: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = run_migrated(*ANA, "--json").json["apikey"]
    _store_file(working_folder / "data")
    output = run_migrated("backup", "saved[1].tar.gz").out
    size = (working_folder / "saved[1].tar.gz").stat().st_size
    assert re.fullmatch(rf"saved\[1\]\.tar\.gz: \d+ rows and 1 files, {size} bytes\. Installation: .+/data\n", output)
    monkeypatch.setenv("WAYPOST_DATA_DIR", "other")
    rows = re.findall(r"\d+ rows and 1 files", output)[0]
    assert (
        run_migrated("restore", "saved[1].tar.gz").out
        == f"saved[1].tar.gz: {rows} restored. Installation: {working_folder / 'other'}\n"
    )
    assert (working_folder / "other" / "files" / "aa" / "bb").read_bytes() == b"content"
    (working_folder / "other" / "files" / "aa" / "bb").unlink()
    assert run_migrated("backup", "again.tar.gz").err == "waypost: Files missing from the storage: 1.\n"
    assert status(key) == 200


def _store_file(folder: Path) -> None:
    store = open_store(Settings(data_dir=folder))
    store.save("aa/bb", io.BytesIO(b"content"), disposition="attachment")
    with closing(Database(f"sqlite:///{folder / 'waypost.db'}")) as database:
        database.write(lambda tx: files.register_upload(tx, "aa/bb"))
        stored = files.StoredObject("aa/bb", "a.txt", 7, b"", "text/plain")
        database.write(lambda tx: files.add(tx, 1, stored, settings=Settings()))


def test_restore_over_existing_accounts_is_rejected(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    run_migrated("backup", "saved.tar.gz")
    completed = run_migrated("restore", "saved.tar.gz")
    assert (completed.code, completed.out) == (1, "")
    assert completed.err == "waypost: There are accounts in this database already. Restore into an empty one.\n"


def test_block_commands_add_list_and_remove(run_migrated: RunCommand) -> None:
    assert run_migrated("block", "list", "--json").json == []
    assert run_migrated("block", "add", "https://Bad.example/x", "*.worse.example").out.splitlines() == [
        "Blocked the host bad.example.",
        "Blocked the host worse.example.",
    ]
    assert run_migrated("block", "add", "--word", "Casino").out == "Blocked the word casino.\n"
    listed = [(entry["kind"], entry["value"]) for entry in run_migrated("block", "list", "--json").json]
    assert listed == [("host", "bad.example"), ("host", "worse.example"), ("word", "casino")]
    assert "worse.example" in run_migrated("block", "list").out
    assert run_migrated("block", "remove", "bad.example", "worse.example").code == 0
    assert [entry["value"] for entry in run_migrated("block", "list", "--json").json] == ["casino"]
    for arguments, output in (
        (("add", "no host"), "is not a host name"),
        (("add", "--word", "ab"), "at least 3 characters"),
        (("remove", "casino"), "The host casino is not blocked."),
        (("add", "good.example", ".."), "is not a host name"),
    ):
        ran = run_migrated("block", *arguments)
        assert (ran.code, output in ran.err) == (1, True), ran.err
    assert [entry["value"] for entry in run_migrated("block", "list", "--json").json] == ["casino"]


def test_report_commands_list_and_close(run_migrated: RunCommand, working_folder: Path) -> None:
    assert run_migrated("reports", "list", "--json").json == []
    with closing(open_database(Settings())) as database:
        for host, alias in (("", "one"), ("go.brand.example", "two"), ("/r", "spring")):
            values = {
                "host": host,
                "alias": alias,
                "comment": "Look:\n\x1b[2Jgone \u202e",
                "reporter": b"x" + host.encode(),
            }
            database.write(lambda tx, values=values: reports.add(tx, reason="spam", **values))  # type: ignore[misc]
    urls = [report["url"] for report in run_migrated("reports", "list", "--json").json]
    base = "http://go.localhost:8000"
    assert urls == [f"{base}/one", "https://go.brand.example/two", f"{base}/r/spring"]
    output = run_migrated("reports", "list").out
    assert "Look:  [2Jgone" in output
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert run_migrated("reports", "close", 1).out == "Report 1 is closed.\n"
    assert [report["id"] for report in run_migrated("reports", "list", "--json").json] == [2, 3]
    assert [report["id"] for report in run_migrated("reports", "list", "--all", "--json").json] == [1, 2, 3]
    assert run_migrated("reports", "close", 99).code == 1


class Case(NamedTuple):
    """An invalid command line and its error message."""

    words: Sequence[object]
    message: str
    code: int = 1


WRONG = (
    Case((*ANA[:-1], "ana"), "That username is taken. Please choose another one."),
    Case((*ANA[:-1], "ben"), "That e-mail address is taken. Please use another one."),
    Case(("account", "add", "--email", "ben@example.com", "--username", "b"), "username must be 3 to 50 characters"),
    Case(("account", "add", "--email", "invalid", "--username", "ben"), "email must be an e-mail address"),
    Case((*ANA, "--password", "short"), "password must be 8 to 128 characters."),
    Case((*ANA, "--password", "12345678"), "password is easy to guess."),
    Case((*ANA, "--plan", "[/x]"), "there is none called '[/x]'."),
    Case((*ANA, "--rate-limit", "0"), "'--rate-limit'", 2),
    Case((*ANA, "--rate-limit", "many"), "'--rate-limit'", 2),
    Case((*ANA, "--rate-limit", 10**30), "'--rate-limit'", 2),
    Case(("account", "add", "--username", "ben"), "Missing option '--email'", 2),
    Case(("account", "suspend"), "Missing argument 'ACCOUNT'", 2),
    Case(("account", "suspend", "unknown"), "There is no account with the username, e-mail address or id unknown."),
    Case(("account", "suspend", "[/x]"), "There is no account with the username, e-mail address or id [/x]."),
    Case(("account", "key", "list", "99"), "There is no account"),
    Case(("account", "key", "add", "unknown"), "There is no account"),
    Case(("account", "key", "add", "ana", "--scope", "all"), "'--scope'", 2),
    Case(("account", "key", "add", "ana", "--expires", "tomorrow"), "must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS", 2),
    Case(("account", "key", "add", "ana", "--expires", _GONE), "must not be in the past", 2),
    Case(("account", "key", "add", "ana", "--name", " "), "must be 1 to 64 characters on one line", 2),
    Case(("account", "key", "revoke", "ana", "99"), "No such API key in this account."),
    Case(("account", "key", "revoke", "ana", "x"), "'key'", 2),
    Case(("account", "key", "revoke", "ana", 10**30), "'key'", 2),
    Case(("plan", "add", "free"), "There is a plan with that name already."),
    Case(("plan", "add", "x" * 65), "must be 1 to 64 characters on one line", 2),
    Case(("plan", "add", "gold", "--status", "rich"), "'--status'", 2),
    Case(("plan", "add", "gold", "--upload-limit", "-1"), "'--upload-limit'", 2),
    Case(("backup", "nowhere/x.tar.gz"), "nowhere/x.tar.gz cannot be written: No such file or directory."),
    Case(("backup", "data"), "data cannot be written: Is a directory."),
    Case(("restore", "nowhere"), "nowhere cannot be read: No such file or directory."),
    Case(("restore", "data/waypost.db"), "data/waypost.db cannot be read: "),
    Case(("serve", "--port", "x"), "'--port'", 2),
    Case(("serve", "--port", "99999"), "WAYPOST_PORT: Input should be less than or equal to 65535.", 2),
    Case(("serve", "--workers", "0"), "WAYPOST_WORKERS: Input should be greater than or equal to 1.", 2),
    Case(("nonsense",), "No such command 'nonsense'", 2),
    Case(("account", "add", "--nonsense"), "No such option: --nonsense", 2),
)


def test_command_errors_are_one_sentence(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    before = _state(run_migrated)
    for case in WRONG:
        for name in ("WAYPOST_PORT", "WAYPOST_WORKERS"):
            os.environ.pop(name, None)  # where `serve` puts its options, for its workers
        completed = run_migrated(*case.words)
        assert (completed.code, completed.out) == (case.code, ""), case
        assert case.message in " ".join(completed.err.split()), (case, completed.err)
        assert "Traceback" not in completed.err, case
        if case.code == 1:
            assert completed.err.startswith("waypost: "), case
            assert completed.err.count("\n") == 1, case
            assert re.search(r"[.)]\n\Z", completed.err), case
    assert _state(run_migrated) == before


def _state(run: RunCommand) -> list[Any]:
    lists = (("account", "list"), ("plan", "list"), ("account", "key", "list", "ana"))
    return [*(run(*words, "--json").json for words in lists), sorted(Path().iterdir())]
