"""The reading side of the journal: which segments there are, and the whole lines in them that are not counted yet."""

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from waypost.clicks.journal.writer import SUFFIX


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a segment, and the positions before and behind them."""

    segment: str
    lines: bytes
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.lines)


def sizes(folder: Path) -> dict[str, int]:
    """Every segment by name, oldest first, with its size in bytes."""
    found = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIX):
                try:
                    found[entry.name] = entry.stat().st_size
                except FileNotFoundError:
                    continue  # counted and removed this moment
    return dict(sorted(found.items()))


def read(folder: Path, counted: Mapping[str, int], most: int) -> list[Chunk]:
    """Uncounted whole lines of all segments, about `most` bytes at the most, oldest segments first."""
    chunks = []
    for name, size in sizes(folder).items():
        start = counted.get(name, 0)
        if size <= start or most <= 0:
            continue
        with (folder / name).open("rb") as file:
            file.seek(start)
            data = file.read(min(size - start, most))
        lines = data[: data.rfind(b"\n") + 1]
        if lines:
            chunks.append(Chunk(name, lines, start))
            most -= len(lines)
    return chunks


def remove_finished(folder: Path, counted: Mapping[str, int]) -> list[str]:
    """Delete the segments whose writer is gone and whose whole lines are all counted; their names."""
    removed = []
    for name in sizes(folder):
        path = folder / name
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # somebody writes to it
            file.seek(counted.get(name, 0))
            if b"\n" not in file.read():  # a torn last line was never answered
                path.unlink()
                removed.append(name)
    return removed
