"""Look up country, region and city of an IP address in the best database on this machine, else "Unknown"."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import structlog

from waypost.clicks.geo import countries
from waypost.clicks.geo.countries import UNKNOWN, Place
from waypost.clicks.geo.databases import CountryDatabase, DatabaseError, Mmdb, TorTables
from waypost.core import ip_networks
from waypost.core.ip_networks import Address
from waypost.core.settings import Settings

TOR_FOLDER = Path("/usr/share/tor")
"""The folder of Debian's tor-geoipdb."""

Source = Literal["setting", "update", "tor-geoipdb", "none"]

_log = structlog.get_logger("geo")
_RELOAD_INTERVAL_SECONDS = 60
_CACHE_SIZE = 65_536
_MAX_ADDRESS_LENGTH = 45


@dataclass(frozen=True)
class Status:
    """The database in use: set by WAYPOST_GEO_FILE, downloaded by `waypost geo update`, or of tor-geoipdb.

    `built` is in seconds since 1970, 0 if unknown. `credit` is the attribution that its license requires. `problem`
    says why a configured database is not in use, or is "".
    """

    source: Source
    file: str
    built: int
    entries: int
    credit: str
    problem: str


def downloaded_file(settings: Settings) -> Path:
    """Return the path of the database that `waypost geo update` downloads."""
    return settings.data_dir / "geo" / "country.mmdb"


def is_configured(settings: Settings) -> bool:
    """Return whether countries have a source: a trusted proxy, or a country database, which may be damaged."""
    if settings.country_header and settings.trusted_proxies:
        return True
    return bool(settings.geo_file) or downloaded_file(settings).exists() or (TOR_FOLDER / "geoip").exists()


class Countries:
    """Country lookup. Thread-safe.

    The database is opened for the first public address and reopened when its file changes, which is checked at most
    once a minute. Fails open: the country is "Unknown" and the problem is logged once.
    """

    def __init__(self, settings: Settings, *, tor: Path = TOR_FOLDER) -> None:
        self._configured = settings.geo_file
        self._downloaded = downloaded_file(settings)
        self._tor = tor
        self._lock = threading.Lock()
        self._next_check = 0.0
        self._signature: object = None
        self._opened: tuple[Source, Path, CountryDatabase] | None = None
        self._problem = ""
        self._country: Callable[[str], str] = _unknown
        self._place: Callable[[str], Place] = _unknown_place

    def country(self, address: str) -> str:
        """Return the English country name of an IP address; "Unknown" for private, unknown and invalid ones."""
        if time.monotonic() >= self._next_check:
            if self._signature is None and _public(address) is None:
                return UNKNOWN  # do not open a database for it
            self.reload()
        return self._country(address) if len(address) <= _MAX_ADDRESS_LENGTH else UNKNOWN

    def place(self, address: str) -> Place:
        """Return the region and the city of an IP address, each with what it lies in, such as "Munich, Bavaria, DE"."""
        self.country(address)  # opens the database
        return self._place(address) if len(address) <= _MAX_ADDRESS_LENGTH else _unknown_place(address)

    def reload(self) -> None:
        """Check now for another or newer database, and use it."""
        with self._lock:
            self._next_check = time.monotonic() + _RELOAD_INTERVAL_SECONDS
            source, file = self._choose_database()
            ipv6_table = _signature(file.with_name("geoip6")) if source == "tor-geoipdb" else None
            signature = source, _signature(file), ipv6_table
            if signature != self._signature:
                self._signature = signature if self._open(source, file) else None

    def status(self) -> Status:
        """Return the database in use."""
        self.reload()
        with self._lock:
            if self._opened is None:
                return Status("none", self._configured, 0, 0, "", self._problem)
            source, file, database = self._opened
            return Status(source, str(file), database.built, database.entries, database.credit, self._problem)

    def _choose_database(self) -> tuple[Source, Path]:
        if self._configured:
            return "setting", Path(self._configured)
        if _signature(self._downloaded):
            return "update", self._downloaded
        return ("tor-geoipdb" if _signature(self._tor / "geoip") else "none"), self._tor / "geoip"

    def _open(self, source: Source, file: Path) -> bool:
        """Use another database. If it cannot be read, keep the previous version of the same file."""
        database: CountryDatabase | None = None
        try:
            if source != "none":
                database = TorTables(file.parent) if source == "tor-geoipdb" else Mmdb(file)
        except DatabaseError as error:
            self._report(str(error))
            if self._opened is not None and self._opened[1] == file and _signature(file):
                return False
        else:
            self._problem = ""
        self._opened = (source, file, database) if database is not None else None
        # Each database has its own cache, so that no outdated result is served.
        self._country = lru_cache(_CACHE_SIZE)(partial(self._look_up, database)) if database is not None else _unknown
        self._place = (
            lru_cache(_CACHE_SIZE)(partial(self._look_up_place, database)) if database is not None else _unknown_place
        )
        return database is not None or source == "none"

    def _look_up(self, database: CountryDatabase, address: str) -> str:
        public = _public(address)
        try:
            return countries.name_of(database.code(public)) if public else UNKNOWN
        except DatabaseError as error:
            self._report(str(error))
            return UNKNOWN

    def _look_up_place(self, database: CountryDatabase, address: str) -> Place:
        public = _public(address)
        try:
            region, city = database.place(public) if public else ("", "")
        except DatabaseError as error:
            self._report(str(error))
            region = city = ""
        return region or UNKNOWN, city or UNKNOWN

    def _report(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            _log.warning("country lookup failed", reason=problem)


def _unknown(_address: str) -> str:
    return UNKNOWN


def _unknown_place(_address: str) -> Place:
    return UNKNOWN, UNKNOWN


def _public(address: str) -> Address | None:
    """Return the address if it is public. An IPv4-mapped IPv6 address becomes an IPv4 address."""
    parsed = None if "%" in address else ip_networks.parse(address)
    return parsed if parsed is not None and ip_networks.is_public(parsed) else None


def _signature(file: Path) -> tuple[int, int, int] | None:
    """Return modification time, size and inode of a file, to detect changes; None if it is missing."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
