"""The code follows the rules of its structure."""

import ast
import re

import hypothesis
import pytest

from tests.support.source import ROOT, modules


def test_files_have_at_most_500_lines() -> None:
    other_paths = (path for folder in ("tests", "bench", "scripts") for path in (ROOT / folder).rglob("*.py"))
    lines = {str(path): len(path.read_text().splitlines()) for path in (*(path for path, _ in modules()), *other_paths)}
    assert len(lines) > 400
    assert {path: count for path, count in lines.items() if count > 500} == {}


def test_functions_have_at_most_40_lines() -> None:
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 40, f"{path}: {node.name}"


HEAVY = {
    "from alembic import command",
    "from alembic.config import Config",
    "from waypost.cli import link_moves",
    "from waypost.db import failover",
    "from waypost.admin import account_deletion",
    "from waypost.admin import invitations",
    "from waypost.admin import two_factor_removal",
    "from zxcvbn import frequency_lists, zxcvbn",
}
"""Alembic adds 70 ms to the start of each process and 7 MB to its memory. Only a start that migrates needs it.

The deletion of accounts and moves of links import the modules of items. The list of common passwords (zxcvbn) needs
14 MB.

The driver of PostgreSQL (failover) adds as much, and SQLite does not need it. The database adds 0.3 s to the start of
commands such as `waypost --help`, which do not need it.

The words that a new password is compared with take 14 MB of memory.
"""


def test_imports_inside_functions_are_heavy_modules_only() -> None:
    names = {
        ast.unparse(node)
        for _, tree in modules()
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.walk(outer)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert names == HEAVY


@pytest.mark.parametrize("name", ["utils", "util", "common", "base", "manager", "helpers", "helper", "misc"])
def test_module_names_carry_information(name: str) -> None:
    assert not [path for path, _ in modules() if name in (path.stem, path.parent.name)]


def test_test_modules_do_not_import_each_other() -> None:
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = [*str(node.module).split("."), *(alias.name for alias in node.names)]
                assert not [name for name in names if name.startswith("test_")], f"{path}:{node.lineno}"


def test_property_tests_have_no_time_limit() -> None:
    assert hypothesis.settings().deadline is None
    assert hypothesis.HealthCheck.too_slow in hypothesis.settings().suppress_health_check


def test_threads_are_joined_with_time_limit() -> None:
    for path in (path for folder in ("tests", "bench") for path in (ROOT / folder).rglob("*.py")):
        assert not re.search(r"\w\.join\(\)", path.read_text()), f"{path}: use tests.support.threads.join"
