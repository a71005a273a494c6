"""From modules to as few outlines as there are: what touches becomes one shape. Pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from waypost.media.qrcode.encode import columns

Corner = tuple[int, int]


class Stroke(NamedTuple):
    """A line through the middles of modules, in modules: to the right or downwards; of no length, it is a dot."""

    x: float
    y: float
    across: int
    down: int


def loops(rows: Sequence[int]) -> list[list[Corner]]:
    """Lines around the dark modules for the even-odd rule: where modules touch at a corner they cross.

    The same picture as `outlines`, with a third of the work. Each begins with a horizontal edge.
    """
    beside: dict[int, int] = {}
    below: dict[int, int] = {}
    marked: dict[int, list[int]] = {}
    above = 0
    for y, row in enumerate((*rows, 0)):
        edges, above = row ^ above, row
        ends = [y << _X_BITS | x for x, end in enumerate(f"{edges ^ edges << 1:b}"[::-1]) if end == "1"]
        _pair(ends, beside)
        for corner in ends:
            marked.setdefault(corner & _X, []).append(corner)
    for ends in marked.values():  # a corner where a horizontal line ends is one where a vertical line does
        _pair(ends, below)
    shapes = []
    while beside:
        start, corner = beside.popitem()
        loop = [start]
        while True:
            del beside[corner]
            loop.append(corner)
            corner = below[corner]
            if corner == start:
                break
            loop.append(corner)
            corner = beside.pop(corner)
        shapes.append([(corner & _X, corner >> _X_BITS) for corner in loop])
    return shapes


_X_BITS = 8  # a symbol is at most 177 modules wide
_X = (1 << _X_BITS) - 1


def _pair(ends: list[int], partners: dict[int, int]) -> None:
    """The ends of lines in a row or column, which lie one behind the other."""
    partners.update(zip(ends[::2], ends[1::2], strict=True))
    partners.update(zip(ends[1::2], ends[::2], strict=True))


def outlines(rows: Sequence[int], side: int) -> list[list[Corner]]:
    """Every outline of the dark modules as its corners, clockwise; holes the other way round.

    Each begins with a horizontal edge. Modules that only touch at a corner stay apart.
    """
    ends: dict[tuple[int, int, int], tuple[int, int]] = {}
    _horizontal(rows, ends)
    _vertical(columns(rows, side), ends)
    shapes = []
    while ends:
        x, y, way = start = next(iter(ends))
        corners = []
        while (edge := (x, y, way)) in ends:
            corners.append((x, y))
            x, y = ends.pop(edge)
            way = _turn((x, y), way, ends)
        if start[2] > 1:  # begun on a vertical edge
            corners = corners[1:] + corners[:1]
        shapes.append(corners)
    return shapes


_RIGHT, _LEFT, _DOWN, _UP = range(4)
_AFTER = {_RIGHT: (_DOWN, _UP), _LEFT: (_UP, _DOWN), _DOWN: (_LEFT, _RIGHT), _UP: (_RIGHT, _LEFT)}


def _turn(corner: Corner, way: int, ends: dict[tuple[int, int, int], tuple[int, int]]) -> int:
    """To the right where there is an edge, which keeps corner-touching modules apart; else to the left."""
    right, left = _AFTER[way]
    return right if (*corner, right) in ends else left


def _horizontal(rows: Sequence[int], ends: dict[tuple[int, int, int], tuple[int, int]]) -> None:
    """Upper edges run rightwards, lower edges leftwards, so that the dark is always on the right hand."""
    above = 0
    for y, row in enumerate((*rows, 0)):
        for first, after in runs(row & ~above):
            ends[first, y, _RIGHT] = (after, y)
        for first, after in runs(above & ~row):
            ends[after, y, _LEFT] = (first, y)
        above = row


def _vertical(cols: Sequence[int], ends: dict[tuple[int, int, int], tuple[int, int]]) -> None:
    before = 0
    for x, column in enumerate((*cols, 0)):
        for first, after in runs(column & ~before):
            ends[x, after, _UP] = (x, first)
        for first, after in runs(before & ~column):
            ends[x, first, _DOWN] = (x, after)
        before = column


def runs(bits: int) -> Iterator[tuple[int, int]]:
    """(first, after) of each run of ones, from the lowest bit."""
    base = 0
    while bits:
        zeros = (bits & -bits).bit_length() - 1
        bits >>= zeros
        base += zeros
        ones = (~bits & (bits + 1)).bit_length() - 1
        yield base, base + ones
        bits >>= ones
        base += ones


def strokes(modules: str, rows: Sequence[int], side: int) -> list[Stroke]:
    """The lines of `bars` and `lines`; a dot for each dark module in other shapes."""
    shapes = {"bars": _bars, "lines": _lines}
    return shapes.get(modules, _dots)(rows, side)


def _dots(rows: Sequence[int], _side: int) -> list[Stroke]:
    return [
        Stroke(x + 0.5, y + 0.5, 0, 0)
        for y, row in enumerate(rows)
        for first, after in runs(row)
        for x in range(first, after)
    ]


def _lines(rows: Sequence[int], _side: int) -> list[Stroke]:
    """A line for each horizontal run of dark modules."""
    return [
        Stroke(first + 0.5, y + 0.5, after - first - 1, 0) for y, row in enumerate(rows) for first, after in runs(row)
    ]


def _bars(rows: Sequence[int], side: int) -> list[Stroke]:
    """A line for each vertical run of dark modules."""
    return [
        Stroke(x + 0.5, first + 0.5, 0, after - first - 1)
        for x, column in enumerate(columns(rows, side))
        for first, after in runs(column)
    ]
