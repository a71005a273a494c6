"""Which bytes of a file are asked for (RFC 9110, section 14). Pure."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

_MOST = 16
_ONE = re.compile(r"(\d{0,18})-(\d{0,18})\Z", re.ASCII)


@dataclass(frozen=True)
class Part:
    """The bytes from `start` to before `end`."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


class Unsatisfiable(Exception):
    """Well said, but beyond the end of the file: 416."""


def parse(header: str, size: int) -> Sequence[Part] | None:
    """The parts that a Range header asks for, in its order; None for the whole file, also where it makes no sense.

    Raises Unsatisfiable. More than 16 parts, or parts that overlap, are no way to ask for a file: it is sent whole.
    """
    unit, _, wanted = header.partition("=")
    if unit.strip().lower() != "bytes":
        return None
    parts = []
    specs = [spec.strip() for spec in wanted.split(",")]
    for spec in filter(None, specs):
        match = _ONE.match(spec)
        if match is None or spec == "-" or (match[1] and match[2] and int(match[2]) < int(match[1])):
            return None
        if not match[1]:
            start, end = max(0, size - int(match[2])), size if int(match[2]) else 0
        else:
            start, end = int(match[1]), min(size, int(match[2]) + 1) if match[2] else size
        if start < end:
            parts.append(Part(start, end))
    if not parts:
        if any(specs):
            raise Unsatisfiable
        return None
    return parts if len(parts) <= _MOST and not _overlap(parts) else None


def _overlap(parts: Sequence[Part]) -> bool:
    ordered = sorted(parts, key=lambda part: part.start)
    return any(later.start < earlier.end for earlier, later in itertools.pairwise(ordered))


def same(header: str, etag: str, *, weak: bool) -> bool:
    """Whether a list of entity tags has `etag`, or is `*`. With `weak`, `W/` makes no difference."""
    tags = [tag.strip() for tag in header.split(",")]
    return "*" in tags or etag in tags or (weak and f"W/{etag}" in tags)
