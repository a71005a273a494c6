"""The width and height of pictures of bio pages, read from the headers of our own WebP copies."""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, LargeBinary, bindparam, func, select

from waypost.db.schema import bio_pictures

Size = tuple[int, int]
"""Width and height, in pixels."""
HEADER_BYTES = 30
"""The bytes at the beginning of a WebP file that contain its size."""
_PREFIX = "picture-"
_c = bio_pictures.c
_HEADERS = select(_c.id, func.substr(_c.data, 1, HEADER_BYTES, type_=LargeBinary).label("header")).where(
    _c.account == bindparam("account"), _c.id.in_(bindparam("ids", expanding=True))
)


def read_sizes(tx: Connection, account: int, names: Iterable[str]) -> Mapping[str, Size]:
    """Return the sizes of pictures of the account by their names, such as `picture-12`."""
    ids = [int(name.removeprefix(_PREFIX)) for name in names]
    if not ids:
        return {}
    headers = tx.execute(_HEADERS, {"account": account, "ids": ids})
    sizes = {f"{_PREFIX}{row.id}": size_of(bytes(row.header)) for row in headers}
    return {name: size for name, size in sizes.items() if size is not None}


def size_of(header: bytes) -> Size | None:
    """Return the size of a WebP picture from its first bytes; None for other bytes (RFC 9649, sections 2.5 to 2.7)."""
    if len(header) < HEADER_BYTES or header[:4] != b"RIFF" or header[8:12] != b"WEBP":
        return None
    match header[12:16]:
        case b"VP8 ":
            return _number(header[26:28]) & 0x3FFF, _number(header[28:30]) & 0x3FFF
        case b"VP8L":
            bits = _number(header[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return _number(header[24:27]) + 1, _number(header[27:30]) + 1
    return None


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")
