"""Visitors download no comments of our sources."""

import re

import pytest

from tests.conftest import Person
from tests.support.dashboard_paths import SIGNED_OUT
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.public_pages import public_pages
from tests.support.visits import ACCEPT_HTML, visit
from waypost.core.source_comments import without_comments

_COMMENT = re.compile(r"/\*|<!--|(?:^|\s)//(?:\s|$)", re.MULTILINE)


@ON_SQLITE
def test_public_pages_have_no_comments(ana: Person, framed_site: FakeInternet) -> None:
    paths = [page.path for page in public_pages(ana)]
    visitor = ana.client.another(raises=False)
    pages = {path: visit(visitor, path, headers=ACCEPT_HTML).text for path in paths}
    assert any("<script" in page for page in pages.values())
    assert any("<style" in page for page in pages.values())
    assert {path: comments for path, page in pages.items() if (comments := _COMMENT.findall(page))} == {}


@ON_SQLITE
@pytest.mark.parametrize("path", SIGNED_OUT)
def test_dashboard_has_no_comments(ana: Person, path: str) -> None:
    assert not _COMMENT.search(ana.client.get(path).text)


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("a.css", "/* Title. */\na { b: c }", "a { b: c }"),
        ("a.css", "a { b: c } /* long\nlong */ d { e: f }", "a { b: c } d { e: f }"),
        ("a.css", 'a { content: "/* kept */" }', 'a { content: "/* kept */" }'),
        ("a.js", "// Title.\nrun();", "run();"),
        ("a.js", "run(); // why\nstop();", "run();\nstop();"),
        ("a.js", "load('https://a.example/');", "load('https://a.example/');"),
        ("a.js", 'say("\\"// kept"); // gone\n', 'say("\\"// kept");\n'),
        ("a.js", "say(`// kept ${name}`); /* gone */", "say(`// kept ${name}`);"),
        ("a.html", "<p>/* kept */</p>", "<p>/* kept */</p>"),
    ],
)
def test_comments_are_removed_and_texts_kept(name: str, source: str, expected: str) -> None:
    assert without_comments(source, name) == expected
