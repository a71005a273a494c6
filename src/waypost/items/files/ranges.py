"""Parse the Range header (RFC 9110, section 14). Pure functions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_MAX_RANGES = 16
_MAX_DIGITS = 18
_RANGE = re.compile(r"(\d*)-(\d*)\Z", re.ASCII)


@dataclass(frozen=True)
class ByteRange:
    """The bytes from `start` up to, but not including, `end`."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


class Unsatisfiable(Exception):
    """All ranges are beyond the end of the file: status 416."""


def parse_range(header: str, size: int) -> Sequence[ByteRange] | None:
    """Return the ranges of a Range header in its order; None for the whole file, also if the header is invalid.

    Overlapping ranges are merged. More than 16 count as invalid: they can be used for attacks. Raises Unsatisfiable.
    """
    unit, _, value = header.partition("=")
    if unit.strip().lower() != "bytes":
        return None
    parsed = []
    specs = [spec.strip() for spec in value.split(",")]
    for spec in filter(None, specs):
        match = _RANGE.match(spec)
        if match is None or spec == "-":
            return None
        first, last = _number(match[1]), _number(match[2])
        if first is None:
            start, end = max(0, size - (last or 0)), size
        elif last is not None and last < first:
            return None
        else:
            start, end = first, size if last is None else min(size, last + 1)
        if start < end:
            parsed.append(ByteRange(start, end))
    if not parsed:
        if any(specs):
            raise Unsatisfiable
        return None
    return _merged(parsed) if len(parsed) <= _MAX_RANGES else None


def _number(digits: str) -> int | None:
    """Return the number, or one that is larger than every file for very many digits; None for no digits."""
    significant = digits.lstrip("0")
    return (int(significant or "0") if len(significant) <= _MAX_DIGITS else 10**_MAX_DIGITS) if digits else None


def _merged(ranges: Sequence[ByteRange]) -> Sequence[ByteRange]:
    """Return the ranges in their order. If some overlap, return them merged and sorted (RFC 9110, section 15.3.7.2)."""
    in_order = sorted(ranges, key=lambda byte_range: byte_range.start)
    merged = in_order[:1]
    for following in in_order[1:]:
        last = merged[-1]
        if following.start < last.end:
            merged[-1] = ByteRange(last.start, max(last.end, following.end))
        else:
            merged.append(following)
    return ranges if len(merged) == len(ranges) else merged
