"""Read the click journal: list segments, read uncounted lines, delete counted segments."""

import fcntl
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from waypost.clicks.journal.writer import SEGMENT_SUFFIX


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a segment, with their start and end offsets in bytes."""

    segment: str
    lines: bytes
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.lines)


def segment_sizes(folder: Path) -> dict[str, int]:
    """Return the size in bytes of every segment by name, oldest first."""
    sizes = {}
    with os.scandir(folder) as files:
        for file in files:
            if file.name.endswith(SEGMENT_SUFFIX):
                with suppress(FileNotFoundError):  # deleted since the folder was listed
                    sizes[file.name] = file.stat().st_size
    return dict(sorted(sizes.items()))


def time_at(path: Path, position: int) -> int | None:
    """Return the time in milliseconds of the line at a position; None if there is no whole line with a time."""
    with suppress(OSError, ValueError), path.open("rb") as file:  # deleted since it was listed, or a damaged line
        file.seek(position)
        line = file.readline()
        return int(line.partition(b"\t")[0]) if line.endswith(b"\n") else None
    return None


def read_chunks(folder: Path, positions: Mapping[str, int], *, max_bytes: int, max_lines: int) -> list[Chunk]:
    """Return uncounted whole lines of all segments, oldest segments first, up to about the limits in total."""
    chunks = []
    for name, size in segment_sizes(folder).items():
        start = positions.get(name, 0)
        if size <= start or max_bytes <= 0 or max_lines <= 0:
            continue
        with (folder / name).open("rb") as file:
            file.seek(start)
            uncounted = file.read(min(size - start, max_bytes))
        *lines, rest = uncounted.split(b"\n", max_lines)
        if lines:
            chunk = Chunk(name, uncounted[: len(uncounted) - len(rest)], start)
            chunks.append(chunk)
            max_bytes -= len(chunk.lines)
            max_lines -= len(lines)
    return chunks


def counted_segments(folder: Path, positions: Mapping[str, int]) -> list[str]:
    """Return the names of segments that have no writer and no uncounted whole lines."""
    counted = []
    for name in segment_sizes(folder):
        with (folder / name).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # a worker still writes to it
            file.seek(positions.get(name, 0))
            if not file.readline().endswith(b"\n"):  # the request of a partial last line got no response
                counted.append(name)
    return counted


def delete_segments(folder: Path, names: Iterable[str]) -> None:
    """Delete segments. They do not come back after a power cut."""
    for name in names:
        (folder / name).unlink()
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
