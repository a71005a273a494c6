"""Download a country database: by default this month's free DB-IP Lite (CC BY 4.0)."""

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from waypost.clicks.geo import countries
from waypost.clicks.geo.databases import DatabaseError, Mmdb
from waypost.core import clock, data_files
from waypost.core.data_files import inherit_owner, make_folder
from waypost.core.errors import Kind, Problem
from waypost.http import safe_client
from waypost.http.safe_client import FetchedResponse, Resolver

_DBIP = "https://download.db-ip.com/free/dbip-{kind}-lite-{month:%Y-%m}.mmdb.gz"
_MAX_COMPRESSED_BYTES = 128 * 1024 * 1024
_MAX_BYTES = 512 * 1024 * 1024
_TIMEOUT_SECONDS = 300
_CHUNK_BYTES = 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_PROBE = IPv4Address("8.8.8.8")  # present in every worldwide database


@dataclass(frozen=True)
class UpdateResult:
    """The installed database. `built` is in seconds since 1970."""

    url: str
    file: str
    built: int
    credit: str


def update(
    file: Path, *, url: str = "", with_cities: bool = False, resolver: Resolver = safe_client.resolve
) -> UpdateResult:
    """Download a database, gzipped or not, check it, and replace `file` atomically.

    Raises UNAVAILABLE if the download fails and INVALID if it is not a country database; `file` is then unchanged.
    """
    source_url, compressed = _fetch([url] if url else _monthly_urls("city" if with_cities else "country"), resolver)
    try:
        make_folder(file.parent)
        with data_files.replacing(file) as part:
            part.writelines(_decompress(compressed, source_url))
            data_files.sync(part)
            database = _check(Path(part.name), source_url)
            inherit_owner(Path(part.name))
    except OSError as error:
        raise Problem(Kind.UNAVAILABLE, f"{file} cannot be written: {error.strerror or error}.") from error
    return UpdateResult(source_url, str(file), database.built, database.credit)


def _monthly_urls(kind: str) -> list[str]:
    """Return this month's URL and last month's, which is used until this month's database is published."""
    month = datetime.fromtimestamp(clock.now(), UTC).replace(day=1)
    return [_DBIP.format(kind=kind, month=each) for each in (month, month - timedelta(days=1))]


def _fetch(urls: list[str], resolver: Resolver) -> tuple[str, bytes]:
    response = FetchedResponse(0, {}, b"")
    for url in urls:
        try:
            response = safe_client.fetch(
                url, max_bytes=_MAX_COMPRESSED_BYTES, seconds=_TIMEOUT_SECONDS, resolver=resolver
            )
        except safe_client.Refused as refused:
            message = f"Cannot download {url}: {refused}. To use a local .mmdb file, set WAYPOST_GEO_FILE."
            raise Problem(Kind.UNAVAILABLE, message) from refused
        if response.status == 200:
            return url, response.body
    raise Problem(Kind.UNAVAILABLE, f"Cannot download {urls[-1]}: the server responded with status {response.status}.")


def _decompress(compressed: bytes, url: str) -> Iterator[bytes]:
    if not compressed.startswith(_GZIP_MAGIC):
        yield compressed
        return
    size = 0
    try:
        with gzip.open(io.BytesIO(compressed)) as file:
            while chunk := file.read(_CHUNK_BYTES):
                size += len(chunk)
                if size > _MAX_BYTES:
                    raise Problem(Kind.INVALID, f"{url} is larger than {_MAX_BYTES} bytes when decompressed.")
                yield chunk
    except EOFError as error:
        raise Problem(Kind.INVALID, f"{url} is damaged: it is truncated.") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Problem(Kind.INVALID, f"{url} is damaged: it cannot be decompressed.") from error


def _check(part: Path, url: str) -> Mmdb:
    try:
        database = Mmdb(part)
        code = database.code(_PROBE)
    except DatabaseError as error:
        raise Problem(Kind.INVALID, f"{url} is not an .mmdb file, or is damaged.") from error
    if countries.name_of(code) == countries.UNKNOWN:
        raise Problem(Kind.INVALID, f"{url} is not a country database: it has no country for {_PROBE}.")
    return database
