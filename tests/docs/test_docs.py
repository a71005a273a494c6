"""The documentation matches the code."""

import ast
import json
import re
import runpy
from collections.abc import Iterator
from functools import cache
from typing import Any

from scripts import settings_reference
from tests.support.source import ROOT, SOURCE, modules
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.server.routers import api_document
from waypost.urls.alias_rules import RESERVED, check

_FIRST_SEGMENT = re.compile(r"/([^/{]+)")
_ROUTE_FILES = {"pages.py", "login_pages.py", "public.py", "ownership_check.py", "visits", "api", "dashboard", "admin"}
"""Modules and folders that contain paths. A noun's `api.py` has only paths below /api."""
_PAGES = ("*.md", "docs/adr/*.md")


@cache
def _generator() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "generate_docs.py"))


@cache
def _commands() -> list[tuple[str, Any]]:
    return list(_generator()["commands"]())


def test_generated_documents_are_current() -> None:
    stale = [path.name for path, text in _generator()["documents"]().items() if path.read_text() != text]
    assert stale == [], "run `make docs`"


def test_design_tokens_of_public_pages_are_generated_from_the_dashboard() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_tokens.py"))
    assert generator["TARGET"].read_text() == generator["tokens"](generator["SOURCE"].read_text()), "run `make docs`"


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    notes = {name: note for group in settings_reference.GROUPS.values() for name, note in group.items()}
    assert notes.keys() == Settings.model_fields.keys()
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert field.description in text
        assert f"`WAYPOST_{name.upper()}={notes[name].example}`" in text
        Settings.model_validate({name: notes[name].example})


def test_consequence_of_an_example_is_labeled_in_the_settings() -> None:
    """Without the label, it reads as the behavior of the default."""
    text = (ROOT / "docs" / "settings.md").read_text()
    for name, note in ((name, note) for group in settings_reference.GROUPS.values() for name, note in group.items()):
        section = text.partition(f"### `WAYPOST_{name.upper()}`\n")[2].partition("\n### ")[0]
        assert f"\n- With the example: {note.consequence}" in section, name
        assert section.count(note.consequence) == 1, name


def test_no_document_links_to_itself() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert f"]({page.name})" not in page.read_text(), page.name


def test_shell_functions_of_documents_are_explained() -> None:
    """Blocks of the tour define `call`; another page that uses it says so."""
    for page in (ROOT / "docs").glob("*.md"):
        blocks = "".join(re.findall(r"^```sh\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL))
        if re.search(r"^call ", blocks, re.MULTILINE):
            assert "call() {" in blocks or "](tour.md)" in page.read_text(), page.name


def test_decisions_are_numbered_in_order_and_every_cited_one_exists() -> None:
    text = (ROOT / "docs" / "decisions.md").read_text()
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", text, flags=re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    for folder in ("src", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            for cited in re.findall(r"[Dd]ecisions? ([\d, ]+(?:(?:and|to) \d+)?)", path.read_text()):
                assert {int(number) for number in re.findall(r"\d+", cited)} <= set(numbers), path


def test_every_command_and_option_is_documented() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    sections = dict(zip(*[iter(re.split(r"^## `(.+)`$", text, flags=re.MULTILINE)[1:])] * 2, strict=True))
    assert list(sections) == [name for name, _ in _commands()]
    for name, command in _commands():
        assert command.help in sections[name]
        for param in command.params:
            assert param.help, (name, param.name)
            assert param.help in sections[name], (name, param.name)


def test_readme_has_at_most_two_screens_and_three_pictures() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 100
    pictures = re.findall(r"!\[[^]]+\]\((docs/pictures/[^)]+)\)", text)
    assert sorted(pictures) == sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "pictures").iterdir())
    assert len(pictures) == 3
    for command in (
        "make run",
        "make demo",
        "make wheel",
        "docker compose -f deploy/compose.one.yaml up -d",
    ):
        assert command in text


def test_every_document_is_linked_from_readme_or_another_document() -> None:
    pages = {page for pattern in (*_PAGES, "docs/*.md") for page in ROOT.glob(pattern)}
    linked = {ROOT / "README.md", *(ROOT / "docs" / "adr").glob("*.md")}
    for page in pages:
        linked |= {(page.parent / name).resolve() for name in re.findall(r"\]\(([^)#:]+\.md)", page.read_text())}
    assert pages - linked == set()


def test_every_endpoint_is_documented() -> None:
    text = "".join(path.read_text() for path in (ROOT / "docs" / "api.md", *(ROOT / "docs" / "api").iterdir()))
    documented = re.findall(r"^## `([A-Z]+) (\S+)`$", text, flags=re.MULTILINE)
    assert sorted(documented) == sorted((method, path) for method, path, _ in _operations())
    for _, path, operation in _operations():
        for parameter in operation.get("parameters", ()):
            assert parameter["name"] in text, path


def test_every_call_has_an_example_answer_and_other_languages() -> None:
    for page in (ROOT / "docs" / "api").iterdir():
        for call in page.read_text().split("\n## ")[1:]:
            assert {"```sh", "```javascript", "```python"} <= set(call.splitlines()), (page.name, call.split("\n")[0])
            answer = re.search(
                r"^Answers 20\d(?: with a file: `|, such as:\n\n```(json)?\n(.*?)\n```)", call, re.M | re.S
            )
            assert answer is not None, (page.name, call.partition("\n")[0])
            if answer[1]:
                assert isinstance(json.loads(answer[2]), dict), (page.name, call.partition("\n")[0])


def test_generated_pages_of_the_api_are_those_of_its_resources() -> None:
    written = {path for path in _generator()["documents"]() if path.parent.name == "api"}
    assert set((ROOT / "docs" / "api").iterdir()) == written


def test_links_between_documents_resolve() -> None:
    for page in (page for pattern in (*_PAGES, "docs/*.md", "docs/api/*.md") for page in ROOT.glob(pattern)):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_documents_name_existing_files() -> None:
    for page in (page for pattern in _PAGES for page in ROOT.glob(pattern)):
        for name in re.findall(r"`((?:src|tests|scripts|docs|bench)/[\w/.-]+)`", page.read_text()):
            assert (ROOT / name).exists(), f"{page.name}: {name}"


def test_adr_has_at_most_60_lines() -> None:
    for page in (ROOT / "docs" / "adr").glob("*.md"):
        assert len(page.read_text().splitlines()) <= 60, page.name


def test_own_path_segments_are_reserved_aliases() -> None:
    segments = sorted(_first_segments())
    assert {"api", "healthz", "readyz"} <= set(segments)
    possible = [word for word in segments if _may_be_alias(word)]
    assert possible == [], "add them to RESERVED"
    assert {word for word in segments if re.fullmatch(r"[a-z0-9_-]+", word)} <= RESERVED


def _may_be_alias(word: str) -> bool:
    try:
        check(word, field="custom")
    except Problem:
        return False
    return True


def _first_segments() -> Iterator[str]:
    """First path segments in the code: compared by the dispatcher, or at the start of a route."""
    dispatcher = ast.parse((SOURCE / "server" / "asgi.py").read_text())
    functions = {node.name: node for node in ast.walk(dispatcher) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(functions["_app_for"]):
        value = str(node.value) if isinstance(node, ast.Constant) else ""
        if re.fullmatch("[a-z]+", value) and value not in ("path", "ok"):
            yield value
    for path, tree in modules():
        is_route_file = path.name in _ROUTE_FILES or path.parent.name in _ROUTE_FILES
        if not is_route_file or path.name == "system_checks.py":  # it reads files of the system
            continue
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        later = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values[1:]}
        for text in texts:
            if text not in later and (match := _FIRST_SEGMENT.match(str(text.value))):
                yield match[1]


@cache
def _operations() -> list[tuple[str, str, dict[str, Any]]]:
    paths = api_document(Settings())["paths"]
    return [(method.upper(), path, message) for path, methods in paths.items() for method, message in methods.items()]
