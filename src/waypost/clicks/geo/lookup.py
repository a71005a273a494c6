"""In which country an address is, by the best table that this machine has. Without one every country is Unknown."""

import ipaddress
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import structlog

from waypost.clicks.geo import countries
from waypost.clicks.geo.countries import UNKNOWN
from waypost.clicks.geo.databases import Address, Broken, Mmdb, Table, TorTables
from waypost.settings import Settings

TOR = Path("/usr/share/tor")
"""Where Debian's tor-geoipdb puts its tables."""

Source = Literal["setting", "update", "tor-geoipdb", "none"]

_log = structlog.get_logger("geo")
_CHECK_SECONDS = 60
_REMEMBERED = 65_536
_LONGEST_ADDRESS = 45


@dataclass(frozen=True)
class Status:
    """The table in use: named by WAYPOST_GEO_FILE, fetched by `waypost geo update`, or that of tor-geoipdb.

    `built` is in seconds since 1970, 0 when unknown; `credit` is what its licence wants shown; `problem` says why a
    table that should be in use is not, or "".
    """

    source: Source
    file: str
    built: int
    entries: int
    credit: str
    problem: str


def fetched_file(settings: Settings) -> Path:
    """Where `waypost geo update` puts the table."""
    return settings.data_dir / "geo" / "country.mmdb"


class Countries:
    """Countries by address. Any thread may ask. The table is opened for the first public address, and again when its
    file has changed, which is looked for at most once a minute. It fails open: what is wrong is logged once.
    """

    def __init__(self, settings: Settings, *, tor: Path = TOR) -> None:
        self._named = settings.geo_file
        self._fetched = fetched_file(settings)
        self._tor = tor
        self._lock = threading.Lock()
        self._due = 0.0
        self._seen: object = None
        self._opened: tuple[Source, Path, Table] | None = None
        self._problem = ""
        self._country: Callable[[str], str] = lambda _address: UNKNOWN

    def country(self, address: str) -> str:
        """The English name of the country of an IP address; "Unknown" for private, unknown and broken ones."""
        if time.monotonic() >= self._due:
            if self._seen is None and _public(address) is None:
                return UNKNOWN  # nothing to open a table for
            self.reload()
        return self._country(address) if len(address) <= _LONGEST_ADDRESS else UNKNOWN

    def name_of(self, code: str) -> str:
        """The English name for a proxy's two-letter code in either case; "Unknown" for `XX`, `T1` and the like."""
        return countries.name_of(code)

    def reload(self) -> None:
        """Look now whether there is another table or a newer one, and use it."""
        with self._lock:
            self._due = time.monotonic() + _CHECK_SECONDS
            source, file = self._choice()
            seen = (source, _signature(file), _signature(file.with_name("geoip6")) if source == "tor-geoipdb" else None)
            if seen != self._seen:
                self._seen = seen if self._open(source, file) else None

    def status(self) -> Status:
        """What is in use now."""
        self.reload()
        with self._lock:
            if self._opened is None:
                return Status("none", self._named, 0, 0, "", self._problem)
            source, file, table = self._opened
            return Status(source, str(file), table.built, table.entries, table.credit, self._problem)

    def _choice(self) -> tuple[Source, Path]:
        if self._named:
            return "setting", Path(self._named)
        if _signature(self._fetched):
            return "update", self._fetched
        return ("tor-geoipdb" if _signature(self._tor / "geoip") else "none"), self._tor / "geoip"

    def _open(self, source: Source, file: Path) -> bool:
        """Put another table in use. One that cannot be read leaves the one from the same file in use."""
        table: Table | None = None
        try:
            if source != "none":
                table = TorTables(file.parent) if source == "tor-geoipdb" else Mmdb(file)
        except Broken as broken:
            self._complain(str(broken))
            if self._opened is not None and self._opened[1] == file and _signature(file):
                return False
        else:
            self._problem = ""
        self._opened = (source, file, table) if table is not None else None
        # A new cache for a new table, so that no answer of the old one gets into it.
        self._country = lru_cache(_REMEMBERED)(partial(self._look_up, table)) if table is not None else _nowhere
        return table is not None or source == "none"

    def _look_up(self, table: Table, address: str) -> str:
        parsed = _public(address)
        if parsed is None:
            return UNKNOWN
        try:
            return countries.name_of(table.code(parsed))
        except Broken as broken:
            self._complain(str(broken))
            return UNKNOWN

    def _complain(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            _log.warning("countries are not known", problem=problem)


def _nowhere(_address: str) -> str:
    return UNKNOWN


def _public(address: str) -> Address | None:
    """The address, if it is one of the open internet; an IPv4 address also out of its IPv6 form."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.scope_id is not None:
            return None
        parsed = parsed.ipv4_mapped or parsed
    return parsed if parsed.is_global else None


def _signature(file: Path) -> tuple[int, int, int] | None:
    """What changes when a file does."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
