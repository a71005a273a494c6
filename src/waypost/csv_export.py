"""CSV export, safe against formula injection: spreadsheets never interpret user input as a formula."""

import csv
import io
from collections.abc import Iterable
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def lines(rows: Iterable[Iterable[Any]]) -> str:
    """Return the rows as CSV text (RFC 4180)."""
    text = io.StringIO()
    csv.writer(text).writerows([_escape(value) for value in row] for row in rows)
    return text.getvalue()


def _escape(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
