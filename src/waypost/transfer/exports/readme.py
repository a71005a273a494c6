"""README.txt of an export: it explains every file and every column."""

import textwrap
from collections.abc import Sequence

from waypost.transfer.exports.sheets import Sheet

_WIDTH = 100
_HEAD = """\
Export of the waypost account {username}, {created} UTC

Every table is here twice: NAME.csv for spreadsheets, and NAME.jsonl (one JSON object per line) for programs.
- CSV: UTF-8, every value in quotes. An apostrophe comes before a value that a spreadsheet would read as a formula,
  so use the JSON lines to import the data. Lists and objects are JSON. Missing values are empty.
- JSON lines: exact values. Missing values are null.
- Times are YYYY-MM-DD HH:MM:SS in UTC.

All tables are from the same moment. Clicks of the last second can be missing. The files of the account are read
afterward; manifest.json lists those that were deleted in between.

Not included, because they are secrets: passwords of the account, of links and of files, API keys, and
two-factor authentication.

account.json       The account.
manifest.json      Number of rows, size and SHA-256 of every file in this archive. It comes last.
qr/ID.svg          The pictures of the QR codes, with qr/ID-logo.png for those with a logo.
bio/picture-ID.webp  The pictures of the bio pages.
files/ID-NAME      The bytes of the files.
"""


def text(sheets: Sequence[Sheet], *, username: str, created: str) -> str:
    """Return the text of README.txt."""
    parts = [_HEAD.format(username=username, created=created)]
    for sheet in sheets:
        width = max(len(column.name) for column in sheet.columns) + 2
        lines = [f"{sheet.name}.csv, {sheet.name}.jsonl", *textwrap.wrap(sheet.text, _WIDTH), ""]
        for column in sheet.columns:
            indent = " " * (width + 2)
            wrapped = textwrap.wrap(column.text, _WIDTH, initial_indent=indent, subsequent_indent=indent)
            lines.append("\n".join(["  " + column.name.ljust(width) + wrapped[0].strip(), *wrapped[1:]]))
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
