"""The command `waypost import`."""

import csv
import re
import shlex
from pathlib import Path

import pytest

from tests.support import import_services
from tests.support.cli import ANA, RunCommand, call, opened
from tests.support.import_services import TOKEN, running
from tests.support.source import ROOT

SHOP = "https://example.com/shop"

ROWS = "alias,url,Farbe\none,https://example.com/1,red\ntwo,ftp://example.com,blue\n"


@pytest.fixture
def run_import(run_migrated: RunCommand) -> RunCommand:
    """A function that runs `waypost` in an installation with the account `ana`."""
    assert run_migrated(*ANA).code == 0
    return run_migrated


def test_import_without_apply_writes_plan_and_creates_nothing(run_import: RunCommand, working_folder: Path) -> None:
    (working_folder / "links.csv").write_text(ROWS)
    result = run_import("import", "ana", "links.csv")
    assert result.code == 0, result.err
    assert "1 rows will be created." in result.out
    assert "Not imported: Farbe." in result.out
    with (working_folder / "links-plan.csv").open(encoding="utf-8-sig") as file:
        assert [(row["line"], row["fate"], row["alias"]) for row in csv.DictReader(file)] == [
            ("2", "create", "one"),
            ("3", "impossible", "two"),
        ]
    counts = run_import("import", "ana", "links.csv", "--json").json
    assert (counts["state"], counts["create"], counts["there"]) == ("planned", 1, 0)


def test_import_with_apply_creates_links_once(run_import: RunCommand, working_folder: Path) -> None:
    (working_folder / "links.csv").write_text(ROWS)
    assert "1 rows were created." in run_import("import", "ana", "links.csv", "--apply").out
    counts = run_import("import", "ana", "links.csv", "--json").json
    assert (counts["create"], counts["there"], counts["impossible"]) == (0, 1, 1)


def test_apply_without_file_applies_last_plan(run_import: RunCommand, working_folder: Path) -> None:
    assert "No such import" in run_import("import", "ana", "--apply").err
    (working_folder / "links.csv").write_text(ROWS)
    run_import("import", "ana", "links.csv")
    assert run_import("import", "ana", "--apply", "--json").json["state"] == "applied"


def test_service_is_read_with_the_token_of_a_file(
    run_import: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add_domain(run_import, monkeypatch)
    (working_folder / "token.txt").write_text(f"{TOKEN}\n")
    (working_folder / "wrong.txt").write_text("other")
    with running(import_services.chhoto()) as server:
        read = ("import", "ana", "--from", "chhoto", "--url", server.url, "--host", "127.0.0.1=go.example.com")
        assert "token: the service refuses it" in run_import(*read, "--token-file", "wrong.txt").err
        assert "No such file" in run_import(*read, "--token-file", "missing.txt").err
        result = run_import(*read, "--token-file", "token.txt")
    assert "2 rows will be created." in result.out, result.err
    report = (working_folder / "chhoto-plan.csv").read_text()
    assert [(row["fate"], row["host"], row["alias"]) for row in csv.DictReader(report.splitlines())] == [
        ("create", "go.example.com", alias) for alias in ("a", "b")
    ]
    assert all(TOKEN not in text for text in (result.out, result.err, report, *server.requests))
    assert "2 rows were created." in run_import("import", "ana", "--apply").out
    assert _location("/b") == import_services.SHOP


def test_command_of_the_guide_moves_a_dump_to_a_domain(
    run_import: RunCommand, working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = (ROOT / "docs" / "importing.md").read_text().partition("## Move a live domain")[2]
    (command,) = re.findall(r"`waypost (import ana yourls\.sql .*?)`", guide)
    rows = f"INSERT INTO `yourls_url` VALUES ('sale','{SHOP}','T','2012-03-04 05:06:07','192.0.2.1',42);\n"
    (working_folder / "yourls.sql").write_text(rows)
    _add_domain(run_import, monkeypatch)
    result = run_import(*shlex.split(command))
    assert "1 rows were created." in result.out, result.err
    assert _location("/sale") == SHOP


def _add_domain(run_import: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a branded domain that does not point to this service yet."""
    monkeypatch.setenv("WAYPOST_DOMAIN_CHECK", "off")
    key = run_import("account", "key", "add", "ana", "--json").json["apikey"]
    call(key, "POST", "/api/domain/add", json={"domain": "https://go.example.com"})


def _location(path: str) -> str:
    """Return the destination of a link on the domain."""
    with opened() as service:
        return str(service.get(path, headers={"Host": "go.example.com"}).headers["location"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.csv",), "No such file"),
        ((), "is required without --from, --apply or --undo"),
        (("links.csv", "--column", "url"), "must have the form NAME=VALUE"),
        (("links.csv", "--column", "url=Ziel"), "does not contain Ziel"),
        (("links.csv", "--column", "color=Farbe"), "there is no field color"),
        (("links.csv", "--host", "bit.ly"), "must have the form OLD=NEW, =NEW for links without a host"),
        (("links.csv", "--host", "="), "must have the form OLD=NEW, =NEW for links without a host"),
    ],
)
def test_wrong_argument_is_reported(
    run_import: RunCommand, working_folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    (working_folder / "links.csv").write_text(ROWS)
    result = run_import("import", "ana", *arguments)
    assert result.code != 0
    assert message in " ".join(result.err.replace("\u2502", " ").split())


def test_discard_deletes_the_plan_and_is_used_alone(run_import: RunCommand, working_folder: Path) -> None:
    (working_folder / "links.csv").write_text(ROWS)
    run_import("import", "ana", "links.csv", "--apply")
    assert "use it alone" in run_import("import", "ana", "--discard", "--undo").err
    assert run_import("import", "ana", "--discard", "--json").json == {"discarded": True}
    assert "No such import" in run_import("import", "ana", "--undo").err
