"""CSV that is safe to open: no cell of a stranger's words becomes a formula of a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def lines(rows: Iterable[Sequence[Any]]) -> str:
    """The rows as CSV text, each ended as RFC 4180 says."""
    text = io.StringIO()
    csv.writer(text).writerows([_plain(value) for value in row] for row in rows)
    return text.getvalue()


def _plain(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
