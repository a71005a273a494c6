"""Rows that an earlier version stored, from the files in tests/data/stored."""

import json
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert

from tests.support.source import ROOT
from waypost.db import schema

STORED = ROOT / "tests/data/stored"


def rows(name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a file by table."""
    content: dict[str, list[dict[str, Any]]] = json.loads((STORED / name).read_text())
    return content


def put(tx: Connection, table: str, values: list[dict[str, Any]]) -> None:
    """Insert rows. Columns that were added since get their default."""
    if values:
        tx.execute(insert(schema.metadata.tables[table]), values)


def archive() -> Path:
    """Return the path of the archive."""
    return STORED / "archive.zip"
