"""Rows in a dump of a MySQL database, read as a stream: INSERT and REPLACE of `mysqldump` and phpMyAdmin."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from waypost.core.errors import invalid

_CHUNK = 1 << 20
_MAX_ROW = 1 << 24
_MAX_VALUES = 100  # of a row; those behind are not read
_START = re.compile(rb"^[ \t]*(?:INSERT|REPLACE)\s", re.MULTILINE | re.IGNORECASE)
_NAME = rb"[`\"]?([A-Za-z0-9_$]{1,64})[`\"]?"
_INSERT = re.compile(
    rb"[ \t]*(?:INSERT|REPLACE)\s+(?:(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE)\s+)*(?:INTO\s+)?"
    + (rb"(?:" + _NAME.replace(b"(", b"(?:", 1) + rb"\.)?" + _NAME + rb"\s*+")
    + rb"(?:\(([^()]{1,4096})\)\s*+)?VALUES?\s*+(?=\()",
    re.IGNORECASE,
)
_ROW = re.compile(rb"\s*+\(((?:'(?:[^'\\]|\\.|'')*+'|[^'()])*+)\)\s*+([,;])", re.DOTALL)
# A text can have a character set before it (`_binary 'x'`, `N'x'`); bytes can be in hexadecimal (`0x78`, `x'78'`).
_VALUE = re.compile(
    rb"\s*+(?:(_[a-z0-9]+\s*+|[NXnx])?'((?:[^'\\]|\\.|'')*+)'|([^,']*+))\s*+(?:,|\Z)", re.DOTALL | re.IGNORECASE
)
_HEX = re.compile(rb"(?:0x)?((?:[0-9A-Fa-f]{2})*)")
_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_ESCAPED = {b"0": b"\0", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"Z": b"\x1a"}
_MAX_UNREAD = 20  # kinds of statements that are named
_UNFINISHED = 4600  # bytes of an INSERT that can be at the end of a chunk
Row = tuple[str, list[str], list[str]]
"""The table, the names of the columns if the statement has them, and the values; NULL is ""."""


def rows(file: BinaryIO, unread: Counter[str]) -> Iterator[Row]:
    """Yield the rows of all tables. Raises INVALID on `file` for a statement that has no end.

    Statements that insert rows without `VALUES` are not read: they are counted in `unread`.
    """
    buffer, is_end = b"", False
    table: str | None = None
    columns: list[str] = []
    while True:
        position = 0
        while True:
            if table is None:
                start = _START.search(buffer, position)
                if start is None or (len(buffer) - start.start() < _UNFINISHED and not is_end):
                    position = max(position, len(buffer) - _UNFINISHED) if start is None else start.start()
                    break
                insert = _INSERT.match(buffer, start.start())
                if insert is None:
                    words = _first_words(buffer[start.start() :])
                    unread[words if words in unread or len(unread) < _MAX_UNREAD else "INSERT"] += 1
                    position = start.end()
                    continue
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


def _first_words(statement: bytes) -> str:
    """Return the beginning of a statement, up to the name of the table."""
    words = statement[:_UNFINISHED].split(maxsplit=3)[:3]
    return b" ".join(words).decode("utf-8", "replace")[:80]


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
        value = _value(match)
        values.append(value.decode("utf-8", "replace"))
        position = match.end()
    return values


def _value(match: re.Match[bytes]) -> bytes:
    introducer, text, word = (match[1] or b"").strip().upper(), match[2], (match[3] or b"").strip()
    if text is not None and introducer != b"X":
        return _ESCAPE.sub(_unescaped, text)
    if introducer == b"X" or word[:2] == b"0x":
        digits = _HEX.fullmatch(word if text is None else text)
        return word if digits is None else bytes.fromhex(digits[1].decode())
    return b"" if word.upper() == b"NULL" else word


def _unescaped(match: re.Match[bytes]) -> bytes:
    return b"'" if match[1] is None else _ESCAPED.get(match[1], match[1])
