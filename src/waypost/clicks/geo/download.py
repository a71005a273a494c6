"""Fetches a country table from the internet: by default the free DB-IP Lite of this month (CC BY 4.0)."""

import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from waypost import clock
from waypost.clicks.geo import countries
from waypost.clicks.geo.databases import Broken, Mmdb
from waypost.errors import Kind, Problem
from waypost.http import safe_client
from waypost.http.safe_client import FetchedResponse, Resolver

_DBIP = "https://download.db-ip.com/free/dbip-country-lite-{:%Y-%m}.mmdb.gz"
_MOST_PACKED = 128 * 1024 * 1024
_MOST_UNPACKED = 512 * 1024 * 1024
_SECONDS = 300
_PIECE = 1024 * 1024
_GZIP = b"\x1f\x8b"
_PROBE = IPv4Address("8.8.8.8")  # an address that every table of the world knows


@dataclass(frozen=True)
class Updated:
    """The table that is now in place: where it is from, when it was built (seconds since 1970), what it is."""

    url: str
    file: str
    built: int
    entries: int
    credit: str


def update(file: Path, *, url: str = "", resolver: Resolver = safe_client.resolve) -> Updated:
    """Fetch a table, packed by gzip or not, try it, and put it in the place of `file` in one step.

    Raises UNAVAILABLE when it cannot be fetched and INVALID when it is no table; `file` is then as it was.
    """
    used, packed = _get([url] if url else _months(), resolver)
    part = ""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".country-", suffix=".part", delete=False) as out:
            part = out.name
            for piece in _unpacked(packed, used):
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
        table = _tried(Path(part), used)
        Path(part).chmod(0o644)  # the service may run as somebody else
        Path(part).replace(file)
    except OSError as error:
        raise Problem(Kind.UNAVAILABLE, f"{file} cannot be written: {error.strerror or error}.") from error
    finally:
        if part:
            with suppress(OSError):
                Path(part).unlink(missing_ok=True)
    return Updated(used, str(file), table.built, table.entries, table.credit)


def _months() -> list[str]:
    """This month's table, and last month's for the days before this month's is there."""
    this = datetime.fromtimestamp(clock.now(), UTC).replace(day=1)
    return [_DBIP.format(this), _DBIP.format(this - timedelta(days=1))]


def _get(urls: list[str], resolver: Resolver) -> tuple[str, bytes]:
    answer = FetchedResponse(0, {}, b"")
    for url in urls:
        try:
            answer = safe_client.fetch(url, max_bytes=_MOST_PACKED, seconds=_SECONDS, resolver=resolver)
        except safe_client.Refused as refused:
            told = f"{url} cannot be fetched: {refused}. WAYPOST_GEO_FILE takes an .mmdb file that is here already."
            raise Problem(Kind.UNAVAILABLE, told) from refused
        if answer.status == 200:
            return url, answer.body
    raise Problem(Kind.UNAVAILABLE, f"{urls[-1]} cannot be fetched: it answers {answer.status}.")


def _unpacked(packed: bytes, url: str) -> Iterator[bytes]:
    if not packed.startswith(_GZIP):
        yield packed
        return
    unpacking = zlib.decompressobj(wbits=31)
    size = 0
    while not unpacking.eof:
        try:
            piece = unpacking.decompress(packed, _PIECE)
        except zlib.error as error:
            raise Problem(Kind.INVALID, f"{url} is damaged: it cannot be unpacked.") from error
        packed = unpacking.unconsumed_tail
        size += len(piece)
        if size > _MOST_UNPACKED:
            raise Problem(Kind.INVALID, f"{url} is larger than {_MOST_UNPACKED} bytes when unpacked.")
        if not piece and not packed and not unpacking.eof:
            raise Problem(Kind.INVALID, f"{url} is damaged: its end is missing.")
        yield piece


def _tried(part: Path, url: str) -> Mmdb:
    try:
        table = Mmdb(part)
        code = table.code(_PROBE)
    except Broken as broken:
        raise Problem(Kind.INVALID, f"{url} is not an .mmdb file, or a damaged one.") from broken
    if countries.name_of(code) == countries.UNKNOWN:
        raise Problem(Kind.INVALID, f"{url} is no table of countries: it has none for {_PROBE}.")
    return table
