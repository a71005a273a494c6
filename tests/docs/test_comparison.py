"""The comparison says of other services nothing less than the rest of the documents."""

import re

import pytest

from tests.support.source import ROOT

_COMPARISON = (ROOT / "docs" / "comparison.md").read_text()
_IMPORTED = {"expiry": "Expiry of links", "password": "Password of a link", "rules": "Redirects by rules"}
_LACKING = {"\N{EN DASH}", "no", "none"}
"""Words of the import guide for fields of a service, and the row of the comparison that tells of them."""


def _rows(text: str) -> list[list[str]]:
    lines = (line for line in text.splitlines() if line.startswith("|") and not line.startswith("| ---"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_fields_that_an_import_reads_are_not_denied() -> None:
    facts = {row[0]: row for row in _rows(_COMPARISON)}
    services = facts[""]
    for service, _, fields in (row for row in _rows((ROOT / "docs" / "importing.md").read_text()) if len(row) == 3):
        if service not in services:
            continue
        for word, row in _IMPORTED.items():
            if re.search(rf"\b{word}\b", fields) and service != "waypost":
                assert facts[row][services.index(service)] not in _LACKING, (service, row)


@pytest.mark.parametrize("name", ["Kutt", "Dub", "Shlink", "Chhoto URL"])
def test_others_are_better_in_some_rows(name: str) -> None:
    table = _rows(_COMPARISON.partition("Where others are better:")[2])
    column = table[0].index(name)
    assert sum(row[column] not in _LACKING for row in table[1:]) >= 3


def test_languages_of_the_dashboard_are_named_alike() -> None:
    languages = ["English", "German", "French", "Spanish", "Portuguese", "Arabic"]
    catalogs = list((ROOT / "src" / "waypost" / "dashboard" / "locales").glob("??"))
    assert len(catalogs) + 1 == len(languages)
    for name in ("README.md", "docs/faq.md"):
        assert all(language in (ROOT / name).read_text() for language in languages), name
        assert "English only" not in (ROOT / name).read_text()
