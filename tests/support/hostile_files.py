"""Files of strangers that are small, and would take gigabytes or compute without end where they are read."""

import io
import json
import random
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

_MANIFEST = b'{"format": 1, "service": "https://old.example.com"}'
_MANY_VALUES = b"[" + b"[]," * 10_000_000 + b"[]]"  # 30 MB, and 800 MB as objects
_COLUMNS = "short_url TEXT, notes TEXT, hits INT, expiry_time INT"


def _archive(path: Path, entries: Mapping[str, Iterable[bytes]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, chunks in entries.items():
            with archive.open(name, "w", force_zip64=True) as entry:
                for chunk in chunks:
                    entry.write(chunk)
        archive.writestr("padding", random.Random(1).randbytes(1 << 20))  # hides how well the others are compressed


def _manifest_of_many_values(path: Path) -> None:
    _archive(path, {"manifest.json": [_MANY_VALUES]})


def _long_lines(path: Path) -> None:
    line = b'{"id": 1, "alias": "a", "url": "https://example.com/", "description": "' + b"x" * (7 << 20) + b'"}\n'
    _archive(path, {"links.jsonl": [line] * 20, "manifest.json": [_MANIFEST]})


def _nested_rows(path: Path) -> None:
    row = b'{"id": 1, "name": "B", "alias": "b", "blocks": [' + b"{}," * 300_000 + b"{}]}\n"
    _archive(path, {"bio_pages.jsonl": [row] * 5, "manifest.json": [_MANIFEST]})


def _many_blocks(path: Path) -> None:
    rows = (f'{{"id": {number}, "clicks": 1}}\n'.encode() * 20 for number in range(5_000))
    _archive(path, {"bio_blocks.jsonl": rows, "manifest.json": [_MANIFEST, b" " * 100_000]})


def _large_directory(path: Path) -> None:
    """Write a directory of 300,000 entries without content."""
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 3, 20, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0)
    directory = b"".join(entry + f"{number:06}".encode() for number in range(600_000))
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65_535, 65_535, len(directory), 4, 0)
    path.write_bytes(b"PK\x03\x04" + directory + end)


def _high_ratio(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("manifest.json", _MANY_VALUES)


def _shared_bytes(path: Path) -> None:
    """Write an archive whose entries all have the bytes of the first one."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("manifest.json", _MANIFEST)
        archive.writestr("links.jsonl", b" " * (20 << 20))
        first = archive.infolist()[-1]
        for number in range(1000):
            copy = zipfile.ZipInfo(f"files/{number}-x")
            copy.header_offset, copy.CRC, copy.compress_type = first.header_offset, first.CRC, first.compress_type
            copy.compress_size, copy.file_size = first.compress_size, first.file_size
            archive.filelist.append(copy)
    path.write_bytes(content.getvalue())


def _sqlite(path: Path, statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(statements)
    connection.close()


def _generated_column(path: Path) -> None:
    table = f"CREATE TABLE urls(long_url TEXT AS (hex(zeroblob(134217728))), {_COLUMNS});"
    _sqlite(path, f"{table} INSERT INTO urls(short_url) VALUES ('x')")


def _endless_column(path: Path) -> None:
    """Write a table whose column compares without end. Its expression is exchanged after the row is stored."""
    endless = "instr(hex(zeroblob(100000000)), hex(zeroblob(50000000)) || pat)"
    _sqlite(
        path,
        f"CREATE TABLE urls(pat TEXT, long_url TEXT AS (pat), {_COLUMNS}); INSERT INTO urls(pat) VALUES ('x');"
        f"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'AS (pat)', 'AS ({endless})')",
    )


def _large_value(path: Path) -> None:
    _sqlite(
        path,
        f"CREATE TABLE urls(long_url TEXT, {_COLUMNS}); INSERT INTO urls(long_url, short_url) VALUES "
        "(printf('%.*c', 30000000, 'x'), 'x')",
    )


def _endless_view(path: Path) -> None:
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
    query = f"{numbers} SELECT x AS long_url, '' AS short_url FROM n"
    _sqlite(path, f"CREATE VIEW urls AS {query}; CREATE TABLE other(a)")


def _virtual_table(path: Path) -> None:
    _sqlite(
        path,
        "CREATE VIRTUAL TABLE urls USING fts5(long_url, short_url); PRAGMA writable_schema = ON;"
        "UPDATE sqlite_master SET sql = replace(sql, 'CREATE VIRTUAL', 'CREATE /* a long comment */ VIRTUAL')",
    )


def _linkstack_of_many_values(path: Path) -> None:
    path.write_bytes(_MANY_VALUES)


def _scripts_without_end(path: Path) -> None:
    path.write_text("<" + "<script id " * 2_000_000)


def _groups_of_each_other(path: Path) -> None:
    links = [{"id": number, "type": "GROUP", "parent": {"id": number ^ 1}} for number in range(50_000)]
    path.write_text(json.dumps({"props": {"pageProps": {"account": {"username": "x", "links": links}}}}))


def _tags_without_end(path: Path) -> None:
    path.write_text(json.dumps({"littlelink_name": "x", "name": "<a " * 333_333, "links": []}))


def _many_titles_without_end(path: Path) -> None:
    links = [{"title": "<a " * 3000, "link": "https://example.com/", "button_id": 1}] * 2000
    path.write_text(json.dumps({"littlelink_name": "x", "links": links, "littlelink_description": "<!--" * 100_000}))


def _csv_of_empty_cells(path: Path) -> None:
    path.write_bytes(b"alias,url\n" + (b"a," + b"," * 1_000_000 + b"\n") * 20)


def _csv_of_tags(path: Path) -> None:
    row = b'"' + b"t," * 60_000 + b'",https://example.com/' + b"y" * 100_000 + b"\n"
    path.write_bytes(b"tags,url\n" + row * 100)


def _csv_of_one_line(path: Path) -> None:
    path.write_bytes(b"alias,url\n" + b"x" * (50 << 20))


def _dump_of_large_rows(path: Path) -> None:
    row = b"('a','https://example.com/" + b"x" * 900_000 + b"','t','2024-01-01 00:00:00','ip',1)"
    path.write_bytes(b"INSERT INTO `yourls_url` VALUES " + b",".join([row] * 20) + b";\n")


def _dump_of_many_values(path: Path) -> None:
    path.write_bytes(b"INSERT INTO `yourls_url` VALUES (" + b"1," * 8_000_000 + b"1);\n")


def _dump_without_end(path: Path) -> None:
    path.write_bytes(b"INSERT INTO `yourls_url` VALUES (" + b"'" * (40 << 20))


def _endless_comments(path: Path) -> None:
    links = [{"title": "<!--" * 250, "link": "https://example.com/", "button_id": 1}] * 1000
    path.write_text(json.dumps({"littlelink_name": "x", "links": links}))


def _slow_dump(path: Path) -> None:
    agents = (f"Mozilla/5.0 (X11; Linux x86_64; rv:{number}) Firefox/{number}" for number in range(200_000))
    rows = ",".join(f"(1,'2024-01-01 00:00:00','a','','{agent}','','DE')" for agent in agents)
    links = "INSERT INTO `yourls_url` VALUES ('a','https://example.com/','t','2024-01-01 00:00:00','ip',1);"
    path.write_text(f"{links}\nINSERT INTO `yourls_log` VALUES {rows};\n")


def _slow_database(path: Path) -> None:
    rows = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300000)"
    insert = f"INSERT INTO urls(long_url, short_url) {rows} SELECT 'https://example.com/' || x, x FROM n"
    _sqlite(path, f"CREATE TABLE urls(long_url TEXT, {_COLUMNS}); {insert}")


def _slow_archive(path: Path) -> None:
    rows = (f'{{"id": {number}, "clicks": 1}}\n'.encode() for number in range(300_000))
    _archive(path, {"bio_blocks.jsonl": rows, "manifest.json": [_MANIFEST]})


def _slow_csv(path: Path) -> None:
    path.write_text("alias,url\n" + "".join(f"{number},https://example.com/\n" for number in range(400_000)))


HOSTILE_FILES: Mapping[str, tuple[Callable[[Path], None], str]] = {
    "manifest of many values": (_manifest_of_many_values, "more than 500,000 values"),
    "archive with high ratio": (_high_ratio, "too large for its size"),
    "archive with long lines": (_long_lines, "line 1 has more than 1 MB"),
    "archive with nested rows": (_nested_rows, "more than 50,000 values"),
    "archive with many blocks": (_many_blocks, ""),
    "archive with large directory": (_large_directory, "The directory of the archive"),
    "archive with shared bytes": (_shared_bytes, "too large for its size"),
    "SQLite with generated column": (_generated_column, "is generated"),
    "SQLite with endless column": (_endless_column, "is generated"),
    "SQLite with large value": (_large_value, "too big"),
    "SQLite with endless view": (_endless_view, "not of Kutt or Chhoto URL"),
    "SQLite with virtual table": (_virtual_table, "not of Kutt or Chhoto URL"),
    "JSON of many values": (_linkstack_of_many_values, "more than 500,000 values"),
    "HTML of endless scripts": (_scripts_without_end, "not a saved page of Linktree"),
    "page of groups in each other": (_groups_of_each_other, ""),
    "HTML with endless tags": (_tags_without_end, ""),
    "HTML with many endless titles": (_many_titles_without_end, ""),
    "HTML with endless comments": (_endless_comments, ""),
    "CSV of empty cells": (_csv_of_empty_cells, ""),
    "CSV of tags": (_csv_of_tags, ""),
    "CSV of one line": (_csv_of_one_line, "more than 1 MB"),
    "dump of large rows": (_dump_of_large_rows, ""),
    "dump of many values": (_dump_of_many_values, ""),
    "dump without end": (_dump_without_end, "longer than 16 MB"),
}
"""By name, a function that writes a file, and why it is refused; "" if the service plans it."""

SLOW_FILES: Mapping[str, Callable[[Path], None]] = {
    "archive": _slow_archive,
    "SQLite": _slow_database,
    "HTML": _many_titles_without_end,
    "CSV": _slow_csv,
    "dump": _slow_dump,
}
"""A file of each kind that is read for seconds."""
