"""The guide docs/importing.md: its queries and programs produce files that are imported with the fields it promises."""

import csv
import io
import re
import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.imports import EXPORTS, SHOP, planned_rows, run
from tests.support.source import ROOT
from waypost.imports.sources.csv_columns import CsvSource
from waypost.settings import Settings

_GUIDE = (ROOT / "docs" / "importing.md").read_text().partition("## From each service")[2]
_YOURLS = """
CREATE TABLE yourls_url (keyword TEXT, url TEXT, title TEXT, timestamp TEXT, ip TEXT, clicks INTEGER);
INSERT INTO yourls_url VALUES ('spring', 'https://example.com/shop', 'T', '2012-03-04 05:06:07', '192.0.2.1', 42);
"""
_KUTT = """
CREATE TABLE domains (id INTEGER, address TEXT);
CREATE TABLE links (id TEXT, address TEXT, description TEXT, banned INTEGER, domain_id INTEGER, password TEXT,
  expire_in TEXT, target TEXT, visit_count INTEGER, created_at TEXT);
INSERT INTO domains VALUES (1, 'go.localhost');
INSERT INTO links VALUES ('u1', 'spring', 'note', 0, 1, NULL, '2090-01-01T00:00:00.000Z', 'https://example.com/shop', 7,
  '2024-01-02T03:04:05.000Z');
INSERT INTO links VALUES ('u2', 'locked', '', 0, NULL, '$2b$12$abc', NULL, 'https://example.com/shop', 0, '2024-01-03');
INSERT INTO links VALUES ('u3', 'bad', '', 1, NULL, NULL, NULL, 'https://example.com/shop', 0, '2024-01-04');
"""


def _result(tables: str, source: str, separator: str) -> str:
    """Return the output of the guide's query that reads a table, as the database's program writes it."""
    (query,) = (query for query in re.findall(r'"\n(SELECT .*?)\n"', _GUIDE, re.DOTALL) if f"FROM {source}" in query)
    database = sqlite3.connect(":memory:")
    database.executescript(tables)
    cursor = database.execute(query)
    out = io.StringIO()
    rows: Sequence[Sequence[object]] = [[column[0] for column in cursor.description], *cursor.fetchall()]
    csv.writer(out, delimiter=separator).writerows(rows)
    database.close()
    return out.getvalue()


def _details(person: Person, alias: str) -> dict[str, Any]:
    (link,) = (link["id"] for link in person.get("/urls")["data"]["urls"] if link["alias"] == alias)
    return person.details("url", link)


def test_query_for_yourls_is_imported(ana: Person, settings: Settings) -> None:
    run(ana, settings, _result(_YOURLS, "yourls_url", "\t"))
    link = _details(ana, "spring")
    assert (link["longurl"], link["title"], link["clicks"], link["date"]) == (SHOP, "T", 42, "2012-03-04 05:06:07")


def test_query_for_kutt_is_imported(ana: Person, settings: Settings) -> None:
    output = _result(_KUTT, "links", ",")
    spring, locked = planned_rows(ana, settings, output)
    assert (spring.alias, spring.losses, locked.alias) == ("spring", "", "locked")
    assert "disabled" in locked.losses
    run(ana, settings, output)
    link = _details(ana, "spring")
    assert (link["longurl"], link["description"], link["clicks"]) == (SHOP, "note", 7)
    assert link["date"] == "2024-01-02 03:04:05"


@pytest.mark.parametrize("fields", re.findall(r"echo (\w+(?:,\w+)+)", _GUIDE))
def test_columns_of_programs_are_all_read(fields: str) -> None:
    assert CsvSource(io.BytesIO(f"{fields}\n".encode()), {}).ignored == []


def test_every_service_with_a_tested_export_is_in_the_guide() -> None:
    listed = {name.lower() for name in re.findall(r"^\| ([A-Z][\w.]+)", _GUIDE, re.MULTILINE)}
    assert set(EXPORTS) - {"tiny.cc"} == listed - {"from"}
