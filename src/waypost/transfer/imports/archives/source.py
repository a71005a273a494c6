"""The items of an archive as records: first those that links refer to, then links, then all others.

Runs in the child process that reads the file. `Staging` does the rest, which needs the database or the network: it
checks domains, and stores the bytes of files.
"""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TypedDict

from waypost.core.errors import Problem
from waypost.http import file_names
from waypost.items.bios import picture_names
from waypost.transfer.imports.archives.reader import ArchiveReader
from waypost.transfer.imports.source_row import Record
from waypost.transfer.imports.sources.fields import Fields

_MAX_LOGO = 2 << 20
_MAX_PICTURES = 4 << 20  # bytes of all pictures of a page
_MAX_NAME = 255


class Shape(TypedDict):
    """The sheet of a kind, its columns of counters, and the fields that the API takes."""

    sheet: str
    totals: Sequence[str]
    fields: Sequence[str]


class ArchiveSource:
    """The records of an archive of an account."""

    name = "waypost"

    def __init__(self, file: BinaryIO, shapes: Mapping[str, Shape]) -> None:
        """`shapes` describe the kinds of items, in the order of the records. Raises INVALID on `file`."""
        self.reader = ArchiveReader(file)
        self.ignored: list[str] = []
        self._shapes = shapes
        self._block_clicks: dict[int, tuple[int, int]] = {}
        self._campaigns: dict[int, str] = {}

    def __iter__(self) -> Iterator[Record]:
        """Yield all items. Raises INVALID on `file`."""
        for _, row in self.reader.rows("bio_blocks"):
            block = Fields(row)
            self._block_clicks[block.number("id")] = (block.number("clicks"), block.number("uniqueclicks"))
        makers: Mapping[str, Callable[[Record, Fields], None]] = {
            "domain": _add_domain,
            "campaign": self._add_campaign,
            "link": self._add_link,
            "bio": self._add_bio_page,
            "qr": self._add_qr_code,
            "file": self._add_file,
        }
        line = 0
        for kind, shape in self._shapes.items():
            for _, row in self.reader.rows(shape["sheet"]):
                line += 1
                fields = Fields(row)
                record = Record(line, kind=kind, alias=fields.text("alias"), created=fields.second("created"))
                record.source_id = source_id(self.reader.service, kind, fields.number("id"))
                record.totals = {name: fields.number(name) for name in self._shapes[kind]["totals"]}
                record.fields = {
                    name: row[name] for name in self._shapes[kind]["fields"] if row.get(name) not in (None, "", [], {})
                }
                if kind in makers:
                    makers[kind](record, fields)
                yield record

    def _add_campaign(self, record: Record, row: Fields) -> None:
        self._campaigns[row.number("id")] = row.text("name")[:_MAX_NAME]

    def _add_link(self, record: Record, row: Fields) -> None:
        record.host, record.url = row.text("host"), row.text("url")
        record.title, record.description = row.text("title"), row.text("description")
        record.expiry = row.second("expiry")
        record.clicklimit = row.number("clicklimit") or None
        record.folder = self._campaigns.get(row.number("campaign"), "")
        if row.text("status") == "private":
            record.fields["status"] = "private"
        if row.text("type") in ("frame", "splash"):
            record.fields["type"] = row.text("type")
        record.is_disabled = row.text("status") == "disabled" or row.is_true("haspassword")
        if row.is_true("haspassword"):
            record.losses.append("it had a password, which no archive contains: it is disabled until you set one")
        record.references = {
            "splash": row.number("splash"),
            "overlay": row.number("overlay"),
            "pixels": list(filter(None, (Fields({"id": pixel}).number("id") for pixel in row.values("pixels")[:100]))),
        }

    def _add_bio_page(self, record: Record, row: Fields) -> None:
        blocks = [block for block in row.values("blocks") if isinstance(block, dict)]
        ids = (Fields(block).number("id") for block in blocks)
        record.fields["blocks"] = [{name: value for name, value in block.items() if name != "id"} for block in blocks]
        design = record.fields.get("design")
        of_blocks = ((block, part) for block in record.fields["blocks"] for part in picture_names.BLOCK_PARTS)
        places = [(record.fields, "avatar"), *of_blocks]
        left = _MAX_PICTURES
        for place, name in [*places, *([(design, "picture")] if isinstance(design, dict) else [])]:
            if picture := place.pop(name, ""):
                left -= self._add_picture(record, place, name, picture, left)
        record.blocks = [(block, *self._block_clicks.get(block, (0, 0))) for block in ids]

    def _add_picture(self, record: Record, place: dict[str, Any], name: str, picture: object, left: int) -> int:
        """Add a picture that has at most `left` bytes; return its size."""
        entry = f"bio/{picture}.webp"
        content = self.reader.content(entry, min(_MAX_LOGO, left)) if picture_names.is_name(picture) else None
        if content is not None:
            place[name] = picture_names.DATA_PREFIX + base64.b64encode(content).decode()
            return len(content)
        if picture_names.is_name(picture) and self.reader.has(entry):
            record.losses.append(f"its {name} is left out: the pictures of a page can have {_MAX_PICTURES // 10**6} MB")
        else:
            record.losses.append(f"its {name} is not in the archive")
        return 0

    def _add_qr_code(self, record: Record, row: Fields) -> None:
        if row.is_true("haslogo"):
            logo = self.reader.content(f"qr/{row.number('id')}-logo.png", _MAX_LOGO)
            if logo is None:
                record.losses.append("its logo is not in the archive")
            else:
                record.fields["logo"] = "data:image/png;base64," + base64.b64encode(logo).decode()

    def _add_file(self, record: Record, row: Fields) -> None:
        """Describe the bytes in `stored`: Staging stores them, and replaces it by their metadata."""
        record.host, record.url = row.text("host"), row.text("filename")
        record.expiry = row.second("expiry")
        record.fields = {"name": row.text("name"), "maxdownloads": row.number("maxdownloads") or None}
        if row.is_true("haspassword"):
            record.is_disabled = True
            record.losses.append("it had a password, which no archive contains: it is locked until you set one")
        entry = self.reader.file_entry(row.number("id"))
        if entry is None:
            record.problem = "Its bytes are not in the archive."
            return
        try:
            filename = file_names.validate(record.url)
        except Problem as problem:
            record.problem = problem.message
            return
        sha256 = row.text("sha256")[:_MAX_NAME]
        record.stored = {"id": row.number("id"), "filename": filename, "size": entry.file_size, "sha256": sha256}


def _add_domain(record: Record, row: Fields) -> None:
    scheme, record.host = row.text("scheme")[:_MAX_NAME], row.text("host")
    record.fields["domain"] = f"{scheme}://{record.host}"


def source_id(service: str, kind: str, item: int) -> str:
    """Return the id of an item of a service, by its kind and its number there: the same in each of its archives."""
    return f"{service} {kind} {item}"
