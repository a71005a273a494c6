"""Blocks of visits in columns: many visits of an account in a form that a filter reads fast.

Each column has a code for each visit, and the labels of its codes. Browser, system and device are one column, because
few combinations of them occur.
"""

import json
import sys
from array import array
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from waypost.clicks.ingest.aggregate import QUARTER

QUARTER_MS = QUARTER * 1000
COLUMNS = (
    *("id", "kind", "item", "at_ms", "sort", "first"),
    *("country", "referrer", "browser", "os", "device", "language", "source"),
)
"""The columns of `events` in the order of the rows of `encode`."""
SINGLE = ("country", "referrer", "language", "source")
AGENT = ("browser", "os", "device")
_TYPES = {1: "B", 2: "H", 4: "I"}


@dataclass(frozen=True)
class Block:
    """Visits in columns. `layout` is JSON: the first quarter of an hour, and name, width and labels of each column."""

    first_id: int
    last_id: int
    first_ms: int
    last_ms: int
    visits: int
    layout: str
    content: bytes


def encode(rows: Sequence[Any]) -> Block:
    """Return a block of at least one row (COLUMNS), ordered by id."""
    ids, kinds, items, times, sorts, firsts, countries, referrers, *agents, languages, sources = zip(*rows, strict=True)
    first_ms, last_ms = min(times), max(times)
    base = first_ms // QUARTER_MS
    columns: list[tuple[str, int, list[Any]]] = []
    parts = []
    quarters = [ms // QUARTER_MS - base for ms in times]
    width = _width(max(quarters))
    columns.append(("quarter", width, []))
    parts.append(_pack(quarters, width))
    for name, values in (
        ("item", list(zip(kinds, items, strict=True))),
        ("sort", [(sort, bool(first)) for sort, first in zip(sorts, firsts, strict=True)]),
        ("agent", list(zip(*agents, strict=True))),
        *zip(SINGLE, (countries, referrers, languages, sources), strict=True),
    ):
        labels, codes = _codes(values)
        width = _width(len(labels) - 1)
        columns.append((name, width, labels))
        parts.append(_pack(codes, width))
    layout = json_text({"base": base, "columns": columns})
    return Block(ids[0], ids[-1], first_ms, last_ms, len(ids), layout, b"".join(parts))


def json_text(value: Any) -> str:
    """Return a value as it is in a layout, which contains the text of each label."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _codes(values: Sequence[Hashable]) -> tuple[list[Any], list[int]]:
    """Return the labels in the order of their codes, and the code of each value."""
    codes: dict[Hashable, int] = {}
    return_codes = [codes.setdefault(value, len(codes)) for value in values]
    return list(codes), return_codes


def _width(highest: int) -> int:
    return 1 if highest < 1 << 8 else 2 if highest < 1 << 16 else 4


def _pack(codes: Sequence[int], width: int) -> bytes:
    """Return unsigned numbers of `width` bytes each, in little-endian order."""
    packed = array(_TYPES[width], codes)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()
