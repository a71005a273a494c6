"""The width and height of pictures of bio pages, read from the headers of our own WebP copies."""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, LargeBinary, bindparam, func, select

from waypost.db.schema import bio_pictures
from waypost.http.picture_headers import WEBP_BYTES, Size, size_of

_PREFIX = "picture-"
_c = bio_pictures.c
_HEADERS = select(_c.id, func.substr(_c.data, 1, WEBP_BYTES, type_=LargeBinary).label("header")).where(
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
