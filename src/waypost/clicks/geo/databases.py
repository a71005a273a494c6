"""The two sorts of table that tell a country from an address: MaxMind's .mmdb format, and those of Tor."""

import re
import shutil
import socket
import tempfile
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Protocol

import maxminddb

Address = IPv4Address | IPv6Address
DBIP_CREDIT = "IP Geolocation by DB-IP, https://db-ip.com, CC BY 4.0"
IPFIRE_CREDIT = "IPFire Location database, https://location.ipfire.org, CC BY-SA 4.0"

_GENERATED = re.compile(r"#\s*Generated:\s*(.+)")


class Broken(Exception):
    """The table cannot be read; the message says why."""


class Table(Protocol):
    """`built` is in seconds since 1970, 0 when the table does not say; `credit` names whose work it is."""

    built: int
    entries: int
    credit: str

    def code(self, address: Address) -> str:
        """The two-letter code that the table has for a public address, or "". Raises Broken."""
        ...


class Mmdb:
    """A .mmdb file of any maker. `entries` counts the nodes of its search tree."""

    def __init__(self, path: Path) -> None:
        """Opens a private copy, as whoever writes over a mapped file kills its readers. Raises Broken."""
        try:
            with tempfile.NamedTemporaryFile(prefix="waypost-geo-") as copy:
                with path.open("rb") as file:
                    shutil.copyfileobj(file, copy)
                copy.flush()
                self._reader = maxminddb.open_database(copy.name)
        except OSError as error:
            raise Broken(f"{path} cannot be read: {error.strerror or error}") from error
        except (maxminddb.InvalidDatabaseError, ValueError) as error:
            raise Broken(f"{path} is not an .mmdb file") from error
        about = self._reader.metadata()
        self._version = about.ip_version
        self._path = path
        self.built = about.build_epoch
        self.entries = about.node_count
        self.credit = DBIP_CREDIT if about.database_type.startswith("DBIP") else ""

    def code(self, address: Address) -> str:
        """As Table."""
        if address.version > self._version:
            return ""
        try:
            return _code_in(self._reader.get(address))
        except (maxminddb.InvalidDatabaseError, ValueError) as error:
            raise Broken(f"{self._path} is damaged") from error  # its own words name the visitor's address


def _code_in(record: Any) -> str:
    """The code in a record as MaxMind and DB-IP, IPinfo, or ip-location-db write them."""
    match record:
        case {"country": {"iso_code": str(code)}} | {"country_code": str(code)} | {"country": str(code)}:
            return code
        case {"registered_country": {"iso_code": str(code)}}:
            return code
        case _:
            return ""


class TorTables:
    """The files `geoip` and `geoip6` of Debian's tor-geoipdb: lines of first address, last address, code, in order.

    They take 2 bytes and an address a range in memory, 10 MB in all, and a second to read.
    """

    credit = IPFIRE_CREDIT

    def __init__(self, folder: Path) -> None:
        """Raises Broken."""
        four, six = folder / "geoip", folder / "geoip6"
        self.built = 0
        self._four = self._read(four, 4, lambda text: int(text).to_bytes(4, "big"))
        self._six = self._read(six, 16, lambda text: socket.inet_pton(socket.AF_INET6, text)) if six.exists() else None
        self.entries = self._four.entries + (self._six.entries if self._six else 0)

    def code(self, address: Address) -> str:
        """As Table."""
        ranges = self._four if address.version == 4 else self._six
        return ranges.code(address.packed) if ranges else ""

    def _read(self, path: Path, width: int, pack: Callable[[str], bytes]) -> "_Ranges":
        ranges = _Ranges(width)
        line = ""
        try:
            with path.open(encoding="utf-8") as file:
                for line in file:
                    if line[0] == "#":
                        self._note(line)
                    elif line != "\n":
                        first, last, code = line.split(",")
                        ranges.add(pack(first), pack(last), code.strip())
        except OSError as error:  # also what inet_pton says of a text that is no address
            why = f"cannot be read: {error.strerror}" if error.errno else f"is damaged: {line[:80]!r}"
            raise Broken(f"{path} {why}") from error
        except (ValueError, OverflowError) as error:
            raise Broken(f"{path} is damaged: {line[:80]!r}") from error
        return ranges

    def _note(self, line: str) -> None:
        found = _GENERATED.match(line)
        if found:
            with suppress(ValueError):
                self.built = int(parsedate_to_datetime(found[1]).timestamp())


class _Ranges:
    """Ranges of addresses without overlap, as the bytes of where each begins, and where nothing follows it."""

    def __init__(self, width: int) -> None:
        self.entries = 0
        self._starts = _Keys(width)
        self._of = array("H")
        self._codes = [""]
        self._numbers = {"": 0}
        self._next = 0  # the first address behind the last range

    def add(self, first: bytes, last: bytes, code: str) -> None:
        """Append a range that lies behind all others. Raises ValueError for one that does not."""
        begin, end = int.from_bytes(first, "big"), int.from_bytes(last, "big")
        if not self._next <= begin <= end:
            raise ValueError("out of order")
        if begin > self._next:
            self._begin(self._next.to_bytes(len(first), "big"), "")
        self._begin(first, code)
        self.entries += 1
        self._next = end + 1

    def code(self, packed: bytes) -> str:
        """The code of the range around an address, or ""."""
        place = bisect_right(self._starts, packed) - 1
        if place < 0 or (place == len(self._of) - 1 and int.from_bytes(packed, "big") >= self._next):
            return ""
        return self._codes[self._of[place]]

    def _begin(self, first: bytes, code: str) -> None:
        if code not in self._numbers:
            self._numbers[code] = len(self._codes)
            self._codes.append(code)
        self._starts.append(first)
        self._of.append(self._numbers[code])


class _Keys(Sequence[bytes]):
    """Many byte strings of one width, end to end: a tenth of the memory of a list of them."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._all = bytearray()

    def append(self, key: bytes) -> None:
        self._all += key

    def __len__(self) -> int:
        return len(self._all) // self._width

    def __getitem__(self, place: Any) -> Any:
        begin = place * self._width
        return bytes(self._all[begin : begin + self._width])
