"""Countries: the best table of this machine is used, a new one is taken up, and a bad one harms nothing."""

import gzip
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mmdb import mmdb
from waypost.clicks.geo import lookup
from waypost.clicks.geo.countries import NAMES, name_of
from waypost.clicks.geo.lookup import Countries, Status, downloaded_file
from waypost.core.settings import Settings

BUILT = 1_750_000_000  # 2025-06-15
NETWORKS = {
    "8.8.8.0/24": {"country": {"iso_code": "US", "names": {"en": "somewhere"}}},
    "80.67.0.0/16": {"country": {"iso_code": "FR"}},
    "217.0.0.0/13": {"country": {"iso_code": "DE"}},
    "2a02:8070::/32": {"country": {"iso_code": "DE"}},
    "5.44.0.0/16": {"continent": {"code": "EU"}},
    "5.45.0.0/16": {"country": {"iso_code": "XX"}},
}
TOR_FOUR = """# Generated: Thu, 25 Jun 2026 04:33:59 GMT
#
134744064,134744319,US
134744320,134744575,??
3640655872,3641180159,DE
"""
TOR_SIX = """# Generated: Thu, 25 Jun 2026 04:33:59 GMT
2a00:1450::,2a00:1450:ffff:ffff:ffff:ffff:ffff:ffff,IE
2a02:8070::,2a02:8070:ffff:ffff:ffff:ffff:ffff:ffff,DE
2a02:8071:0:1::10,2a02:8071:0:1::1f,FR
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


@pytest.fixture
def tor(tmp_path: Path) -> Path:
    """The empty folder of tor-geoipdb."""
    folder = tmp_path / "tor"
    folder.mkdir()
    return folder


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The reasons that are logged."""
    reasons: list[str] = []
    monkeypatch.setattr(lookup._log, "warning", lambda _event, *, reason: reasons.append(reason), raising=False)
    return reasons


def _put(file: Path, content: bytes) -> Path:
    """Write a file as a good neighbour does: in one step."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_bytes(content)
    return part.replace(file)


def _with(settings: Settings, tor: Path, *, table: bytes | None = None) -> Countries:
    if table is not None:
        _put(downloaded_file(settings), table)
    return Countries(settings, tor=tor)


def _named(tmp_path: Path, tor: Path, content: bytes) -> tuple[Path, Countries]:
    file = _put(tmp_path / "named.mmdb", content)
    return file, Countries(Settings(data_dir=tmp_path, geo_file=str(file)), tor=tor)


def _cases(**codes_by_country: str) -> list[tuple[str, str]]:
    """(address, country) for the addresses of each country; `_` stands for a blank."""
    return [(code, country.replace("_", " ")) for country, codes in codes_by_country.items() for code in codes.split()]


@pytest.mark.parametrize(
    ("address", "country"),
    [
        *_cases(
            United_States="8.8.8.8 ::ffff:8.8.8.8 ::ffff:808:808",
            France="80.67.169.12",
            Germany="217.0.43.145 2a02:8070:1:2::3 2A02:8070:0001:0002:0000:0000:0000:0003",
            Unknown="1.1.1.1 2a00:1450::1 5.44.1.1 5.45.1.1",
        ),
        *_cases(Unknown="127.0.0.1 10.0.0.1 192.168.1.1 100.64.0.1 169.254.1.1 ::1 :: fe80::1 fc00::1 ::ffff:10.0.0.1"),
        *_cases(Unknown="8.8.8 8.8.8.8.8 08.8.8.8 8.8.8.8:80 [2a02:8070::1] 2a02:8070::1%x fe80::1%eth0 testclient"),
        *((broken, "Unknown") for broken in ("", " 8.8.8.8", "8.8.8.8\n", "8.8.8.8\0", "\ud800", "8" * 10_000)),
    ],
)
def test_address_is_mapped_to_country(address: str, country: str, settings: Settings, tor: Path) -> None:
    assert _with(settings, tor, table=mmdb(NETWORKS)).country(address) == country


@pytest.mark.parametrize(
    ("record", "country"),
    [
        ({"country": {"iso_code": "DE", "geoname_id": 2921044}, "continent": {"code": "EU"}}, "Germany"),
        ({"country_code": "DE"}, "Germany"),
        ({"country": "Deutschland", "country_code": "DE"}, "Germany"),
        ({"country": "DE"}, "Germany"),
        ({"registered_country": {"iso_code": "DE"}}, "Germany"),
        ({"country": {"names": {"en": "Germany"}}}, "Unknown"),
        ({"country": {"iso_code": 276}}, "Unknown"),
        ({"autonomous_system_number": 3320}, "Unknown"),
        ("Germany", "Unknown"),
        (["DE"], "Unknown"),
    ],
)
def test_country_databases_of_all_vendors_are_read(record: Any, country: str, settings: Settings, tor: Path) -> None:
    assert _with(settings, tor, table=mmdb({"8.8.8.0/24": record})).country("8.8.8.8") == country


def test_ipv4_database_has_no_ipv6_addresses(settings: Settings, tor: Path) -> None:
    countries = _with(settings, tor, table=mmdb({"8.8.8.0/24": {"country": "US"}}, ip_version=4))
    assert countries.country("8.8.8.8") == countries.country("::ffff:8.8.8.8") == "United States"
    assert countries.country("2a02:8070::1") == "Unknown"


@pytest.mark.parametrize(
    ("address", "country"),
    _cases(
        United_States="8.8.8.0 8.8.8.255 ::ffff:8.8.8.8",
        Germany="217.0.0.0 217.7.255.255 2a02:8070::1",
        Ireland="2a00:1450:: 2a00:1450:ffff:ffff:ffff:ffff:ffff:ffff",
        France="2a02:8071:0:1::10 2a02:8071:0:1::1f",
        Unknown="1.1.1.1 8.8.7.255 8.8.9.0 8.8.10.0 216.255.255.255 217.8.0.0 223.255.255.255 10.0.0.1 2001:470::1 "
        "2a00:1451:: 2a02:8071:: 2a02:8071:0:1::f 2a02:8071:0:1::20 2c0f::1",
    ),
)
def test_tor_country_database_is_read(address: str, country: str, settings: Settings, tor: Path) -> None:
    (tor / "geoip").write_text(TOR_FOUR)
    (tor / "geoip6").write_text(TOR_SIX)
    assert _with(settings, tor).country(address) == country


def test_configured_database_precedes_downloaded_one_and_tor(tmp_path: Path, tor: Path) -> None:
    def sources() -> tuple[str, str]:
        countries = Countries(Settings(data_dir=tmp_path, geo_file=named), tor=tor)
        return countries.status().source, countries.country("8.8.8.8")

    named = ""
    assert sources() == ("none", "Unknown")
    (tor / "geoip").write_text(TOR_FOUR)
    assert sources() == ("tor-geoipdb", "United States")
    _put(tmp_path / "geo" / "country.mmdb", mmdb({"8.8.8.0/24": {"country": "FR"}}))
    assert sources() == ("update", "France")
    named = str(_put(tmp_path / "named.mmdb", mmdb({"8.8.8.0/24": {"country": "DE"}})))
    assert sources() == ("setting", "Germany")


def test_geo_status_shows_active_database(settings: Settings, tor: Path) -> None:
    assert _with(settings, tor).status() == Status("none", "", 0, 0, "", "")
    (tor / "geoip").write_text(TOR_FOUR)
    (tor / "geoip6").write_text(TOR_SIX)
    of_tor = _with(settings, tor).status()
    assert (of_tor.source, of_tor.built, of_tor.entries) == ("tor-geoipdb", 1_782_362_039, 6)
    assert "CC BY-SA" in of_tor.credit
    fetched = _with(settings, tor, table=mmdb(NETWORKS, built=BUILT, kind="DBIP-Country-Lite")).status()
    assert (fetched.source, fetched.file) == ("update", str(downloaded_file(settings)))
    assert (fetched.built, fetched.problem) == (BUILT, "")
    assert fetched.entries > 0
    assert "DB-IP" in fetched.credit


def test_database_is_opened_at_first_public_address(tmp_path: Path, tor: Path, logged: list[str]) -> None:
    countries = Countries(Settings(data_dir=tmp_path, geo_file="/nowhere/x.mmdb"), tor=tor)
    for address in ("127.0.0.1", "testclient", "::1"):
        assert countries.country(address) == "Unknown"
    assert logged == []


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", mmdb(NETWORKS)[:-40], b"\xab\xcd\xefMaxMind.com", mmdb(NETWORKS)[-160:], gzip.compress(b"x")],
    ids=["empty", "nonsense", "torn", "marker", "no tree", "packed"],
)
def test_invalid_database_returns_unknown_country_and_is_logged_once(
    content: bytes, tmp_path: Path, tor: Path, logged: list[str]
) -> None:
    (tor / "geoip").write_text(TOR_FOUR)
    file, countries = _named(tmp_path, tor, content)
    for _ in range(3):
        assert countries.country("8.8.8.8") == "Unknown"
        countries.reload()
    assert len(logged) == 1
    assert countries.status().source == "none"
    assert str(file) in countries.status().problem


def test_damaged_database_is_logged_once(tmp_path: Path, tor: Path, logged: list[str]) -> None:
    whole = mmdb(NETWORKS)
    at = whole.index(b"iso_code")
    _, countries = _named(tmp_path, tor, whole[: at - 20] + b"\xff" * 60 + whole[at + 40 :])
    for last in range(8):
        assert countries.country(f"8.8.8.{last}") in ("Unknown", "United States")
    assert len(logged) == 1
    assert "8.8.8" not in logged[0]


@pytest.mark.parametrize(
    "line", "nonsense|1,2|1,2,DE,x|x,y,DE|3,2,DE|5,5,DE\n4,4,FR|5,9,DE\n9,9,FR|-1,5,DE|1,99999999999,DE".split("|")
)
def test_damaged_tor_database_returns_unknown_country(line: str, settings: Settings, tor: Path) -> None:
    (tor / "geoip").write_text(f"{line}\n134744064,134744319,US\n")
    countries = _with(settings, tor)
    assert countries.country("8.8.8.8") == "Unknown"
    assert "damaged" in countries.status().problem


def test_tor_database_in_other_encoding_is_invalid(settings: Settings, tor: Path) -> None:
    (tor / "geoip").write_bytes(b"\xff\xfe\x00")
    assert _with(settings, tor).status().problem
    (tor / "geoip").write_text(TOR_FOUR)
    (tor / "geoip6").write_text("::g,::h,DE\n")
    assert "geoip6 is damaged" in _with(settings, tor).status().problem


def test_new_database_is_used_within_a_minute(settings: Settings, tor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    countries = _with(settings, tor, table=mmdb({"8.8.8.0/24": {"country": "US"}}))
    for second, country in ((1000, "United States"), (1059, "United States"), (1061, "France")):
        with monkeypatch.context() as patch:
            patch.setattr(time, "monotonic", lambda now=second: float(now))
            assert countries.country("8.8.8.8") == country
        _put(downloaded_file(settings), mmdb({"8.8.8.0/24": {"country": "FR"}}))


def test_overwritten_database_stays_active_until_new_one_is_complete(
    tmp_path: Path, tor: Path, logged: list[str]
) -> None:
    file, countries = _named(tmp_path, tor, mmdb(NETWORKS))
    assert countries.country("8.8.8.8") == "United States"
    with file.open("r+b") as writing:
        writing.truncate(0)
        assert countries.country("80.67.169.12") == "France"  # reading a shrunken map would kill the process
        countries.reload()
        writing.write(b"half of something")
        writing.flush()
        countries.reload()
        assert countries.country("217.0.43.145") == "Germany"
        assert countries.status().problem
    assert len(logged) == 1
    file.write_bytes(mmdb({"8.8.8.0/24": {"country": "FR"}}))
    countries.reload()
    assert countries.country("8.8.8.8") == "France"
    assert countries.status().problem == ""


def test_removed_database_is_not_used(tmp_path: Path, tor: Path, logged: list[str]) -> None:
    file, countries = _named(tmp_path, tor, mmdb(NETWORKS))
    assert countries.country("8.8.8.8") == "United States"
    file.unlink()
    countries.reload()
    countries.reload()
    assert countries.country("8.8.8.8") == "Unknown"
    assert len(logged) == 1
    assert "No such file" in countries.status().problem


def test_next_database_is_used_without_downloaded_one(settings: Settings, tor: Path) -> None:
    countries = _with(settings, tor, table=mmdb({"8.8.8.0/24": {"country": "FR"}}))
    assert countries.country("8.8.8.8") == "France"
    (tor / "geoip").write_text(TOR_FOUR)
    downloaded_file(settings).unlink()
    countries.reload()
    assert countries.country("8.8.8.8") == "United States"


def test_temporary_database_copies_are_removed(settings: Settings, tor: Path, tmp_path: Path) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(place))
        assert _with(settings, tor, table=mmdb(NETWORKS)).country("8.8.8.8") == "United States"
    assert list(place.iterdir()) == []


@pytest.fixture(scope="module")
def world_of(tmp_path_factory: pytest.TempPathFactory) -> Countries:
    """One table for many examples."""
    file = _put(tmp_path_factory.mktemp("geo") / "x.mmdb", mmdb(NETWORKS))
    return Countries(Settings(geo_file=str(file)))


@given(text=st.text() | st.ip_addresses().map(str))
def test_any_text_has_known_country_name(text: str, world_of: Countries) -> None:
    known = {*NAMES.values(), "Unknown"}
    assert world_of.country(text) in known
    assert name_of(text) in known
