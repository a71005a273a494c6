"""JSON of strangers: its work and memory are bounded before it is parsed.

A value of two bytes, such as `[]`, takes 60 bytes as an object, and while a text is parsed no other thread of the
process runs. So the number of values counts, not only that of bytes.
"""

import json
from typing import Any

SMALL = 65_536
"""Bytes of a text that is parsed without a check: it has at most 32,768 values, which take about 2 MiB."""


class TooManyValues(ValueError):
    """Raised for a JSON text that has more values than are allowed."""


def count_values(content: bytes | bytearray | str) -> int:
    """Return an upper bound of the number of values: commas and opening brackets, also those in texts."""
    if isinstance(content, str):
        return content.count(",") + content.count("[") + content.count("{") + 1
    return content.count(b",") + content.count(b"[") + content.count(b"{") + 1


def loads(content: bytes | bytearray | str, max_values: int, **options: Any) -> Any:
    """Return the value of a JSON text; `options` are those of json.loads.

    Raises TooManyValues, ValueError for anything but JSON, RecursionError.
    """
    if len(content) > SMALL and count_values(content) > max_values:
        raise TooManyValues(f"it has more than {max_values:,} values")
    return json.loads(content, **options)
