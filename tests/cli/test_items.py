"""Links, QR codes and files of an account on the command line."""

import io
from contextlib import closing

import pytest

from tests.support.cli import ANA, RunCommand, call, opened
from waypost.admin.installation import open_database
from waypost.core.settings import Settings
from waypost.db.schema import orphan_objects


def _accounts(run: RunCommand) -> tuple[str, str]:
    """Create ana and ben; return their API keys."""
    ana = run(*ANA, "--json").json["apikey"]
    ben = run("account", "add", "--email", "ben@example.com", "--username", "ben", "--json").json["apikey"]
    return ana, ben


def _visit(path: str) -> int:
    with opened() as client:
        return client.request("GET", path, headers={"Host": "go.localhost:8000"}).status_code


def _links(key: str, number: int) -> list[int]:
    fields = ({"url": f"https://example.com/{n}", "custom": f"link{n}", "title": f"Page {n}"} for n in range(number))
    return [call(key, "POST", "/api/url/add", json=each)["id"] for each in fields]


def test_links_are_listed_and_shown(run_migrated: RunCommand) -> None:
    ids = _links(_accounts(run_migrated)[0], 3)
    listed = run_migrated("link", "list", "ana", "--json").json
    assert [each["id"] for each in listed] == ids[::-1]
    assert listed[0]["shorturl"] == "http://go.localhost:8000/link2"
    first = run_migrated("link", "list", "ana", "--limit", 2)
    assert first.err == "Shown: 1 to 2 of 3. Next: --page 2\n"
    assert first.out.splitlines()[0].split() == ["id", "shorturl", "longurl", "title", "clicks", "created"]
    last = run_migrated("link", "list", "ana", "--limit", 2, "--page", 2)
    assert (last.err, last.out.count("\n")) == ("Shown: 3 to 3 of 3.\n", 2)
    assert [each["title"] for each in run_migrated("link", "list", "ana", "--search", "PAGE 1", "--json").json] == [
        "Page 1"
    ]
    shown = run_migrated("link", "show", "ana", ids[0], "--json").json
    assert (shown["longurl"], shown["status"], shown["password"]) == ("https://example.com/0", "public", False)
    assert "longurl" in run_migrated("link", "show", "ana", ids[0]).out


def test_disabled_link_refuses_visitors_until_enabled(run_migrated: RunCommand) -> None:
    key = _accounts(run_migrated)[0]
    first, second = _links(key, 2)
    call(key, "PUT", f"/api/url/{second}/update", json={"status": "private"})
    assert run_migrated("link", "disable", "ana", first).out == f"Disabled: {first}.\n"
    assert _visit("/link0") == 403
    assert [each["id"] for each in run_migrated("link", "list", "ana", "--status", "disabled", "--json").json] == [
        first
    ]
    assert run_migrated("link", "enable", "ana", first, second).out == f"Enabled: {first}, {second}.\n"
    assert _visit("/link0") == 302
    statuses = [run_migrated("link", "show", "ana", link, "--json").json["status"] for link in (first, second)]
    assert statuses == ["public", "private"]


def test_links_are_deleted_all_or_none(run_migrated: RunCommand) -> None:
    ids = _links(_accounts(run_migrated)[0], 2)
    missing = run_migrated("link", "delete", "ana", *ids, 99, "--yes")
    assert (missing.code, missing.err) == (1, "waypost: No such link in this account.\n")
    assert run_migrated("link", "delete", "ana", *ids, ids[0], "--yes").out == "2 links of ana deleted.\n"
    assert run_migrated("link", "list", "ana", "--json").json == []
    assert _visit("/link0") == 404


def test_deletion_without_terminal_needs_yes(run_migrated: RunCommand) -> None:
    ids = _links(_accounts(run_migrated)[0], 1)
    refused = run_migrated("link", "delete", "ana", *ids)
    assert refused.code == 2
    assert "deletes 1 link of ana" in refused.err
    assert len(run_migrated("link", "list", "ana", "--json").json) == 1


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_deletion_asks_on_a_terminal(run_migrated: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = _links(_accounts(run_migrated)[0], 1)
    for answer, code, left in (("n\n", 1, 1), ("y\n", 0, 0)):
        monkeypatch.setattr("sys.stdin", _Terminal(answer))
        assert run_migrated("link", "delete", "ana", *ids).code == code
        assert len(run_migrated("link", "list", "ana", "--json").json) == left


def test_qr_codes_are_listed_shown_and_deleted(run_migrated: RunCommand) -> None:
    key = _accounts(run_migrated)[0]
    code = call(key, "POST", "/api/qr/add", json={"type": "link", "data": "https://example.com/", "name": "Menu"})["id"]
    listed = run_migrated("qr", "list", "ana", "--json").json
    assert [(each["id"], each["name"], each["type"]) for each in listed] == [(code, "Menu", "link")]
    assert run_migrated("qr", "list", "ana", "--search", "nothing", "--json").json == []
    assert run_migrated("qr", "show", "ana", code, "--json").json["foreground"] == "#000000"
    assert run_migrated("qr", "delete", "ana", code, "--yes").out == "1 QR code of ana deleted.\n"
    assert run_migrated("qr", "show", "ana", code).code == 1


def test_files_are_listed_shown_and_deleted(run_migrated: RunCommand) -> None:
    key = _accounts(run_migrated)[0]
    file = call(key, "POST", "/api/files/upload/a.txt?password=secret", content=b"content")["id"]
    assert [each["size"] for each in run_migrated("file", "list", "ana", "--json").json] == [7]
    shown = run_migrated("file", "show", "ana", file, "--json").json
    assert (shown["filename"], shown["password"], shown["kept"]) == ("a.txt", True, True)
    assert run_migrated("account", "show", "ana", "--json").json["stored"] == 7
    assert run_migrated("file", "delete", "ana", file, "--yes").out == "1 file of ana deleted.\n"
    assert run_migrated("account", "show", "ana", "--json").json["stored"] == 0
    with closing(open_database(Settings())) as database:
        assert database.read(lambda tx: len(tx.execute(orphan_objects.select()).all())) == 1


@pytest.mark.parametrize("noun", ["link", "qr", "file"])
@pytest.mark.parametrize("command", [("show", "1"), ("delete", "1", "--yes")])
def test_items_of_another_account_do_not_exist(run_migrated: RunCommand, noun: str, command: tuple[str, ...]) -> None:
    key = _accounts(run_migrated)[0]
    _links(key, 1)
    call(key, "POST", "/api/qr/add", json={"type": "text", "data": "hello"})
    call(key, "POST", "/api/files/upload/a.txt", content=b"content")
    verb, *rest = command
    result = run_migrated(noun, verb, "ben", *rest)
    assert (result.code, "in this account" in result.err) == (1, True)
    assert len(run_migrated(noun, "list", "ana", "--json").json) == 1
