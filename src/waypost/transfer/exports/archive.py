"""The archive of an account: all its tables from one snapshot, the pictures of QR codes, and the bytes of files.

Rows are read by cursors and written at once, so memory does not depend on their number; only the directory of the
archive, with one record per entry, is in memory until the end.
"""

import hashlib
import io
import json
import textwrap
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import IO, Any, Self

from sqlalchemy import Connection, Row, func, select

from waypost import __version__
from waypost.core import clock, csv_export
from waypost.core.settings import Settings
from waypost.db import crud, schema
from waypost.db.database import Database
from waypost.db.postgres import disable_timeouts
from waypost.http import file_names
from waypost.items.accounts import ops as accounts
from waypost.items.accounts.ops import Account
from waypost.items.qr import ops as qr_codes
from waypost.media.qrcode.render import design
from waypost.storage.store import ObjectNotFound, Store
from waypost.transfer.exports import sheets
from waypost.transfer.exports.sheets import Sheet, cell, to_json

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


@dataclass(frozen=True)
class Entry:
    """An entry that was written. `rows` is None for entries that are no table."""

    name: str
    rows: int | None
    bytes: int
    sha256: str


class EntryWriter:
    """Writes the content of one entry."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0
        self.rows: int | None = None

    def write(self, content: bytes) -> None:
        """Append to the entry."""
        self._digest.update(content)
        self._size += len(content)
        self._file.write(content)

    def entry(self, name: str) -> Entry:
        """Return the name, size and digest of the content."""
        return Entry(name, self.rows, self._size, self._digest.hexdigest())


class ZipStream:
    """Writes an archive to a function. It is valid at the end of the `with` block, and never after an error."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._sink = _Sink(write)
        self._zip = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._date = time.gmtime(clock.now())[:6]
        self.entries: list[Entry] = []

    @contextmanager
    def entry(self, name: str, *, compress: bool = True) -> Iterator[EntryWriter]:
        """Add an entry. Its size need not be known, so it has the fields of ZIP64."""
        info = zipfile.ZipInfo(name, self._date)
        info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        info.external_attr = 0o600 << 16
        with self._zip.open(info, "w", force_zip64=True) as file:
            writer = EntryWriter(file)
            yield writer
        self.entries.append(writer.entry(name))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        """Write the directory of the archive, unless there was an error."""
        if error is not None:
            self._sink.is_closed = True  # the destructor writes a directory too
        self._zip.close()


class _Sink(io.RawIOBase):
    """A file that cannot seek."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        super().__init__()
        self._write = write
        self.is_closed = False

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        if not self.is_closed:
            self._write(bytes(content))
        return len(content)


FORMAT = 1
SHEETS = (*sheets.ITEM_SHEETS, *sheets.CLICK_SHEETS)
_BATCH_ROWS = 500
_FILES_PER_READ = 100
_PICTURES_PER_READ = 20
_PICTURE_PIXELS = 512


@dataclass(frozen=True)
class Source:
    """The places that an export reads from."""

    database: Database
    store: Store
    settings: Settings
    account: int


@dataclass(frozen=True)
class Summary:
    """The rows and files of an archive. `missing` are entries whose bytes were not in the storage any more."""

    rows: int
    files: int
    missing: int


def write(source: Source, output: Callable[[bytes], object], on_snapshot_end: Callable[[], object]) -> Summary:
    """Write the archive. Calls `on_snapshot_end` when the database is no longer needed as it was.

    Raises NOT_FOUND for a deleted account, UNAVAILABLE, and errors of `output`. The archive is then incomplete.
    """
    with ZipStream(output) as stream:
        account, last_file = source.database.read(lambda tx: _write_tables(tx, source, stream))
        on_snapshot_end()
        files, missing = _write_files(source, stream, last_file)
        lines = [entry for entry in stream.entries if entry.name.endswith(".jsonl")]
        counts = {entry.name.removesuffix(".jsonl"): entry.rows or 0 for entry in lines}
        pictures = sum(entry.name.startswith("qr/") and entry.name.endswith(".svg") for entry in stream.entries)
        manifest = {
            "format": FORMAT,
            "version": __version__,
            "service": source.settings.base,
            "account": account.username,
            "created": clock.text(clock.now()),
            "counts": {**counts, "qr_pictures": pictures, "file_contents": files},
            "missing": missing,
            "entries": [asdict(entry) for entry in stream.entries],
        }
        _write_json(stream, "manifest.json", manifest)
    return Summary(sum(counts.values()), files, len(missing))


def _write_tables(tx: Connection, source: Source, stream: ZipStream) -> tuple[Account, int]:
    """Write all that is in the database. Return the account and the id of its last file."""
    disable_timeouts(tx)
    account = accounts.get(tx, source.account)
    created = clock.text(clock.now())
    with stream.entry("README.txt") as entry:
        entry.write(_readme(SHEETS, username=account.username, created=created).encode())
    times = {"registered": clock.text(account.registered), "expires": account.expires and clock.text(account.expires)}
    _write_json(stream, "account.json", {**asdict(account), **times})
    for sheet in SHEETS:
        _write_sheet(tx, source, stream, sheet)
    _write_pictures(tx, source, stream)
    _write_bio_pictures(tx, source, stream)
    last_file = select(func.max(schema.files.c.id)).where(schema.files.c.account == account.id)
    return account, tx.execute(last_file).scalar() or 0


def _write_sheet(tx: Connection, source: Source, stream: ZipStream, sheet: Sheet) -> None:
    with stream.entry(f"{sheet.name}.csv") as entry:
        entry.rows = 0
        entry.write((csv_export.BOM + csv_export.lines([sheet.names])).encode())
        for rows in _batches(tx, sheet, source.account):
            values = (sheet.values(row, source.settings).values() for row in rows)
            entry.write(csv_export.lines(map(cell, row) for row in values).encode())
            entry.rows += len(rows)
    with stream.entry(f"{sheet.name}.jsonl") as entry:
        entry.rows = 0
        for rows in _batches(tx, sheet, source.account):
            lines = (to_json(sheet.values(row, source.settings)) + "\n" for row in rows)
            entry.write("".join(lines).encode())
            entry.rows += len(rows)


def _batches(tx: Connection, sheet: Sheet, account: int) -> Iterator[Sequence[Row[Any]]]:
    """Yield the rows from a cursor of the database, which does not load all of them."""
    with tx.execute(sheet.query(account), execution_options={"yield_per": _BATCH_ROWS}) as result:
        yield from result.partitions()


def _write_pictures(tx: Connection, source: Source, stream: ZipStream) -> None:
    """Write the pictures of all QR codes."""
    c, last = schema.qrs.c, 0
    query = select(c.id).where(c.account == source.account).order_by(c.id).limit(_BATCH_ROWS)
    while ids := tx.execute(query.where(c.id > last)).scalars().all():
        last = ids[-1]
        for code in ids:
            draft = qr_codes.saved(tx, source.account, code, source.settings)
            assert draft is not None  # the snapshot does not change
            picture = design(draft.text, draft.style, draft.logo).render("svg", _PICTURE_PIXELS)
            with stream.entry(f"qr/{code}.svg") as entry:
                entry.write(picture)
            if draft.logo:
                with stream.entry(f"qr/{code}-logo.png", compress=False) as entry:
                    entry.write(draft.logo)


def _write_bio_pictures(tx: Connection, source: Source, stream: ZipStream) -> None:
    """Write the pictures of all bio pages."""
    c, last = schema.bio_pictures.c, 0
    query = select(c.id, c.data).where(c.account == source.account).order_by(c.id).limit(_PICTURES_PER_READ)
    while rows := tx.execute(query.where(c.id > last)).all():
        last = rows[-1].id
        for row in rows:
            with stream.entry(f"bio/picture-{row.id}.webp", compress=False) as entry:
                entry.write(row.data)


def _write_files(source: Source, stream: ZipStream, last_file: int) -> tuple[int, list[str]]:
    """Write the bytes of the files of the snapshot. Return their number, and the entries that are missing."""
    number, missing, last = 0, list[str](), 0
    c = schema.files.c
    query = select(c.id, c.object, c.filename).order_by(c.id).limit(_FILES_PER_READ)
    query = query.where(c.account == source.account, c.purged.is_(None), c.id <= last_file)
    while files := source.database.read(partial(crud.fetch_all, query=query.where(c.id > last)), autocommit=True):
        last = files[-1].id
        for file in files:
            name = f"files/{file.id}-{file_names.portable(file.filename)}"
            try:
                _, chunks = source.store.load(file.object)
            except ObjectNotFound:
                missing.append(name)
                continue
            with stream.entry(name, compress=False) as entry:
                for chunk in chunks:
                    entry.write(chunk)
            number += 1
    return number, missing


def _write_json(stream: ZipStream, name: str, value: Any) -> None:
    with stream.entry(name) as entry:
        entry.write(json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n")


def _readme(sheets: Sequence[Sheet], *, username: str, created: str) -> str:
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
