"""CSV export, safe against formula injection: spreadsheets never interpret user input as a formula."""

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

BOM = "\ufeff"
"""The first character of a file that people open: without it, Excel reads UTF-8 as Windows-1252."""

# In many languages spreadsheets separate cells at `;`, and split even a quoted cell there, at tabs and at line ends.
# They ignore blanks, quotes and invisible characters before a formula, and read full-width signs like ASCII.
# The sign is optional: every run of blanks matches at once, so the time is linear.
_START = re.compile(
    r"""((?:^|[;\t\n\v\f\r\x85\u2028\u2029])[\s\x00-\x1f;"\xad\u200b-\u200f\u2060\ufeff]*+)([-=+@\uff1d\uff0b\uff0d\uff20]?)"""
)
_SIGN = re.compile(r"[-=+@\uff1d\uff0b\uff0d\uff20]")


def lines(rows: Iterable[Iterable[Any]]) -> str:
    """Return the rows as CSV text (RFC 4180) with every cell quoted."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([_escape(cell) for cell in row] for row in rows)
    return text.getvalue()


def _escape(cell: Any) -> Any:
    """Insert an apostrophe before every sign that could start a formula."""
    return _START.sub(_with_apostrophe, cell) if isinstance(cell, str) and _SIGN.search(cell) else cell


def _with_apostrophe(start: re.Match[str]) -> str:
    return f"{start[1]}'{start[2]}" if start[2] else start[0]
