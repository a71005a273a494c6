"""The documents say everything and nothing else, and the code keeps the rules of the house that can be counted."""

import ast
import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from waypost import app
from waypost.errors import Problem
from waypost.routers import api_document
from waypost.settings import Settings
from waypost.urls.alias_rules import RESERVED, check

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "waypost"
_FIRST_SEGMENT = re.compile(r"/([^/{]+)")
_FACES = {"app.py", "pages.py", "check.py", "visits", "api", "dashboard"}  # the nouns' own api.py is below /api
_PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/adr/*.md")


@cache
def _reference() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "reference.py"))


@cache
def _commands() -> list[tuple[str, Any]]:
    return list(_reference()["commands"]())


def test_the_reference_is_what_the_code_says() -> None:
    stale = [path.name for path, text in _reference()["documents"]().items() if path.read_text() != text]
    assert stale == [], "run `make docs`"


def test_every_setting_is_explained() -> None:
    for page in ("README.md", "docs/settings.md"):
        text = (ROOT / page).read_text()
        for name, field in Settings.model_fields.items():
            assert f"`WAYPOST_{name.upper()}`" in text, page
            assert field.description, name
            assert field.description in text, page


def test_every_command_and_option_is_explained() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    sections = dict(zip(*[iter(re.split(r"^## `(.+)`$", text, flags=re.MULTILINE)[1:])] * 2, strict=True))
    assert list(sections) == [name for name, _ in _commands()]
    for name, command in _commands():
        assert command.help in sections[name]
        for param in command.params:
            assert param.help, (name, param.name)
            assert param.help in sections[name], (name, param.name)


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text()
    missing = [name for name, _ in _commands() if not re.search(rf"`(\.venv/bin/)?{name}[ `]", text)]
    assert missing == []


def test_every_endpoint_is_explained() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    shown = re.findall(r"^### `([A-Z]+) (\S+)`$", text, flags=re.MULTILINE)
    assert sorted(shown) == sorted((method, path) for method, path, _ in _operations())
    for _, path, operation in _operations():
        for parameter in operation.get("parameters", ()):
            assert parameter["name"] in text, path


def test_links_between_the_documents_lead_somewhere() -> None:
    for page in (page for pattern in (*_PAGES, "docs/*.md") for page in ROOT.glob(pattern)):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_documents_name_only_files_that_are_there() -> None:
    for page in (page for pattern in _PAGES for page in ROOT.glob(pattern)):
        for name in re.findall(r"`((?:src|tests|scripts|docs|bench)/[\w/.-]+)`", page.read_text()):
            assert (ROOT / name).exists(), f"{page.name}: {name}"


def test_a_record_of_a_decision_is_short() -> None:
    for page in (ROOT / "docs" / "adr").glob("*.md"):
        assert len(page.read_text().splitlines()) <= 60, page.name


def test_what_the_service_answers_itself_is_no_alias() -> None:
    words = sorted(_first_segments())
    assert {"api", "healthz", "readyz"} <= set(words)
    possible = [word for word in words if _may_be_alias(word)]
    assert possible == [], "add them to RESERVED"
    assert {word for word in words if re.fullmatch(r"[a-z0-9_-]+", word)} <= RESERVED


def _may_be_alias(word: str) -> bool:
    try:
        check(word, field="custom")
    except Problem:
        return False
    return True


def _first_segments() -> Iterator[str]:
    """Every first part of a path in the code: what app.py compares with, and what any route begins with."""
    for node in ast.walk(ast.parse(Path(app.__file__).read_text())):
        if isinstance(node, ast.Compare) and "segment" in ast.unparse(node.left):
            yield from (c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str))
    for path, tree in _trees():
        if path.name not in _FACES and path.parent.name not in _FACES:
            continue
        for text in (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)):
            if found := _FIRST_SEGMENT.match(text):
                yield found[1]


def test_files_are_short() -> None:
    beside = (path for folder in ("tests", "bench", "scripts") for path in (ROOT / folder).rglob("*.py"))
    long = {str(path): len(path.read_text().splitlines()) for path in (*(path for path, _ in _trees()), *beside)}
    assert len(long) > 400
    assert {path: lines for path, lines in long.items() if lines > 300} == {}


def test_functions_are_short() -> None:
    for path, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 60, f"{path}: {node.name}"


HEAVY = {  # megabytes that most services never need
    "from alembic import command",
    "from alembic.config import Config",
    "from waypost.storage.s3 import S3",
}


def test_nothing_is_imported_inside_a_function_but_what_is_heavy_and_seldom_needed() -> None:
    found = {
        ast.unparse(node)
        for _, tree in _trees()
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.walk(outer)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert found == HEAVY


def test_no_noun_imports_the_code_of_another() -> None:
    nouns = {path.parent.name for path, _ in _trees() if path.name == "ops.py"}
    for path, tree in _trees():
        mine = path.relative_to(SOURCE).parts[0]
        named = {
            "".join(str(node.module).split(".")[1:2]) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        }
        assert mine not in nouns or not (named & nouns) - {mine}, path


@pytest.mark.parametrize("name", ["utils", "util", "common", "base", "manager", "helpers", "helper", "misc"])
def test_no_module_has_a_name_that_says_nothing(name: str) -> None:
    assert not [path for path, _ in _trees() if name in (path.stem, path.parent.name)]


@cache
def _trees() -> list[tuple[Path, ast.Module]]:
    """Every module of ours, migrations excepted: they are written by Alembic and never changed."""
    paths = sorted(path for path in SOURCE.rglob("*.py") if "versions" not in path.parts)
    return [(path, ast.parse(path.read_text())) for path in paths]


@cache
def _operations() -> list[tuple[str, str, dict[str, Any]]]:
    paths = api_document(Settings())["paths"]
    return [(method.upper(), path, told) for path, methods in paths.items() for method, told in methods.items()]
