"""Commands for administrators: domains, sessions and the e-mail address of an account, verified backups."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.support.cli import ANA, RunCommand, call
from waypost.admin.installation import open_database
from waypost.auth import sessions
from waypost.core.settings import Settings

_BEN = ("account", "add", "--email", "ben@example.com", "--username", "ben", "--json")
_HOST = "go.brand.example"


@pytest.fixture
def key(run_migrated: RunCommand, monkeypatch: pytest.MonkeyPatch) -> str:
    """The API key of Ana. She has two domains, the first one with and without www., two links there, and Ben."""
    monkeypatch.setenv("WAYPOST_DOMAIN_CHECK", "off")
    secret = str(run_migrated(*ANA, "--json").json["apikey"])
    run_migrated(*_BEN)
    for host in (_HOST, "new.brand.example"):
        body = {"domain": f"https://{host}", "redirectroot": "https://example.com/root", "alsowww": host == _HOST}
        assert call(secret, "POST", "/api/domain/add", json=body)["error"] == 0
    for alias in ("sale", "menu"):
        body = {"url": "https://example.com/", "custom": alias, "domain": f"https://{_HOST}"}
        assert call(secret, "POST", "/api/url/add", json=body)["error"] == 0
    return secret


@pytest.mark.usefixtures("key")
def test_domains_of_all_accounts_are_listed(run_migrated: RunCommand) -> None:
    rows = run_migrated("domain", "list", "--json").json
    assert [(row["domain"], row["also"], row["account"], row["items"]) for row in rows] == [
        (f"https://{_HOST}", f"www.{_HOST}", "ana", 2),
        ("https://new.brand.example", "", "ana", 0),
    ]


def test_links_move_to_another_domain_except_taken_aliases(run_migrated: RunCommand, key: str) -> None:
    body = {"url": "https://example.com/", "custom": "menu", "domain": "https://new.brand.example"}
    assert call(key, "POST", "/api/url/add", json=body)["error"] == 0
    moved = run_migrated("domain", "move-links", "ana", _HOST, "new.brand.example")
    assert moved.code == 1
    assert f"1 links moved from {_HOST} to new.brand.example." in moved.out
    assert "That alias is taken" in moved.err
    urls = {link["shorturl"] for link in call(key, "GET", "/api/urls")["data"]["urls"]}
    assert urls == {"https://new.brand.example/sale", f"https://{_HOST}/menu", "https://new.brand.example/menu"}
    assert "no links on else.example" in run_migrated("domain", "move-links", "ana", "else.example", _HOST).err
    assert "must be one of your branded domains" in run_migrated("domain", "move-links", "ben", _HOST, _HOST).err
    own = run_migrated("domain", "move-links", "ana", _HOST, "go.localhost")
    assert own.code == 0, own.err
    assert "http://go.localhost:8000/menu" in {
        link["shorturl"] for link in call(key, "GET", "/api/urls")["data"]["urls"]
    }


def test_domain_moves_with_its_settings_once_it_has_no_items(run_migrated: RunCommand, key: str) -> None:
    refused = run_migrated("domain", "move", _HOST, "ben")
    assert (refused.code, "(link: 2)" in refused.err) == (1, True)
    assert run_migrated("domain", "move-links", "ana", _HOST, "new.brand.example").code == 0
    assert run_migrated("domain", "move", _HOST, "ben").out == f"{_HOST} belongs to ben now.\n"
    assert run_migrated("domain", "move", _HOST, "ben").code == 1
    assert run_migrated("domain", "list", "--json").json[0]["also"] == f"www.{_HOST}"
    ben = run_migrated("account", "key", "add", "ben", "--json").json["apikey"]
    (domain,) = call(ben, "GET", "/api/domains")["data"]["domains"]
    assert (domain["domain"], domain["redirectroot"]) == (f"https://{_HOST}", "https://example.com/root")
    assert call(key, "GET", "/api/domains")["data"]["result"] == 1
    body = {"url": "https://example.com/", "custom": "new", "domain": f"https://{_HOST}"}
    assert call(ben, "POST", "/api/url/add", json=body)["error"] == 0


def test_domain_is_deleted_and_unknown_one_is_reported(run_migrated: RunCommand, key: str) -> None:
    assert run_migrated("domain", "delete", "else.example", "--yes").code == 1
    assert run_migrated("domain", "delete", _HOST).code == 2  # no terminal to ask
    assert run_migrated("domain", "delete", f"www.{_HOST}", "--yes").out == f"{_HOST} of ana is deleted.\n"
    assert call(key, "GET", "/api/domains")["data"]["result"] == 1


@pytest.mark.usefixtures("key")
def test_email_address_of_account_is_changed(run_migrated: RunCommand) -> None:
    changed = run_migrated("account", "email", "ana", "ana.costa@example.com")
    assert changed.out == "ana has the e-mail address ana.costa@example.com now, instead of ana@example.com.\n"
    assert run_migrated("account", "show", "ana.costa@example.com", "--json").json["username"] == "ana"
    assert run_migrated("account", "email", "ana", "ben@example.com").code == 1
    assert "email" in run_migrated("account", "email", "ana", "nonsense").err


@pytest.mark.usefixtures("key")
def test_sessions_of_account_are_listed_and_ended(run_migrated: RunCommand) -> None:
    with closing(open_database(Settings())) as database:
        tokens = [database.write(lambda tx: sessions.begin(tx, 1, agent=f"browser {n}")) for n in range(3)]  # noqa: B023
        rows = run_migrated("account", "session", "list", "ana", "--json").json
        assert {row["agent"] for row in rows} == {"browser 0", "browser 1", "browser 2"}
        first = next(row["id"] for row in rows if row["agent"] == "browser 0")
        assert run_migrated("account", "session", "end", "ana", first).out == "1 session of ana ended.\n"
        assert run_migrated("account", "session", "end", "ben", first).code == 1  # that of another account
        assert [database.read(lambda tx: sessions.find(tx, token)) is None for token in tokens] == [True, False, False]  # noqa: B023
        assert run_migrated("account", "session", "end", "ana").code == 2
        assert run_migrated("account", "session", "end", "ana", "--all").out == "2 sessions of ana ended.\n"
    assert run_migrated("account", "session", "list", "ana", "--json").json == []


@pytest.mark.usefixtures("key")
def test_backup_is_verified_without_changing_anything(run_migrated: RunCommand, working_folder: Path) -> None:
    assert run_migrated("backup", "saved.tar.gz").code == 0
    before = sorted(path.name for path in working_folder.rglob("*"))
    verified = run_migrated("backup", "--verify", "saved.tar.gz")
    assert (verified.code, "0 files can be restored." in verified.out) == (0, True), verified.err
    assert sorted(path.name for path in working_folder.rglob("*")) == before
    content = (working_folder / "saved.tar.gz").read_bytes()
    for damaged in (content[:-20], content[:2000], b"text"):
        (working_folder / "damaged.tar.gz").write_bytes(damaged)
        refused = run_migrated("backup", "--verify", "damaged.tar.gz")
        assert (refused.code, refused.err.count("\n")) == (1, 1), refused.err


def test_archive_that_lacks_a_file_is_incomplete_in_one_line(
    run_migrated: RunCommand, working_folder: Path, key: str
) -> None:
    call(key, "POST", "/api/files/upload/lost.bin", content=b"lost")
    (lost,) = [path for path in (working_folder / "data" / "files").rglob("*") if path.is_file()]
    lost.unlink()
    assert run_migrated("backup", "saved.tar.gz").code == 0
    verified = run_migrated("backup", "--verify", "saved.tar.gz")
    assert (verified.code, verified.err) == (1, "")
    assert verified.out.startswith("saved.tar.gz: incomplete, it lacks 1 file; ")
    assert verified.out.count("\n") == 1
