"""The command `waypost import`."""

import csv
from pathlib import Path

import pytest

from tests.support.cli import ANA, RunCommand

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
    with (working_folder / "links-plan.csv").open() as file:
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.csv",), "No such file"),
        ((), "is required without --from, --apply or --undo"),
        (("links.csv", "--column", "url"), "must have the form NAME=VALUE"),
        (("links.csv", "--column", "url=Ziel"), "does not contain Ziel"),
        (("links.csv", "--column", "color=Farbe"), "there is no field color"),
    ],
)
def test_wrong_argument_is_reported(
    run_import: RunCommand, working_folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    (working_folder / "links.csv").write_text(ROWS)
    result = run_import("import", "ana", *arguments)
    assert result.code != 0
    assert message in " ".join(result.err.replace("\u2502", " ").split())
