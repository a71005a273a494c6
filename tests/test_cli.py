"""The command line: what each command does, what it prints for programs, and how it says no."""

import io
import json
import logging
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import structlog
from sqlalchemy import text

from tests.dashing import Browser
from tests.inside import Inside
from tests.serving import free_port, serving
from waypost import __version__, checks
from waypost.abuse import ops as abuse
from waypost.api.app import api_document
from waypost.app import build
from waypost.cli.main import main
from waypost.db import Database
from waypost.files import ops as files
from waypost.server import open_database
from waypost.settings import Settings
from waypost.storage.opening import open_store

ANA = ("account", "add", "--email", "ana@example.com", "--username", "ana")
_DAY = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\Z")
_GONE = "2001-01-01"


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the commands run, with the settings of a new installation."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WAYPOST_BASE_URL", "http://go.localhost:8000")
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs `waypost` with these words."""
    handlers, level = logging.root.handlers[:], logging.root.level
    environment = dict(os.environ)

    def run(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["waypost", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else int(code is not None), *capsys.readouterr())

    yield run
    # What `serve` and `doctor` set up is for one process.
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def filled(run: Run, home: Path, sqlite_template: Path) -> Run:
    """The same, in an installation that has the tables and no account."""
    (home / "data").mkdir()
    shutil.copy(sqlite_template, home / "data" / "waypost.db")
    return run


def test_the_version(run: Run) -> None:
    assert run("version").out == f"{__version__}\n"
    assert __version__ in (Path(__file__).parent.parent / "pyproject.toml").read_text()


def test_an_account_is_made_for_a_program(run: Run) -> None:
    made = run(*ANA, "--password", "a long password", "--json").json
    assert list(made) == ["id", "email", "username", "password", "apikey"]
    assert isinstance(made["id"], int)
    assert (made["email"], made["username"], made["password"]) == ("ana@example.com", "ana", "a long password")
    assert _status(made["apikey"]) == 200


def test_an_account_is_made_for_a_person(filled: Run) -> None:
    shown = filled(*ANA, "--password", "[bold]:heart:[/x] secret").out
    assert "Account ana <ana@example.com> is made." in shown
    assert "[bold]:heart:[/x] secret\n" in shown
    key = re.search(r"wp_\S+", shown)
    assert key
    assert _status(key[0]) == 200


def test_a_password_is_made_up_when_none_is_given(filled: Run) -> None:
    made = [filled(*ANA[:-3], f"{name}@example.com", "--username", name, "--json").json for name in ("ana", "ben")]
    assert all(len(one["password"]) == 20 for one in made)
    assert made[0]["password"] != made[1]["password"]


def test_the_first_account_is_the_owner(filled: Run) -> None:
    filled(*ANA)
    filled("account", "add", "--email", "ben@example.com", "--username", "ben")
    shown = filled("account", "list", "--json").json
    assert [(one["username"], one["owner"]) for one in shown] == [("ana", True), ("ben", False)]


def test_serve_makes_no_owner_beside_an_account(filled: Run, home: Path) -> None:
    made = filled(*ANA, "--json").json
    with serving(home / "data", domain_check="off") as server:
        assert server.call("GET", "/api/account", key=made["apikey"]).json()["data"]["username"] == "ana"
        assert "Welcome" not in server.output()
    assert len(filled("account", "list", "--json").json) == 1


def test_accounts_are_listed(filled: Run) -> None:
    name = "a-name-as-long-as-a-name-may-be-and-nothing-cut-off"[:50]
    filled(*ANA)
    filled("account", "add", "--email", f"{name}@subdomain.example.com", "--username", name)
    shown = filled("account", "list", "--json").json
    words = {"email", "expires", "id", "owner", "plan", "registered", "status", "suspended", "username"}
    assert shown[0].keys() == words
    assert shown[0]["expires"] == "9999-12-31 23:59:59"
    assert _DAY.match(shown[0]["registered"])
    lines = filled("account", "list").out.splitlines()
    assert lines[0].split() == ["id", "username", "email", "plan", "owner", "suspended", "registered"]
    assert lines[2].split()[:3] == ["2", name, f"{name}@subdomain.example.com"]


def test_a_suspended_account_is_shut_out_until_that_is_undone(filled: Run) -> None:
    key = filled(*ANA, "--json").json["apikey"]
    for who in ("ana", "ANA", "ana@example.com", "Ana@Example.com", "1"):
        assert filled("account", "suspend", who).out == "ana is suspended.\n"
        assert _status(key) == 403
        assert filled("account", "list", "--json").json[0]["suspended"] is True
        assert filled("account", "suspend", who, "--undo").out == "ana is active again.\n"
        assert _status(key) == 200


def test_an_account_becomes_an_operator_until_that_is_undone(filled: Run) -> None:
    filled(*ANA)
    filled("account", "add", "--email", "ben@example.com", "--username", "ben", "--password", "a long password")
    assert filled("account", "operator", "ben").out == "ben is an operator.\n"
    assert _admin_page("ben", "a long password") == 200
    assert filled("account", "operator", "ben@example.com", "--undo").out == "ben is no longer an operator.\n"
    assert _admin_page("ben", "a long password") == 404
    assert "nobody" in filled("account", "operator", "nobody").err


def test_a_forgotten_password_is_set_by_the_printed_link(filled: Run) -> None:
    filled(*ANA)
    link = filled("account", "reset", "ana").out.splitlines()[-1].strip()
    assert link.startswith("http://go.localhost:8000/dashboard/reset?pass=")
    with _browser() as browser:
        path = link.partition("/dashboard")[2]
        told = {"pass": link.partition("=")[2], "password": "another long password"}
        assert browser.send("/reset", at=path, **told).status_code == 303
        assert browser.get(path).status_code == 400
    assert _admin_page("ana", "another long password") == 200


def test_keys_are_made_listed_and_revoked(filled: Run) -> None:
    first = filled(*ANA, "--json").json["apikey"]
    options = ("--name", "[read] only", "--scope", "read", "--expires", "2999-12-31")
    made = filled("account", "key", "add", "ana", *options, "--json").json
    assert made.keys() == {"account", "name", "scope", "apikey"}
    assert (made["account"], made["name"], made["scope"]) == (1, "[read] only", "read")
    assert (_status(made["apikey"]), _status(made["apikey"], "POST")) == (200, 403)

    shown = filled("account", "key", "list", "ana", "--json").json
    assert [key["name"] for key in shown] == ["[read] only", "first key"]
    assert shown[0].keys() == {"id", "name", "hint", "scope", "expires", "created", "last_used"}
    assert (shown[0]["scope"], shown[0]["expires"]) == ("read", "2999-12-31 23:59:59")
    assert (shown[1]["scope"], shown[1]["expires"]) == ("write", None)
    assert made["apikey"].startswith(shown[0]["hint"])
    assert _DAY.match(shown[0]["last_used"])
    table = filled("account", "key", "list", "ana").out
    assert "[read] only" in table
    assert made["apikey"] not in table + json.dumps(shown)

    said = filled("account", "key", "revoke", "ana", shown[0]["id"])
    assert said.out == f"Key {shown[0]['id']} of ana is revoked.\n"
    assert (_status(made["apikey"]), _status(first)) == (401, 200)


def test_a_key_ends_when_it_expires(filled: Run) -> None:
    filled(*ANA)
    key = filled("account", "key", "add", "ana", "--expires", "2999-12-31 10:00:00", "--json").json["apikey"]
    assert _status(key) == 200
    with closing(open_database(Settings())) as database:
        database.write(lambda tx: tx.execute(text("UPDATE api_keys SET expires = 5 WHERE expires IS NOT NULL")))
    assert _status(key) == 401


def test_a_key_of_somebody_else_cannot_be_revoked(filled: Run) -> None:
    key = filled(*ANA, "--json").json["apikey"]
    filled("account", "add", "--email", "ben@example.com", "--username", "ben")
    refused = filled("account", "key", "revoke", "ben", 1)
    assert refused.code == 1
    assert refused.err == "waypost: No such API key in this account.\n"
    assert _status(key) == 200


def test_plans_are_made_listed_and_used(filled: Run) -> None:
    endless = {"storage_limit": None}
    made = filled("plan", "add", "gold", "--rate-limit", 2, "--upload-limit", 1000, "--json").json
    assert made == {"id": 2, "name": "gold", "status": "pro", "rate_limit": 2, "upload_limit": 1000, **endless}
    assert filled("plan", "add", "silver", "--status", "free", "--storage-limit", 5000).out == "Plan silver is made.\n"
    shown = filled("plan", "list", "--json").json
    free = {"id": 1, "name": "free", "status": "free", "rate_limit": 30, "upload_limit": 512 * 1024 * 1024, **endless}
    assert shown[:2] == [free, made]
    assert (shown[2]["status"], shown[2]["storage_limit"]) == ("free", 5000)
    assert filled("plan", "list").out.splitlines()[2].split() == ["2", "gold", "pro", "2", "1000", "-"]

    key = filled(*ANA, "--plan", "gold", "--json").json["apikey"]
    assert [_status(key) for _ in range(3)] == [200, 200, 429]


def test_an_account_may_have_a_limit_of_its_own(filled: Run) -> None:
    key = filled(*ANA, "--rate-limit", 1, "--json").json["apikey"]
    assert [_status(key) for _ in range(2)] == [200, 429]


def test_a_backup_comes_back(filled: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = filled(*ANA, "--json").json["apikey"]
    _keep_a_file(home / "data")
    said = filled("backup", "saved[1].tar.gz").out
    size = (home / "saved[1].tar.gz").stat().st_size
    assert re.fullmatch(rf"saved\[1\]\.tar\.gz: \d+ rows and 1 files, {size} bytes\.\n", said)
    monkeypatch.setenv("WAYPOST_DATA_DIR", "other")
    rows = re.findall(r"\d+ rows and 1 files", said)[0]
    assert filled("restore", "saved[1].tar.gz").out == f"saved[1].tar.gz: {rows} are back.\n"
    assert (home / "other" / "files" / "aa" / "bb").read_bytes() == b"content"
    (home / "other" / "files" / "aa" / "bb").unlink()
    assert filled("backup", "again.tar.gz").err == "waypost: The bytes of 1 files were not there.\n"
    assert _status(key) == 200


def _keep_a_file(folder: Path) -> None:
    store = open_store(Settings(data_dir=folder))
    store.save("aa/bb", io.BytesIO(b"content"), disposition="attachment")
    with closing(Database(f"sqlite:///{folder / 'waypost.db'}")) as database:
        database.write(lambda tx: files.begin(tx, "aa/bb"))
        stored = files.Stored("aa/bb", "a.txt", 7, b"", "text/plain")
        database.write(lambda tx: files.add(tx, 1, stored, settings=Settings()))


def test_a_storage_that_does_not_work_is_found_by_the_doctor_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_STORAGE_URL", "s3://bucket/prefix")
    monkeypatch.setenv("WAYPOST_STORAGE_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("WAYPOST_STORAGE_KEY", "somebody")
    monkeypatch.setenv("WAYPOST_STORAGE_SECRET", "not-to-be-shown")
    refused = run("doctor")
    assert (refused.code, refused.out) == (1, "")
    assert "W030 The file storage s3://bucket/prefix does not work: nothing can be written" in refused.err
    assert "not-to-be-shown" not in refused.err


def test_half_a_key_of_a_storage_is_found(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, storage_url="s3://bucket", storage_key="somebody")
    assert [finding.id for finding in checks.run(settings)] == ["W032"]


def test_the_openapi_document_is_printed(run: Run, home: Path) -> None:
    printed = run("openapi").json
    assert printed == api_document(Settings())
    assert printed["servers"] == [{"url": "http://go.localhost:8000"}]
    assert list(home.iterdir()) == []


class Case(NamedTuple):
    """A wrong command line, and the words in which it is refused."""

    words: Sequence[object]
    told: str
    code: int = 1


WRONG = (
    Case((*ANA[:-1], "ana"), "That username is taken. Please choose another one."),
    Case((*ANA[:-1], "ben"), "That e-mail address is taken. Please use another one."),
    Case(("account", "add", "--email", "ben@example.com", "--username", "b"), "username must be 3 to 50 characters"),
    Case(("account", "add", "--email", "nobody", "--username", "ben"), "email must be an e-mail address"),
    Case((*ANA, "--password", "short"), "password must be 8 to 128 characters."),
    Case((*ANA, "--plan", "[/x]"), "there is none called '[/x]'."),
    Case((*ANA, "--rate-limit", "0"), "'--rate-limit'", 2),
    Case((*ANA, "--rate-limit", "many"), "'--rate-limit'", 2),
    Case((*ANA, "--rate-limit", 10**30), "'--rate-limit'", 2),
    Case(("account", "add", "--username", "ben"), "Missing option '--email'", 2),
    Case(("account", "suspend"), "Missing argument 'who'", 2),
    Case(("account", "suspend", "nobody"), "There is no account with the username, e-mail address or id nobody."),
    Case(("account", "suspend", "[/x]"), "There is no account with the username, e-mail address or id [/x]."),
    Case(("account", "key", "list", "99"), "There is no account"),
    Case(("account", "key", "add", "nobody"), "There is no account"),
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


def test_what_is_wrong_is_said_in_a_sentence(filled: Run) -> None:
    filled(*ANA)
    before = _everything(filled)
    for case in WRONG:
        for name in ("WAYPOST_PORT", "WAYPOST_WORKERS"):
            os.environ.pop(name, None)  # where `serve` puts its options, for its workers
        refused = filled(*case.words)
        assert (refused.code, refused.out) == (case.code, ""), case
        assert case.told in " ".join(refused.err.split()), (case, refused.err)
        assert "Traceback" not in refused.err, case
        if case.code == 1:
            assert refused.err.startswith("waypost: "), case
            assert refused.err.count("\n") == 1, case
            assert re.search(r"[.)]\n\Z", refused.err), case
    assert _everything(filled) == before


def test_a_restore_over_accounts_is_refused(filled: Run) -> None:
    filled(*ANA)
    filled("backup", "saved.tar.gz")
    refused = filled("restore", "saved.tar.gz")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == "waypost: There are accounts in this database already. Restore into an empty one.\n"


SETTINGS = {
    "WAYPOST_PORT": ("0", "99999", "x", ""),
    "WAYPOST_WORKERS": ("0", "65", "1.5"),
    "WAYPOST_BASE_URL": (
        "go.example.com",
        "ftp://go.example.com",
        "https://go.example.com/path",
        "https://",
        "http://[::",
    ),
    "WAYPOST_DATABASE_URL": ("nonsense", "mysql://localhost/x", "postgresql://localhost", "sqlite://", "sqlite:///"),
    "WAYPOST_TRUSTED_PROXIES": ("everybody", "10.0.0.0/33", "127.0.0.1,[/x]"),
    "WAYPOST_DOMAIN_CHECK": ("maybe", ""),
    "WAYPOST_LINK_SCHEMES": ("javascript", "mailto,DATA", "9x", "[/x]"),
    "WAYPOST_LOG_LEVEL": ("loud",),
    "WAYPOST_LOG_FORMAT": ("xml",),
    "WAYPOST_SHUTDOWN_SECONDS": ("-1",),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_bad_setting_is_named(name: str, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in SETTINGS[name]:
        monkeypatch.setenv(name, value)
        for words in (("doctor",), ("serve",), ("account", "list")):
            refused = run(*words)
            assert (refused.code, refused.out) == (2, ""), value
            assert refused.err.startswith(f"W000 {name}: "), refused.err
            assert refused.err.count("\n") == 1, refused.err
            assert "Value error" not in refused.err
    assert list(home.iterdir()) == []


def test_settings_come_from_a_file(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "waypost.toml").write_text('data_dir = "here"\nlink_schemes = "mailto"\nport = 9000\n')
    (home / "other.toml").write_text('data_dir = "there"\n')
    monkeypatch.delenv("WAYPOST_BASE_URL")
    run(*ANA)
    assert (home / "here" / "waypost.db").is_file()
    assert run("openapi").json["servers"] == [{"url": "http://localhost:9000"}]
    monkeypatch.setenv("WAYPOST_PORT", "9001")  # the environment comes first
    assert run("openapi").json["servers"] == [{"url": "http://localhost:9001"}]
    monkeypatch.setenv("WAYPOST_CONFIG", "other.toml")
    run("account", "list")
    assert (home / "there" / "waypost.db").is_file()


FILES = {
    "port = 'x'\n": "W000 WAYPOST_PORT: ",
    "prot = 9000\n": "W000 WAYPOST_PROT: there is no such setting.\n",
    "port = \n": "W000 waypost.toml: Invalid value",
    "\x00": "W000 waypost.toml: ",
}


def test_a_bad_settings_file_is_named(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for content, told in FILES.items():
        (home / "waypost.toml").write_text(content)
        refused = run("doctor")
        assert (refused.code, refused.out) == (2, ""), content
        assert refused.err.startswith(told), refused.err
    monkeypatch.setenv("WAYPOST_CONFIG", "nowhere.toml")
    assert run("doctor").err == "W000 nowhere.toml: there is no such file.\n"


def test_a_healthy_installation_has_nothing_to_find(filled: Run) -> None:
    assert filled("doctor") == Ran(0, "Nothing keeps this service from running.\n", "")


def test_a_new_installation_has_nothing_to_find(run: Run) -> None:
    assert run("doctor") == Ran(0, "Nothing keeps this service from running.\n", "")


def _nothing(_home: Path) -> None:
    pass


def _folder_is_a_file(home: Path) -> None:
    (home / "data").write_text("in the way")


def _folder_below_a_file(home: Path) -> None:
    (home / "file").write_text("in the way")


def _newer_database(home: Path) -> None:
    (home / "data").mkdir()
    with closing(sqlite3.connect(home / "data" / "waypost.db")) as database:
        database.executescript("CREATE TABLE alembic_version (version_num); INSERT INTO alembic_version VALUES (9999)")


def _broken_database(home: Path) -> None:
    (home / "data").mkdir()
    (home / "data" / "waypost.db").write_bytes(b"this is not a database" * 100)


class Found(NamedTuple):
    """What `doctor` finds: an id and some of its words, with these settings in that state of the folder."""

    id: str
    told: str
    settings: dict[str, str]
    prepare: Callable[[Path], None] = _nothing


ERRORS = (
    Found("W001", "data is not writable", {}, _folder_is_a_file),
    Found(
        "W001", "is not writable: Not a directory. Make it writable", {"DATA_DIR": "file/data"}, _folder_below_a_file
    ),
    Found("W010", "does not answer: file is not a database.", {}, _broken_database),
    Found("W010", "Connection refused", {"DATABASE_URL": "postgresql://nobody:secret@127.0.0.1:1/none"}),
    Found("W011", "is at revision 9999, this version of waypost knows only", {}, _newer_database),
)
WARNINGS = (
    Found("W020", "which only this machine can open", {"BASE_URL": "", "HOST": "0.0.0.0"}),
    Found("W021", "every visitor will seem to be the proxy", {"BASE_URL": "https://go.example.com"}),
    Found("W022", "so it is never believed", {"COUNTRY_HEADER": "CF-IPCountry"}),
    Found("W031", "files are kept in the data folder", {"STORAGE_ENDPOINT": "http://127.0.0.1:1"}),
)


@pytest.mark.parametrize("found", ERRORS, ids=lambda found: f"{found.id} {found.told}")
def test_an_error_is_found_and_keeps_the_service_from_starting(
    found: Found, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _prepare(found, home, monkeypatch)
    for command, code in (("doctor", 1), ("serve", 2)):
        refused = run(command)
        assert (refused.code, refused.out) == (code, ""), command
        assert refused.err.startswith(f"{found.id} "), refused.err
        assert found.told in refused.err
        assert refused.err.count("\n") == 1
        assert "secret" not in refused.err


@pytest.mark.parametrize("found", ERRORS, ids=lambda found: f"{found.id} {found.told}")
def test_no_command_ends_in_a_traceback(found: Found, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _prepare(found, home, monkeypatch)
    for words in (("account", "list"), ("plan", "add", "gold"), ("backup", "saved.tar.gz")):
        refused = run(*words)
        if (found.id, *words[:1]) == ("W011", "backup"):
            continue  # an older waypost may still save what a newer one made
        assert (refused.code, refused.out) == (1, ""), words
        assert refused.err.startswith("waypost: "), refused.err
        assert refused.err.count("\n") == 1


@pytest.mark.parametrize("found", WARNINGS, ids=lambda found: found.id)
def test_a_warning_is_found_and_keeps_nobody_from_anything(
    found: Found, filled: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _prepare(found, home, monkeypatch)
    said = filled("doctor")
    assert (said.code, said.out) == (0, "Nothing keeps this service from running.\n")
    assert said.err.startswith(f"{found.id} ")
    assert found.told in said.err
    assert said.err.count("\n") == 1


def test_little_space_is_a_warning(filled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    left = shutil.disk_usage(".")._replace(free=512 * 1024 * 1024 - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: left)
    said = filled("doctor")
    assert said.code == 0
    assert said.err.startswith("W002 Less than 512 MiB are free at ")


def _prepare(found: Found, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found.prepare(home)
    for name, value in found.settings.items():
        monkeypatch.setenv(f"WAYPOST_{name}", value)


def _status(key: str, method: str = "GET") -> int:
    """How the service, over the data of the present settings, answers a call with that key."""
    settings = Settings()
    path = "/api/account" if method == "GET" else "/api/channel/add"
    with Inside(build(settings, Database(settings.database))) as client:
        return client.request(method, path, headers={"Authorization": f"Bearer {key}"}).status_code


@contextmanager
def _browser() -> Iterator[Browser]:
    """A browser in front of the service, over the data of the present settings."""
    settings = Settings()
    with Inside(build(settings, Database(settings.database))) as client:
        yield Browser(client)


def _admin_page(name: str, password: str) -> int:
    """What the operator's pages answer somebody who signs in."""
    with _browser() as browser:
        assert browser.sign_in(name, password).status_code == 303
        return int(browser.get("/admin/accounts").status_code)


def _everything(run: Run) -> list[Any]:
    lists = (("account", "list"), ("plan", "list"), ("account", "key", "list", "ana"))
    return [*(run(*words, "--json").json for words in lists), sorted(Path().iterdir())]


def test_the_operator_blocks_and_unblocks_hosts_and_words(run: Run) -> None:
    assert run("block", "list", "--json").json == []
    assert run("block", "add", "https://Bad.example/x", "*.worse.example").out.splitlines() == [
        "Blocked the host bad.example.",
        "Blocked the host worse.example.",
    ]
    assert run("block", "add", "--word", "Casino").out == "Blocked the word casino.\n"
    listed = [(one["kind"], one["value"]) for one in run("block", "list", "--json").json]
    assert listed == [("host", "bad.example"), ("host", "worse.example"), ("word", "casino")]
    assert "worse.example" in run("block", "list").out
    assert run("block", "remove", "bad.example", "worse.example").code == 0
    assert [one["value"] for one in run("block", "list", "--json").json] == ["casino"]
    for words, said in (
        (("add", "no host"), "is not a host name"),
        (("add", "--word", "ab"), "at least 3 letters"),
        (("remove", "casino"), "The host casino is not blocked."),
        (("add", "good.example", ".."), "is not a host name"),
    ):
        ran = run("block", *words)
        assert (ran.code, said in ran.err) == (1, True), ran.err
    assert [one["value"] for one in run("block", "list", "--json").json] == ["casino"]


def test_the_operator_reads_and_closes_reports(run: Run, home: Path) -> None:
    assert run("reports", "list", "--json").json == []
    with closing(open_database(Settings())) as database:
        for host, alias in (("", "one"), ("go.brand.example", "two"), ("/r", "spring")):
            told = {
                "host": host,
                "alias": alias,
                "comment": "Look:\n\x1b[2Jgone \u202e",
                "reporter": b"x" + host.encode(),
            }
            database.write(lambda tx, told=told: abuse.report(tx, reason="spam", **told))  # type: ignore[misc]
    urls = [one["url"] for one in run("reports", "list", "--json").json]
    base = "http://go.localhost:8000"
    assert urls == [f"{base}/one", "https://go.brand.example/two", f"{base}/r/spring"]
    shown = run("reports", "list").out
    assert "Look:  [2Jgone" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert run("reports", "close", 1).out == "Report 1 is closed.\n"
    assert [one["id"] for one in run("reports", "list", "--json").json] == [2, 3]
    assert [one["id"] for one in run("reports", "list", "--all", "--json").json] == [1, 2, 3]
    assert run("reports", "close", 99).code == 1
