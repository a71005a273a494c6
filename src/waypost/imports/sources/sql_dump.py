"""Rows in a dump of a MySQL database, read as a stream: the INSERT statements of `mysqldump` and phpMyAdmin."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from waypost.errors import invalid

_CHUNK = 1 << 20
_MAX_ROW = 1 << 24
_MAX_VALUES = 100  # of a row; those behind are not read
_INSERT = re.compile(
    rb"^INSERT\s+(?:IGNORE\s+)?INTO\s+[`\"]?([A-Za-z0-9_$]{1,64})[`\"]?\s*+(?:\(([^()]{1,4096})\)\s*+)?VALUES\s*+",
    re.MULTILINE | re.IGNORECASE,
)
_ROW = re.compile(rb"\s*+\(((?:'(?:[^'\\]|\\.|'')*+'|[^'()])*+)\)\s*+([,;])", re.DOTALL)
_VALUE = re.compile(rb"\s*+(?:'((?:[^'\\]|\\.|'')*+)'|([^,']*+))\s*+(?:,|\Z)", re.DOTALL)
_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_ESCAPED = {b"0": b"\0", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"Z": b"\x1a"}
_UNFINISHED = 4200  # bytes of an INSERT that can be at the end of a chunk
Row = tuple[str, list[str], list[str]]
"""The table, the names of the columns if the statement has them, and the values; NULL is ""."""


def rows(file: BinaryIO) -> Iterator[Row]:
    """Yield the rows of all tables. Raises INVALID on `file` for a statement that has no end."""
    buffer, is_end = b"", False
    table: str | None = None
    columns: list[str] = []
    while True:
        position = 0
        while True:
            if table is None:
                insert = _INSERT.search(buffer, position)
                if insert is None:
                    position = max(position, len(buffer) - _UNFINISHED)
                    break
                table, position = insert[1].decode(), insert.end()
                columns = [name.strip(b' `"').decode("utf-8", "replace") for name in (insert[2] or b"").split(b",")]
            row = _ROW.match(buffer, position)
            if row is None:
                break
            yield table, columns if columns != [""] else [], _values(row[1])
            position = row.end()
            table = None if row[2] == b";" else table
        if is_end:
            break
        chunk = file.read(_CHUNK)
        is_end = not chunk
        buffer = _line_start(buffer, position, in_statement=table is not None) + chunk
        if len(buffer) > _MAX_ROW + _CHUNK:
            raise invalid("file", f"A row of {table} is longer than 16 MiB, or is not from mysqldump.")
    if table is not None:
        raise invalid("file", f"The file ends in a statement of the table {table}. It is incomplete.")


def _line_start(buffer: bytes, position: int, *, in_statement: bool) -> bytes:
    """Return the rest of the buffer. Outside of statements it keeps the line break before it, which `^` needs."""
    return buffer[position:] if in_statement else buffer[max(0, position - 1) :]


def _values(text: bytes) -> list[str]:
    values: list[str] = []
    position = 0
    while position <= len(text) and len(values) < _MAX_VALUES:
        match = _VALUE.match(text, position)
        if match is None or (match.end() == position and values):
            break
        if match[1] is not None:
            value = _ESCAPE.sub(_unescaped, match[1])
        else:
            value = b"" if match[2].strip().upper() == b"NULL" else match[2].strip()
        values.append(value.decode("utf-8", "replace"))
        position = match.end()
    return values


def _unescaped(match: re.Match[bytes]) -> bytes:
    return b"'" if match[1] is None else _ESCAPED.get(match[1], match[1])
