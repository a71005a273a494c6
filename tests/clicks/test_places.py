"""Regions and cities: counted only if they are on, shown only with five visitors, and never kept with single visits."""

from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import time_machine
from sqlalchemy import insert, select

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.clicks import NOW_MS, click, run_out
from tests.support.dashboard_client import Browser
from tests.support.mmdb import mmdb
from tests.support.visits import new_link
from waypost.clicks.geo import databases
from waypost.clicks.ingest.ingester import EVENTS_COMPLETE_SINCE, Ingester
from waypost.clicks.stats import reports, verify
from waypost.clicks.stats.reports import Span
from waypost.clicks.stats.subjects import Subject
from waypost.core import ip_networks
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import click_labels, events, installation
from waypost.server.app import build
from waypost.transfer.exports.sheets import CLICK_SHEETS

_BERLIN = {"country": {"iso_code": "DE"}, "city": {"names": {"en": "Berlin"}}}
_MUNICH = {
    "country": {"iso_code": "DE"},
    "subdivisions": [{"iso_code": "BY", "names": {"en": "Bavaria"}}, {"names": {"en": "Upper Bavaria"}}],
    "city": {"names": {"de": "M\xfcnchen", "en": "Munich"}},
}
_PASSAU = {**_MUNICH, "city": {"names": {"en": "Passau"}}}
_NETWORKS = {"80.0.0.0/16": _MUNICH, "81.0.0.0/16": _PASSAU, "82.0.0.0/16": _BERLIN}
_DAY = Span(date(2027, 1, 15), date(2027, 1, 15), "day", ZoneInfo("UTC"))
_FORENOON = Span(_DAY.start, _DAY.end, "day", ZoneInfo("UTC"), part=(NOW_MS // 1000 - 43200, NOW_MS // 1000 - 3600))


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    """Settings with a database of cities, that are counted."""
    file = tmp_path / "city.mmdb"
    file.write_bytes(mmdb(_NETWORKS, kind="Test-City"))
    return Settings(data_dir=tmp_path, base_url=BASE, database_url=database_url, geo_file=str(file), geo_detail="on")


@pytest.fixture
def ingester() -> None:
    """No ingester: the tests count themselves."""


def _lines(link: int) -> bytes:
    """Clicks of six visitors in Munich, one of them twice, four in Passau, five in Berlin, and one elsewhere."""
    visitors = {"80.0": 6, "81.0": 4, "82.0": 5, "83.0": 1}
    lines = [click(link, f"{network}.0.{n}") for network, number in visitors.items() for n in range(1, number + 1)]
    return b"".join([*lines, click(link, "80.0.0.1"), click(link, "81.0.0.9", agent="curl/8.5.0", flags=b"h")])


def _count(settings: Settings, database: Database, lines: bytes, name: str = "a") -> None:
    settings.journal_dir.mkdir(parents=True, exist_ok=True)
    (settings.journal_dir / f"{name}.log").write_bytes(lines)
    run_out(Ingester(settings, database))


def _places(database: Database, link: int, span: Span = _DAY) -> dict[str, dict[str, int]]:
    return database.read(lambda tx: reports.visitors_by_place(tx, Subject(1, "link", link), span))


def test_visitors_are_counted_by_region_and_city(settings: Settings, database: Database, link: int) -> None:
    _count(settings, database, _lines(link))
    for subject in (Subject(1, "link", link), Subject(1, "account", 1), Subject(1, "campaign", 7, {"link": {link}})):
        visitors = database.read(partial(reports.visitors_by_place, subject=subject, span=_DAY))
        assert visitors == {
            "region": {"Bavaria, DE": 10, "Unknown": 6},
            "city": {"Munich, Bavaria, DE": 6, "Berlin, DE": 5, "Other": 4, "Unknown": 1},
        }
    assert "Passau" in str(database.read(lambda tx: tx.execute(select(click_labels.c.label)).scalars().all()))


def test_single_visits_and_exports_have_no_places(settings: Settings, database: Database, link: int) -> None:
    _count(settings, database, _lines(link))
    stored = str(database.read(lambda tx: tx.execute(select(events)).all()))
    sheets = str(database.read(lambda tx: [tx.execute(sheet.query(1)).all() for sheet in CLICK_SHEETS]))
    for text in (stored, sheets):
        assert "Germany" in text
        assert not any(name in text for name in ("Munich", "Bavaria", "Passau", "Berlin"))


def test_repair_of_totals_keeps_places(settings: Settings, database: Database, link: int) -> None:
    _count(settings, database, _lines(link))
    database.write(lambda tx: tx.execute(insert(installation).values(name=EVENTS_COMPLETE_SINCE, value=b"0")))
    before = _places(database, link)
    assert database.read(verify.differences) == []
    database.write(lambda tx: tx.execute(events.delete().where(events.c.country == "Unknown")))
    differences = database.read(verify.differences)
    assert differences
    database.write(lambda tx: verify.repair(tx, differences))
    assert _places(database, link) == before


def test_part_of_a_day_has_its_share_of_the_visitors(settings: Settings, database: Database, link: int) -> None:
    earlier = [click(link, f"80.0.1.{n}", ms=NOW_MS - 7_200_000) for n in range(1, 17)]
    _count(settings, database, _lines(link) + b"".join(earlier))
    assert _places(database, link)["region"] == {"Bavaria, DE": 26, "Unknown": 6}
    forenoon = _places(database, link, _FORENOON)["region"]
    assert sum(forenoon.values()) == 32 * 16 // 33 + 1, "16 of 33 clicks"
    assert forenoon["Bavaria, DE"] == 13


def test_nothing_is_counted_by_default(settings: Settings, database: Database, link: int) -> None:
    _count(settings.model_copy(update={"geo_detail": "off"}), database, _lines(link))
    dimensions = database.read(lambda tx: tx.execute(select(click_labels.c.dimension).distinct()).scalars().all())
    assert set(dimensions) == {"country", "referrer", "network", "browser", "os", "device", "language", "source"}


def test_labels_of_a_day_are_limited(settings: Settings, database: Database, link: int, tmp_path: Path) -> None:
    cities = {f"90.{n // 256}.{n % 256}.0/24": {"country": "DE", "city": f"City {n}"} for n in range(300)}
    (tmp_path / "city.mmdb").write_bytes(mmdb(cities))
    lines = b"".join(click(link, f"90.{n // 256}.{n % 256}.1") for n in range(300))
    _count(settings, database, lines)
    query = select(click_labels.c.label, click_labels.c.n).where(
        click_labels.c.kind == "link", click_labels.c.dimension == "city", click_labels.c.day > 0
    )
    stored = dict(database.read(lambda tx: [(row.label, row.n) for row in tx.execute(query)]))
    assert (len(stored), stored["Other"]) == (201, 100)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (_MUNICH, ("Bavaria, DE", "Munich, Bavaria, DE")),
        (_BERLIN, ("", "Berlin, DE")),
        ({"country": "de", "region": "Bavaria", "city": "Munich"}, ("Bavaria, DE", "Munich, Bavaria, DE")),
        ({"country_code": "DE", "state1": "Bavaria", "city": "Munich"}, ("Bavaria, DE", "Munich, Bavaria, DE")),
        ({"country": {"iso_code": "DE"}}, ("", "")),
        ({"city": {"names": {"de": "M\xfcnchen"}}, "subdivisions": []}, ("", "")),
        ({"country": "DE", "city": "x" * 200}, ("", "x" * 60 + ", DE")),
    ],
)
def test_databases_of_all_providers_are_read(tmp_path: Path, record: object, expected: tuple[str, str]) -> None:
    file = tmp_path / "city.mmdb"
    file.write_bytes(mmdb({"80.0.0.0/16": record}))
    address = ip_networks.parse("80.0.0.1")
    assert address is not None
    assert databases.Mmdb(file).place(address) == expected


def test_rare_places_are_never_named() -> None:
    counts = {"A, DE": 5, "B, DE": 4, "C, DE": 1, "Other": 9, "Unknown": 2}
    assert reports.hide_rare(counts) == {"Other": 14, "A, DE": 5, "Unknown": 2}
    assert reports.hide_rare({}) == {}
    assert reports.hide_rare({"B, DE": 4}) == {"Other": 4}


def test_card_has_tabs_without_filters_and_only_if_on(ana: Person, dashboard: Browser, settings: Settings) -> None:
    link = new_link(ana, "spring")
    moment = datetime.fromtimestamp(NOW_MS // 1000 + 60, UTC)
    _count(settings, ana.database, _lines(link), name="b")
    shared = ana.post("/share/add", {"type": "account", "itemid": ana.account})["url"]
    with time_machine.travel(moment, tick=True):
        dashboard.sign_in("ana")
        path = f"/links/{link}/stats"
        page = dashboard.get(path).text
        assert page.index("show-countries") < page.index("show-region") < page.index("show-city")
        assert page.index("show-referrers") < page.index("show-languages"), "a card has three tabs"
        assert "Munich, Bavaria, DE" in page
        assert "Passau" not in page
        assert "city=" not in page
        filtered = dashboard.get(f"{path}?country=Germany").text
        assert "show-city" not in filtered
        csv = dashboard.get(f"{path}?format=csv").text
        assert '"Munich, Bavaria, DE","6"' in csv
        assert "Passau" not in csv
        assert "Berlin, DE" in dashboard.client.get(shared.removeprefix(BASE)).text
        off = settings.model_copy(update={"geo_detail": "off"})
        with AsgiClient(build(off, ana.database)) as client:
            page = client.get(shared.removeprefix(BASE)).text
            assert ("Germany" in page or "Unknown" in page, "show-city" in page) == (True, False)
