"""CSV export, safe against formula injection: spreadsheets never interpret user input as a formula."""

import csv
import io
from collections.abc import Iterable
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def lines(rows: Iterable[Iterable[Any]]) -> str:
    """Return the rows as CSV text (RFC 4180)."""
    text = io.StringIO()
    csv.writer(text).writerows([_escape(cell) for cell in row] for row in rows)
    return text.getvalue()


def _escape(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
