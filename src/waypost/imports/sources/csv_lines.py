"""Records of a CSV file of any size, read as a stream. Errors name the line at fault."""

import codecs
import csv
import io
from collections.abc import Callable, Iterator
from typing import BinaryIO

from waypost.errors import Problem, invalid

_MAX_LINE = 1 << 20
_MAX_COLUMNS = 100
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
Cells = list[str]


class CsvFile:
    """A CSV file with a header, separated by commas, semicolons or tabs; UTF-8, or UTF-16 with a byte order mark."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the header. Raises INVALID on `file`."""
        self._lines = _Lines(file)
        first = next(self._lines, "")
        if first.strip().lower().startswith("sep="):  # of Excel
            first = next(self._lines, "")
        self._separator = max(",;\t", key=lambda separator: len(next(csv.reader([first], delimiter=separator), [])))
        self.header = [cell.strip() for cell in _cells(first, self._separator)]
        if not any(self.header):
            raise _bad("The file is empty. Its first line must name the columns.")
        if len(self.header) > _MAX_COLUMNS:
            raise _bad(f"Line 1 has {len(self.header)} columns; {_MAX_COLUMNS} are allowed.")

    def __iter__(self) -> Iterator[tuple[int, Cells]]:
        """Yield each record with the number of its first line. Raises INVALID on `file`."""
        reader = csv.reader(self._lines, delimiter=self._separator, strict=True)
        while True:
            self._lines.record_size = 0
            line = self._lines.number + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise _bad(f"Line {line}: {_reason(error)}.") from error
            if cells is None:
                return
            if any(cells):
                yield line, cells


class _Lines:
    """The lines of a file, as text with their line ends."""

    def __init__(self, file: BinaryIO) -> None:
        self.number = 0
        self.record_size = 0
        buffered = io.BufferedReader(file, 1 << 16) if isinstance(file, io.RawIOBase) else file
        start = buffered.read(4)
        buffered.seek(0)
        self._encoding = "UTF-16" if start.startswith(_UTF16) else "UTF-8"
        if self._encoding == "UTF-16":
            self._read: Callable[[int], str] = io.TextIOWrapper(buffered, encoding="utf-16", newline="").readline
        else:
            buffered.read(len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0)
            self._file = buffered
            self._read = self._read_utf8

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        self.number += 1
        try:
            line = self._read(_MAX_LINE + 1)
        except UnicodeError as error:
            hint = "Save the file as CSV in UTF-8."
            raise _bad(f"Line {self.number} is not valid {self._encoding}. {hint}") from error
        self.record_size += len(line)
        if self.record_size > _MAX_LINE:
            raise self._too_long()
        if "\0" in line:
            raise _bad(f"Line {self.number} contains a NUL character. Save the file as CSV in UTF-8.")
        if not line:
            self.number -= 1
            raise StopIteration
        return line

    def _read_utf8(self, size: int) -> str:
        line = self._file.readline(size)
        if len(line) > _MAX_LINE:
            raise self._too_long()  # and a character can be cut in two
        return line.decode()

    def _too_long(self) -> Problem:
        hint = "Check its line ends, and that all quotes are closed."
        return _bad(f"Line {self.number} belongs to a row of more than {_MAX_LINE >> 20} MiB. {hint}")


def _cells(line: str, separator: str) -> Cells:
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [])
    except csv.Error as error:
        raise _bad(f"Line 1: {_reason(error)}.") from error


def _reason(error: csv.Error) -> str:
    if "expected after" in str(error):
        return "a quote inside a quoted cell must be written twice"
    if "field larger" in str(error):
        return "a cell has more than 131,072 characters. Check that all quotes are closed"
    return "a quote is opened and never closed"


def _bad(message: str) -> Problem:
    return invalid("file", message)
