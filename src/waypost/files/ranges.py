"""Parse the Range header (RFC 9110, section 14). Pure functions."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

_MAX_RANGES = 16
_RANGE = re.compile(r"(\d{0,18})-(\d{0,18})\Z", re.ASCII)


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

    Raises Unsatisfiable. More than 16 ranges, or overlapping ones, count as invalid: they can be used for attacks.
    """
    unit, _, value = header.partition("=")
    if unit.strip().lower() != "bytes":
        return None
    parsed = []
    specs = [spec.strip() for spec in value.split(",")]
    for spec in filter(None, specs):
        match = _RANGE.match(spec)
        if match is None or spec == "-" or (match[1] and match[2] and int(match[2]) < int(match[1])):
            return None
        if not match[1]:
            start, end = max(0, size - int(match[2])), size if int(match[2]) else 0
        else:
            start, end = int(match[1]), min(size, int(match[2]) + 1) if match[2] else size
        if start < end:
            parsed.append(ByteRange(start, end))
    if not parsed:
        if any(specs):
            raise Unsatisfiable
        return None
    return parsed if len(parsed) <= _MAX_RANGES and not _overlap(parsed) else None


def _overlap(ranges: Sequence[ByteRange]) -> bool:
    in_order = sorted(ranges, key=lambda byte_range: byte_range.start)
    return any(following.start < previous.end for previous, following in itertools.pairwise(in_order))
