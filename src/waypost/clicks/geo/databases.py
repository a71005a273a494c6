"""Country databases in two formats: MaxMind's .mmdb, and the tables of Debian's tor-geoipdb."""

import re
import shutil
import socket
import tempfile
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Protocol

import maxminddb

from waypost.core.ip_networks import Address

DBIP_CREDIT = "IP Geolocation by DB-IP, https://db-ip.com, CC BY 4.0"
IPFIRE_CREDIT = "IPFire Location database, https://location.ipfire.org, CC BY-SA 4.0"

_MAX_NAME = 60
_GENERATED = re.compile(r"#\s*Generated:\s*(.+)")


class DatabaseError(Exception):
    """The database cannot be read. The message says why."""


class CountryDatabase(Protocol):
    """`built` is in seconds since 1970, 0 if unknown. `credit` is the attribution that its license requires."""

    built: int
    entries: int
    credit: str

    def code(self, address: Address) -> str:
        """Return the two-letter code for a public address, or "". Raises DatabaseError."""
        ...

    def place(self, address: Address) -> tuple[str, str]:
        """Return the region and the city of a public address, "" if they are unknown. Raises DatabaseError."""
        ...


class Mmdb:
    """An .mmdb file of any provider. `entries` is the number of nodes in its search tree."""

    def __init__(self, path: Path) -> None:
        """Open a private copy: overwriting a mapped file would crash this process. Raises DatabaseError."""
        try:
            with tempfile.NamedTemporaryFile(prefix="waypost-geo-") as copy:
                with path.open("rb") as file:
                    shutil.copyfileobj(file, copy)
                copy.flush()
                self._reader = maxminddb.open_database(copy.name)
        except OSError as error:
            raise DatabaseError(f"{path} cannot be read: {error.strerror or error}") from error
        except (maxminddb.InvalidDatabaseError, ValueError) as error:
            raise DatabaseError(f"{path} is not an .mmdb file") from error
        metadata = self._reader.metadata()
        self._version = metadata.ip_version
        self._path = path
        self.built = metadata.build_epoch
        self.entries = metadata.node_count
        self.credit = DBIP_CREDIT if metadata.database_type.startswith("DBIP") else ""

    def code(self, address: Address) -> str:
        """See CountryDatabase.code."""
        return _code_in(self._record(address))

    def place(self, address: Address) -> tuple[str, str]:
        """See CountryDatabase.place. Names are English and contain those around them: "Munich, Bavaria, DE"."""
        record = self._record(address)
        region, city = _region_in(record), _city_in(record)
        around = [name for name in (region, _code_in(record).upper()) if name]
        return ", ".join(around if region else []), ", ".join([city, *around] if city else [])

    def _record(self, address: Address) -> Any:
        if address.version > self._version:
            return None
        try:
            return self._reader.get(address)
        except (maxminddb.InvalidDatabaseError, ValueError) as error:
            raise DatabaseError(f"{self._path} is damaged") from error  # its message contains the address


def _code_in(record: Any) -> str:
    """Return the code in a record of MaxMind, DB-IP, IPinfo or ip-location-db."""
    match record:
        case {"country": {"iso_code": str(code)}} | {"country_code": str(code)} | {"country": str(code)}:
            return code
        case {"registered_country": {"iso_code": str(code)}}:
            return code
        case _:
            return ""


def _region_in(record: Any) -> str:
    """Return the largest region in a record, as `_code_in`."""
    match record:
        case {"subdivisions": [{"names": {"en": str(name)}}, *_]} | {"region": str(name)} | {"state1": str(name)}:
            return name[:_MAX_NAME]
        case _:
            return ""


def _city_in(record: Any) -> str:
    match record:
        case {"city": {"names": {"en": str(name)}}} | {"city": str(name)}:
            return name[:_MAX_NAME]
        case _:
            return ""


class TorTables:
    """The files `geoip` and `geoip6` of Debian's tor-geoipdb: sorted lines of first address, last address, code.

    Reading them takes a second. In memory they take one address and 2 bytes per range, 10 MB in total.
    """

    credit = IPFIRE_CREDIT

    def __init__(self, folder: Path) -> None:
        """Raises DatabaseError."""
        ipv4, ipv6 = folder / "geoip", folder / "geoip6"
        self.built = 0
        self._ipv4 = self._read(ipv4, 4, lambda text: int(text).to_bytes(4, "big"))
        self._ipv6 = (
            self._read(ipv6, 16, lambda text: socket.inet_pton(socket.AF_INET6, text)) if ipv6.exists() else None
        )
        self.entries = self._ipv4.entries + (self._ipv6.entries if self._ipv6 else 0)

    def code(self, address: Address) -> str:
        """See CountryDatabase.code."""
        ranges = self._ipv4 if address.version == 4 else self._ipv6
        return ranges.code(address.packed) if ranges else ""

    def place(self, address: Address) -> tuple[str, str]:
        """Return nothing: the tables have countries only."""
        return "", ""

    def _read(self, path: Path, width: int, pack: Callable[[str], bytes]) -> "_Ranges":
        ranges = _Ranges(width)
        line = ""
        try:
            with path.open(encoding="utf-8") as file:
                for line in file:
                    if line[0] == "#":
                        self._read_build_time(line)
                    elif line != "\n":
                        first, last, code = line.split(",")
                        ranges.add(pack(first), pack(last), code.strip())
        except OSError as error:  # inet_pton raises it for an invalid address, too
            cause = f"{path} cannot be read: {error.strerror}" if error.errno else f"{path} is damaged: {line[:80]!r}"
            raise DatabaseError(cause) from error
        except (ValueError, OverflowError) as error:
            raise DatabaseError(f"{path} is damaged: {line[:80]!r}") from error
        return ranges

    def _read_build_time(self, line: str) -> None:
        match = _GENERATED.match(line)
        if match:
            with suppress(ValueError):
                self.built = int(parsedate_to_datetime(match[1]).timestamp())


class _Ranges:
    """Sorted address ranges without overlap, stored as start addresses. Gaps are ranges without a code."""

    def __init__(self, width: int) -> None:
        self.entries = 0
        self._starts = _PackedKeys(width)
        self._code_indexes = array("H")
        self._codes = [""]
        self._index_of_code = {"": 0}
        self._next = 0  # the first address after the last range

    def add(self, first: bytes, last: bytes, code: str) -> None:
        """Append a range that follows all others. Raises ValueError if it does not."""
        start, end = int.from_bytes(first, "big"), int.from_bytes(last, "big")
        if not self._next <= start <= end:
            raise ValueError
        if start > self._next:
            self._append(self._next.to_bytes(len(first), "big"), "")
        self._append(first, code)
        self.entries += 1
        self._next = end + 1

    def code(self, packed: bytes) -> str:
        """Return the code of the range that contains an address, or ""."""
        index = bisect_right(self._starts, packed) - 1
        if index < 0 or (index == len(self._code_indexes) - 1 and int.from_bytes(packed, "big") >= self._next):
            return ""
        return self._codes[self._code_indexes[index]]

    def _append(self, first: bytes, code: str) -> None:
        if code not in self._index_of_code:
            self._index_of_code[code] = len(self._codes)
            self._codes.append(code)
        self._starts.append(first)
        self._code_indexes.append(self._index_of_code[code])


class _PackedKeys(Sequence[bytes]):
    """Byte strings of one width in one buffer: a tenth of the memory of a list."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._buffer = bytearray()

    def append(self, key: bytes) -> None:
        self._buffer += key

    def __len__(self) -> int:
        return len(self._buffer) // self._width

    def __getitem__(self, index: Any) -> Any:
        start = index * self._width
        return bytes(self._buffer[start : start + self._width])
