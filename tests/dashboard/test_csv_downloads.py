"""CSV files that people download and open: with a byte order mark, and named after their item and period."""

import io
import zipfile
from urllib.parse import unquote

import time_machine

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.imports import SHOP, plan, planned_rows
from tests.support.visits import visit
from waypost.core.csv_export import BOM
from waypost.core.settings import Settings


def _name(header: str) -> str:
    return unquote(header.rpartition("''")[2]) if "''" in header else header.partition('"')[2].rstrip('"')


def test_csv_for_people_begins_with_a_byte_order_mark(ana: Person, dashboard: Browser, settings: Settings) -> None:
    link = ana.add("url", url=SHOP, custom="buero", title="B\xfcro")
    overlay = ana.add("overlay", name="Umfrage B\xfcro", type="poll", options=["Red", "Blue"])
    plan(ana, settings, f"url,alias\n{SHOP},one")
    with time_machine.travel("2026-11-30 12:00:00Z", tick=False):
        files = {
            "Links.csv": dashboard.get("/links/export"),
            "B\xfcro, 1 Nov 2026 - 30 Nov 2026.csv": dashboard.get(f"/links/{link}/stats?format=csv&period=30"),
            "Visits, 30 Nov 2026.csv": dashboard.get("/visits?format=csv"),
            "Umfrage B\xfcro.csv": dashboard.get(f"/overlays/{overlay}/answers/export"),
            "Import.csv": dashboard.get("/import/rows.csv"),
        }
    for name, response in files.items():
        assert response.content.startswith(b"\xef\xbb\xbf"), name
        assert _name(response.headers["content-disposition"]) == name
    assert "B\xfcro" in files["Links.csv"].text


def test_tables_of_an_archive_begin_with_a_byte_order_mark(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url=SHOP, custom="buero", title="B\xfcro")
    response = dashboard.submit("/account/export", at="/account")
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert archive.read("links.csv").startswith(BOM.encode())


def test_downloaded_list_of_links_can_be_imported(
    ana: Person, ben: Person, dashboard: Browser, settings: Settings
) -> None:
    ana.add("url", url=SHOP, custom="buero", title="B\xfcro")
    content = dashboard.get("/links/export").content
    (row,) = planned_rows(ben, settings, content)
    assert (row.url, row.alias) == (SHOP, "buero")


def test_downloads_of_a_code_have_its_name(ana: Person, dashboard: Browser) -> None:
    code = ana.add("qr", type="link", data=SHOP, name="Poster Autumn")
    text = dashboard.get(f"/qr/{code}").text
    assert 'download="Poster Autumn.svg"' in text
    assert 'download="Poster Autumn 1024.png"' in text


def test_csv_of_statistics_has_the_language_of_the_reader_and_is_named_after_its_filter(
    ana: Person, dashboard: Browser
) -> None:
    link = ana.add("url", url=SHOP, custom="buero", title="B\xfcro / 2026")
    visit(dashboard.client, "buero")
    dashboard.submit("/language", at="/links", language="de")
    days = "from=2026-11-01&to=2026-11-02"
    response = dashboard.get(f"/links/{link}/stats?format=csv&{days}&device=Unknown")
    assert _name(response.headers["content-disposition"]) == (
        "B\xfcro _ 2026, 1. Nov. 2026 - 2. Nov. 2026, Unbekannt.csv"
    )
    text = dashboard.get(f"/links/{link}/stats?format=csv").text.removeprefix(BOM)
    assert text.splitlines()[0] == (
        '"Tabelle","Name","Klicks","Besucher","Bots","Linkvorschauen","Andere Anfragen","Besuche nach Ablauf"'
    )
    assert [row for row in text.splitlines() if row.startswith('"L\xe4nder"')] == ['"L\xe4nder","Unbekannt","1"']


def test_csv_of_visits_is_named_after_its_filter(ana: Person, dashboard: Browser) -> None:
    link = ana.add("url", url=SHOP, custom="buero", title="Herbst: 文")
    dashboard.submit("/language", at="/links", language="de")
    with time_machine.travel("2026-11-30 12:00:00Z", tick=False):
        response = dashboard.get(f"/visits?format=csv&kind=link&item={link}&country=Germany")
    assert _name(response.headers["content-disposition"]) == "Besuche, Herbst_ 文, Deutschland, 30. Nov. 2026.csv"


def test_links_for_other_services_are_named_in_the_language_of_the_reader(ana: Person, dashboard: Browser) -> None:
    dashboard.submit("/language", at="/links", language="es")
    response = dashboard.get("/account/links/shlink")
    assert _name(response.headers["content-disposition"]) == "Enlaces, Shlink.csv"
