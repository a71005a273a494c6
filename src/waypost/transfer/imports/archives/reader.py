"""Read the archive of an account (`transfer/exports/`) in a child process. Anyone can send one: sizes are bounded."""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, BinaryIO

from waypost.core import bounded_json
from waypost.core.errors import Problem, invalid
from waypost.transfer.imports.sources.fields import parse_json

MAGIC = b"PK\x03\x04"
_SPREADSHEET = frozenset({"[Content_Types].xml", "content.xml"})  # entries of .xlsx and .ods
_IMPORTABLE = (".csv", ".db", ".html", ".json", ".sql", ".sqlite")
_FORMAT = 1
_MAX_LINE, _MAX_LINE_VALUES = 1 << 20, 50_000
_MAX_MANIFEST, _MAX_MANIFEST_VALUES = 32 << 20, 500_000  # of 100,000 entries, each with four values
_MAX_DIRECTORY = 16 << 20  # bytes: zipfile reads the whole directory into memory
_MAX_RATIO, _SMALL = 200, 1 << 20  # an archive with a higher ratio is a ZIP bomb, unless it stays small
_UNSTORABLE = re.compile(r"[\x00-\x20\x7f\ud800-\udfff]")
_END, _LOCATOR, _END64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,  # an encrypted entry
    OSError,
    ValueError,
)


class ArchiveReader:
    """An open archive. `service` is the base URL of the service that wrote it."""

    def __init__(self, file: BinaryIO) -> None:
        """Raises INVALID on `file` for anything but a complete archive of an account."""
        with _faults():
            size = _refuse_large_directory(file)
            self._zip = zipfile.ZipFile(file)
            self._refuse_bomb(size)
        manifest = self._manifest()
        if manifest.get("format") != _FORMAT:
            raise invalid("file", "The archive has a format that this version cannot read. Upgrade waypost first.")
        self.service = _UNSTORABLE.sub("", str(manifest.get("service", "")))[:200]

    def rows(self, sheet: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number and the values of each row of a table. Raises INVALID on `file`."""
        name = f"{sheet}.jsonl"
        if name not in self._zip.NameToInfo:
            return
        with _faults(), self._zip.open(name) as entry:
            number = 0
            while line := entry.readline(_MAX_LINE):
                number += 1
                if len(line) >= _MAX_LINE:
                    raise invalid("file", f"{name}: line {number} has more than {_MAX_LINE // 10**6} MB.")
                yield number, self._row(line, name, number)

    def _row(self, line: bytes, name: str, number: int) -> dict[str, Any]:
        try:
            value = bounded_json.loads(line, _MAX_LINE_VALUES)
        except bounded_json.TooManyValues:
            raise invalid("file", f"{name}: line {number} has more than {_MAX_LINE_VALUES:,} values.") from None
        except (ValueError, RecursionError):
            raise invalid("file", f"{name}: line {number} is not valid JSON.") from None
        if not isinstance(value, dict):
            raise invalid("file", f"{name}: line {number} is not an object.")
        return value

    def has(self, name: str) -> bool:
        """Return whether there is an entry."""
        return name in self._zip.NameToInfo

    def content(self, name: str, limit: int) -> bytes | None:
        """Return the bytes of an entry; None without one, or if it is larger than `limit`."""
        info = self._zip.NameToInfo.get(name)
        if info is None or info.file_size > limit:
            return None
        with _faults():
            return self._zip.read(info)

    def file_entry(self, file: int) -> zipfile.ZipInfo | None:
        """Return the entry with the bytes of a file, which begins with its id."""
        return self._files.get(file)

    @contextmanager
    def open(self, entry: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
        """Open an entry. Raises INVALID on `file` if it is damaged, also while it is read."""
        with _faults(), self._zip.open(entry) as opened:
            yield opened

    def _refuse_bomb(self, size: int) -> None:
        """Raise INVALID if the content is far larger than the archive. Notes the entries of files.

        The entries of a forged archive can share their bytes, so those of the archive itself count too.
        """
        content = packed = 0
        self._files: dict[int, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            content += info.file_size
            packed += info.compress_size
            folder, _, rest = info.filename.partition("/")
            number = rest.partition("-")[0]
            if folder == "files" and number.isdecimal() and len(number) <= 15:
                self._files[int(number)] = info
        if content > max(_SMALL, min(packed, size) * _MAX_RATIO):
            raise invalid("file", "The content of the archive is too large for its size, so it is not from an export.")

    def _manifest(self) -> Any:
        content = self.content("manifest.json", _MAX_MANIFEST)
        if content is None:
            raise _not_exported(self._zip.namelist())
        manifest = parse_json(content, field="file", max_values=_MAX_MANIFEST_VALUES)
        return manifest if isinstance(manifest, dict) else {}


def _not_exported(names: Sequence[str]) -> Problem:
    """Return the problem of a ZIP archive with these entries: a spreadsheet, for example, which is one too."""
    if not _SPREADSHEET.isdisjoint(names):
        return spreadsheet()
    is_export = any(name.endswith(".jsonl") for name in names)
    if not is_export and any(name.lower().endswith(_IMPORTABLE) for name in names):
        return packed("ZIP")
    return invalid("file", "The ZIP archive is not a complete export of waypost: manifest.json is missing.")


def spreadsheet() -> Problem:
    """Return the problem of a spreadsheet."""
    return invalid("file", "The file is a spreadsheet. Save it as CSV UTF-8, and import that file.")


def packed(kind: str) -> Problem:
    """Return the problem of a file that was compressed with a program."""
    return invalid("file", f"The file is compressed with {kind}. Unpack it first, and import the file that is in it.")


def _refuse_large_directory(file: BinaryIO) -> int:
    """Return the size of the archive. Ends at the start of the file.

    Raises INVALID for a directory of many hundred thousand entries, before zipfile reads it.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 65_536 - 42))
    tail = file.read()
    end = tail.rfind(_END)
    if end < 0:
        raise zipfile.BadZipFile
    length = struct.unpack_from("<L", tail, end + 12)[0]
    if length == 0xFFFFFFFF and end >= 20 and tail[end - 20 : end - 16] == _LOCATOR:
        file.seek(struct.unpack_from("<Q", tail, end - 12)[0])
        record = file.read(56)
        length = struct.unpack_from("<Q", record, 40)[0] if record.startswith(_END64) else length
    if length > _MAX_DIRECTORY:
        raise invalid("file", f"The directory of the archive has more than {_MAX_DIRECTORY // 10**6} MB.")
    file.seek(0)
    return size


@contextmanager
def _faults() -> Iterator[None]:
    """Turn the errors of a damaged archive into INVALID on `file`."""
    try:
        yield
    except Problem:
        raise
    except _DAMAGED:
        raise invalid("file", "The ZIP archive is damaged or not complete. Export the account again.") from None
