"""Records of a CSV file of any size, read as a stream. Errors name the line at fault."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from waypost.core.errors import Problem, invalid

_MAX_LINE = 1 << 20
_MAX_COLUMNS = 100
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTED = re.compile(r'"[^"]*"')
Cells = list[str]


class CsvFile:
    """A CSV file with a header, separated by commas, semicolons or tabs; UTF-8, or UTF-16 with a byte order mark.

    Lines end with LF, CR LF or CR. Blank lines before the header are skipped.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Read the header. Raises INVALID on `file`."""
        self._lines = _Lines(file)
        first = next((line for line in self._lines if not _is_before_header(line)), "")
        self.header_line = self._lines.number
        self._separator = max(",;\t", key=_QUOTED.sub("", first).count)
        self._reader = csv.reader(chain([first], self._lines), delimiter=self._separator, strict=True)
        self.header = [cell.strip() for cell in self._next(self.header_line) or ()]
        if not any(self.header):
            raise _bad("The file is empty. Its first line must name the columns.")
        if len(self.header) > _MAX_COLUMNS:
            message = f"Line {self.header_line} has {len(self.header)} columns; {_MAX_COLUMNS} are allowed."
            raise _bad(message)

    def __iter__(self) -> Iterator[tuple[int, Cells]]:
        """Yield each record with the number of its first line. Raises INVALID on `file`."""
        while True:
            self._lines.record_size = 0
            line = self._lines.number + 1
            cells = self._next(line)
            if cells is None:
                return
            if any(cells):
                yield line, cells

    def _next(self, line: int) -> Cells | None:
        """Return the next record, which begins at `line`. The only place where the csv module reads the file."""
        try:
            return next(self._reader, None)
        except csv.Error as error:
            raise _bad(f"Line {line}: {_reason(error)}.") from error


class _Lines:
    """The lines of a file, as text with their line ends."""

    def __init__(self, file: BinaryIO) -> None:
        self.number = 0
        self.record_size = 0
        buffered = io.BufferedReader(file, 1 << 16) if isinstance(file, io.RawIOBase) else file
        start = buffered.read(4)
        buffered.seek(0)
        self._encoding = "UTF-16" if start.startswith(_UTF16) else "UTF-8"
        # Invalid bytes of UTF-8 become surrogates, so that the line at fault is known. UTF-16 has no such decoding.
        encoding, errors = ("utf-16", "strict") if self._encoding == "UTF-16" else ("utf-8-sig", "surrogateescape")
        self._text = io.TextIOWrapper(buffered, encoding=encoding, errors=errors, newline="")

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        self.number += 1
        try:
            line = self._text.readline(_MAX_LINE + 1)
        except UnicodeError as error:
            raise self._not_valid() from error
        self.record_size += len(line)
        if self.record_size > _MAX_LINE:
            raise self._too_long()
        if _SURROGATE.search(line):
            raise self._not_valid()
        if "\0" in line:
            problem = f"Line {self.number} contains a NUL character."
            raise _bad(f"{problem} In Excel, save the file with File, Save as, CSV UTF-8.")
        if not line:
            self.number -= 1
            raise StopIteration
        return line

    def _not_valid(self) -> Problem:
        problem = f"Line {self.number} is not valid {self._encoding}."
        return _bad(f"{problem} In Excel, save the file with File, Save as, CSV UTF-8.")

    def _too_long(self) -> Problem:
        hint = "Check its line ends, and that all quotes are closed."
        return _bad(f"Line {self.number} belongs to a row of more than {_MAX_LINE // 10**6} MB. {hint}")


def _is_before_header(line: str) -> bool:
    """Return whether a line is blank, or tells the separator to Excel."""
    text = line.strip().lower()
    return not text or text.startswith("sep=")


def _reason(error: csv.Error) -> str:
    if "expected after" in str(error):
        return "a quote inside a quoted cell must be written twice"
    if "new-line character" in str(error):
        return "a line break is neither in quotes nor at the end of a row"
    if "field larger" in str(error):
        return "a cell has more than 131,072 characters. Check that all quotes are closed"
    return "a quote is opened and never closed"


def _bad(message: str) -> Problem:
    return invalid("file", message)
