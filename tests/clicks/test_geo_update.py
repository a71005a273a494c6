"""`waypost geo`: a downloaded country database replaces the old one only if it is valid."""

import gzip
import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import time_machine

from tests.support.cli import create_installation
from tests.support.fake_internet import PUBLIC, FakeInternet, moved, ok, server
from tests.support.mmdb import mmdb
from waypost.cli import geo as cli_geo
from waypost.cli.main import main
from waypost.clicks.geo import download
from waypost.clicks.geo.lookup import Countries, downloaded_file
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.http import safe_client

NAME = "tables.example"
URL = f"http://{NAME}/country.mmdb.gz"
TABLE = mmdb({"8.8.8.0/24": {"country": {"iso_code": "US"}}}, built=1_767_312_000, kind="DBIP-Country-Lite")
OLD = b"the table of last month"


@pytest.fixture
def internet(internet: FakeInternet) -> FakeInternet:
    """The fake internet with NAME."""
    internet.add_host(NAME, PUBLIC)
    return internet


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of the database, with old content."""
    place = tmp_path / "geo" / "country.mmdb"
    place.parent.mkdir()
    place.write_bytes(OLD)
    return place


@pytest.fixture
def free_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the URL of DB-IP, whose certificate a test server cannot have."""
    monkeypatch.setattr(download, "_DBIP", f"http://{NAME}/free/dbip-country-lite-{{month:%Y-%m}}.mmdb.gz")


@contextmanager
def _tables(internet: FakeInternet, *bodies: bytes) -> Iterator[list[str]]:
    """Serve the bodies in turn on NAME, b"" as a 404; yield the list of requested paths."""
    requests: list[str] = []
    left = list(bodies)

    def answer(head: bytes) -> list[bytes]:
        requests.append(head.split()[1].decode())
        body = left.pop(0)
        return [ok(body)] if body else [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"]

    with server(answer) as internet.routes[PUBLIC]:
        yield requests


@pytest.mark.parametrize("body", [gzip.compress(TABLE), TABLE], ids=["packed", "plain"])
def test_downloaded_database_replaces_old_one(body: bytes, internet: FakeInternet, file: Path) -> None:
    with _tables(internet, body) as requests:
        updated = download.update(file, url=URL)
    assert requests == ["/country.mmdb.gz"]
    assert (updated.url, updated.file, updated.built) == (URL, str(file), 1_767_312_000)
    assert "DB-IP" in updated.credit
    assert file.read_bytes() == TABLE
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]


def test_first_download_creates_folder(internet: FakeInternet, tmp_path: Path) -> None:
    with _tables(internet, gzip.compress(TABLE)):
        download.update(tmp_path / "new" / "geo" / "country.mmdb", url=URL)
    assert (tmp_path / "new" / "geo" / "country.mmdb").read_bytes() == TABLE


@pytest.mark.usefixtures("free_table")
@pytest.mark.parametrize(
    ("bodies", "months"),
    [((gzip.compress(TABLE),), ["2026-01"]), ((b"", gzip.compress(TABLE)), ["2026-01", "2025-12"])],
    ids=["this month's", "last month's"],
)
def test_latest_free_database_is_downloaded(
    bodies: tuple[bytes, ...], months: list[str], internet: FakeInternet, file: Path
) -> None:
    with time_machine.travel("2026-01-31T23:59:00Z", tick=False), _tables(internet, *bodies) as requests:
        download.update(file)
    assert requests == [f"/free/dbip-country-lite-{month}.mmdb.gz" for month in months]
    assert file.read_bytes() == TABLE


def test_free_database_is_from_db_ip() -> None:
    with time_machine.travel("2026-03-01T00:00:00Z", tick=False):
        urls = download._monthly_urls("country")
    assert urls == [
        "https://download.db-ip.com/free/dbip-country-lite-2026-03.mmdb.gz",
        "https://download.db-ip.com/free/dbip-country-lite-2026-02.mmdb.gz",
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>Please log in</html>", "not an .mmdb file"),
        (gzip.compress(b"<html>Please log in</html>"), "not an .mmdb file"),
        (gzip.compress(TABLE)[:-20], "it is truncated"),
        (gzip.compress(TABLE)[:20] + b"\0" * 200, "cannot be decompressed"),
        (gzip.compress(TABLE[:-60]), "not an .mmdb file"),
        (gzip.compress(mmdb({"80.67.0.0/16": {"country": {"iso_code": "FR"}}})), "no country for 8.8.8.8"),
        (gzip.compress(mmdb({"8.8.8.0/24": {"autonomous_system_number": 15169}})), "no country for 8.8.8.8"),
        (gzip.compress(bytes(3_000_000)), "larger than 1000000 bytes when decompressed"),
    ],
    ids=["a page", "a packed page", "torn", "damaged", "half a table", "one country", "networks", "a bomb"],
)
def test_invalid_download_changes_nothing(
    body: bytes, message: str, internet: FakeInternet, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_MAX_BYTES", 1_000_000)
    with _tables(internet, body), pytest.raises(Problem, match=message) as caught:
        download.update(file, url=URL)
    assert caught.value.kind is Kind.INVALID
    assert file.read_bytes() == OLD
    assert list(file.parent.iterdir()) == [file]


def test_oversized_download_is_aborted(internet: FakeInternet, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_MAX_COMPRESSED_BYTES", 1000)
    with _tables(internet, bytes(100_000)), pytest.raises(Problem, match="larger than 1000 bytes") as caught:
        download.update(file, url=URL)
    assert caught.value.kind is Kind.UNAVAILABLE
    assert file.read_bytes() == OLD


def test_missing_download_is_reported(internet: FakeInternet, file: Path) -> None:
    with _tables(internet, b""), pytest.raises(Problem, match="responded with status 404"):
        download.update(file, url=URL)
    assert file.read_bytes() == OLD


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "http://nowhere.example/x", "file:///etc/passwd", "x.mmdb"])
def test_download_from_internal_address_is_rejected(url: str, internet: FakeInternet, file: Path) -> None:
    with pytest.raises(Problem, match=r"Cannot download .*WAYPOST_GEO_FILE"):
        download.update(file, url=url)
    assert file.read_bytes() == OLD
    assert internet.connections == []


def test_download_follows_redirect(internet: FakeInternet, file: Path) -> None:
    def answer(head: bytes) -> list[bytes]:
        return [ok(TABLE)] if head.startswith(b"GET /there ") else [moved(b"/there")]

    with server(answer) as internet.routes[PUBLIC]:
        download.update(file, url=URL)
    assert file.read_bytes() == TABLE


def test_unwritable_folder_is_reported(internet: FakeInternet, tmp_path: Path) -> None:
    (tmp_path / "geo").write_text("a file where the folder should be")
    with _tables(internet, TABLE), pytest.raises(Problem, match="cannot be written"):
        download.update(tmp_path / "geo" / "country.mmdb", url=URL)


def _waypost(patch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> int:
    """Run a command on an installation in the folder; the exit code."""
    umask = os.umask(0o077)
    patch.setenv("WAYPOST_DATA_DIR", str(folder))
    patch.setattr(sys, "argv", ["waypost", *arguments])
    patch.setattr(cli_geo, "Countries", partial(Countries, tor=folder / "no-tor"))
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        os.umask(umask)
    return 0


@pytest.fixture
def installed(tmp_path: Path, sqlite_template: Path) -> Path:
    """The folder of an installation, which the geo commands need."""
    create_installation(tmp_path, sqlite_template)
    return tmp_path


def test_free_database_has_cities_if_these_are_counted(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []

    def refuse(url: str, **_options: object) -> None:
        fetched.append(url)
        raise safe_client.Refused("no")

    monkeypatch.setattr(safe_client, "fetch", refuse)
    for detail, name in (("off", "/dbip-country-lite-"), ("on", "/dbip-city-lite-")):
        monkeypatch.setenv("WAYPOST_GEO_DETAIL", detail)
        assert _waypost(monkeypatch, installed, "geo", "update") == 1
        assert name in fetched.pop()


def test_geo_update_command_activates_download(
    internet: FakeInternet, installed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _waypost(monkeypatch, installed, "geo", "status") == 0
    assert "Run: waypost geo update" in capsys.readouterr().out
    with _tables(internet, gzip.compress(TABLE)):
        assert _waypost(monkeypatch, installed, "geo", "update", "--url", URL) == 0
    printed = capsys.readouterr().out
    assert "built on 2026-01-02" in printed
    assert "https://db-ip.com, CC BY 4.0" in printed
    assert _waypost(monkeypatch, installed, "geo", "status") == 0
    assert "downloaded by waypost geo update, built on 2026-01-02" in capsys.readouterr().out
    assert _waypost(monkeypatch, installed, "geo", "status", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["source"] == "update"
    assert printed["built"] == "2026-01-02"
    assert printed["problem"] == ""
    assert Countries(Settings(data_dir=installed)).country("8.8.8.8") == "United States"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (installed / "geo", *(installed / "geo").iterdir())] == [
        0o700,
        0o600,
    ]


def test_geo_update_command_reports_overriding_database(
    internet: FakeInternet, installed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WAYPOST_GEO_FILE", str(installed / "mine.mmdb"))
    with _tables(internet, TABLE):
        assert _waypost(monkeypatch, installed, "geo", "update", "--url", URL) == 0
    assert "WAYPOST_GEO_FILE is set, so the service keeps using that file" in capsys.readouterr().err
    assert downloaded_file(Settings(data_dir=installed)).exists()


def test_geo_commands_report_failure_in_one_sentence(
    internet: FakeInternet, installed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with _tables(internet, b""):
        assert _waypost(monkeypatch, installed, "geo", "update", "--url", URL) == 1
    assert "responded with status 404" in capsys.readouterr().err
    monkeypatch.setenv("WAYPOST_GEO_FILE", str(installed / "mine.mmdb"))
    assert _waypost(monkeypatch, installed, "geo", "status") == 1
    assert "mine.mmdb cannot be read: No such file or directory" in capsys.readouterr().err
    assert _waypost(monkeypatch, installed, "geo", "status", "--json") == 1
    assert "No such file" in json.loads(capsys.readouterr().out)["problem"]
