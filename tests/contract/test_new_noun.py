"""A new noun needs the files that CONTRIBUTING lists, and is then in every part of the service."""

from pathlib import Path

from tests.support.new_noun import FUNCTIONS, MODULES, PAGES, ROUTER, add_badges, run_tests
from tests.support.source import ROOT

_MOST_FILES = 12


def test_noun_of_twelve_files_is_in_every_part(tmp_path: Path) -> None:
    files = add_badges(tmp_path)
    assert len(files) <= _MOST_FILES, files
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert f"changes {_MOST_FILES} files of `src/waypost`" in guide
    assert [module for module in MODULES if f"`src/waypost/{module}`" not in guide] == []
    names = ("tests/unit/test_nouns.py", "tests/contract/test_resources.py", "tests/support/new_noun_checks.py")
    done = run_tests(tmp_path, *names, expression="not postgresql and (badge or test_nouns)")
    assert done.returncode == 0, done.stdout + done.stderr


def test_missing_rows_of_noun_are_named(tmp_path: Path) -> None:
    rows = (FUNCTIONS, ROUTER, PAGES)
    add_badges(tmp_path, without=rows)
    done = run_tests(tmp_path, "--noconftest", "tests/unit/test_nouns.py")
    assert done.returncode == 1, done.stdout + done.stderr
    for row in rows:
        assert f"{row} has no row for badge" in done.stdout, done.stdout
