"""An import in a real browser: the form, the plan, the import and undo, with and without scripts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.archives import export
from tests.support.browser import served, window
from tests.support.browser_login import examine, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

pytestmark = ON_SQLITE
SHOP = "https://example.com/shop"
_LONG = "x" * 400


@pytest.fixture
def address(settings: Settings) -> Iterator[str]:
    with served(build(settings, Database(settings.database))) as url:
        yield url


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "links.csv"
    path.write_text(f"alias,url,password\nspring,{SHOP},\nlocked,{SHOP}?{_LONG},$2b$12$abc\nbad name,{SHOP},\n")
    return path


def _plan(page: Page, address: str, csv: Path) -> None:
    page.goto(f"{address}/dashboard/links")
    page.get_by_role("link", name="Import links", exact=True).click()
    page.get_by_label("File", exact=True).set_input_files(csv)
    page.get_by_role("button", name="Preview the import").click()


def _expect_state(page: Page, text: str, *, scripts: bool = True) -> None:
    """Wait for a state of the import; without scripts, the link Refresh asks again."""
    for _ in range(50):
        refresh = page.get_by_role("link", name="Refresh")
        if refresh.count() and not scripts:
            refresh.click()
        if page.get_by_role("heading", name=text).count():
            return
        page.wait_for_timeout(200)
    expect(page.get_by_role("heading", name=text)).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_file_is_planned_imported_and_undone(
    ana: Person, chrome: Browser, address: str, csv: Path, *, scripts: bool
) -> None:
    check = examine if scripts else _ignore
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        _plan(page, address, csv)
        _expect_state(page, "Nothing is imported yet", scripts=scripts)
        check(page, "/dashboard/import")
        assert ana.get("/urls")["data"]["result"] == 0
        page.get_by_role("navigation", name="Rows by result").get_by_role("link", name="Cannot be imported 1").click()
        expect(page.get_by_text("bad name")).to_be_visible()
        expect(page.get_by_text("locked")).to_have_count(0)
        page.get_by_role("button", name="Import 2 links").click()
        _expect_state(page, "The import is complete", scripts=scripts)
        assert ana.get("/urls")["data"]["result"] == 2
        page.get_by_role("link", name="Show the imported links").click()
        expect(page.get_by_role("link", name="locked", exact=True)).to_be_visible()
        expect(page.get_by_label("Status", exact=True)).to_have_value("imported")
        page.goto(f"{address}/dashboard/import/new")
        expect(page.get_by_text("You can undo the last import until you start a new one.")).to_be_visible()
        check(page, "/dashboard/import/new")
        page.goto(f"{address}/dashboard/import")
        page.get_by_role("link", name="Undo import").click()
        expect(page.get_by_text("2 items are deleted")).to_be_visible()
        check(page, "/dashboard/import/undo")
        page.get_by_role("button", name="Undo import").click()
        _expect_state(page, "The import is undone", scripts=scripts)
        assert ana.get("/urls")["data"]["result"] == 0
        page.get_by_role("button", name="Discard import").click()
        expect(page.get_by_role("radio", name="File")).to_be_checked()


def _ignore(page: Page, path: str) -> None:
    """A page without scripts has no axe-core."""


def test_form_explains_its_errors_and_keeps_the_rest(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/import/new")
        page.get_by_role("button", name="Preview the import").click()
        expect(page.locator(".field-error", has_text="Choose a file, or a service.")).to_be_visible()
        page.get_by_role("radio", name="Shlink").check()
        expect(page.get_by_label("File", exact=True)).to_be_hidden()
        page.get_by_label("Token of the service").fill("secret-of-shlink")
        page.get_by_text("More choices", exact=True).click()
        page.get_by_label("Move links to another domain").fill("bit.ly=")
        page.get_by_role("button", name="Preview the import").click()
        expect(page.locator(".field-error", has_text="Enter the address of your Shlink server")).to_be_visible()
        expect(page.get_by_role("radio", name="Shlink")).to_be_checked()
        assert "secret-of-shlink" not in page.content()
        examine(page, "/dashboard/import/new")
        page.get_by_label("Move links to another domain").fill("nonsense")
        page.get_by_role("button", name="Preview the import").click()
        expect(page.locator(".field-error", has_text="old.example=new.example")).to_be_visible()


def test_unreadable_file_is_explained_and_columns_can_be_selected(
    ana: Person, chrome: Browser, address: str, csv: Path
) -> None:
    with signed_in_page(chrome, address) as page:
        csv.write_bytes(b"alias,url\n\xff\xfe\xff")
        _plan(page, address, csv)
        _expect_state(page, "The source could not be read")
        expect(page.get_by_role("alert")).to_contain_text("UTF-8")
        csv.write_text(f"Kurz,Target URL\nspring,{SHOP}\n")
        page.goto(f"{address}/dashboard/import/new")
        page.get_by_label("File", exact=True).set_input_files(csv)
        columns = page.get_by_role("group", name="Your columns").get_by_role("listitem")
        expect(columns).to_contain_text(["spring", SHOP])
        expect(page.get_by_text("links.csv", exact=True)).to_be_visible()
        expect(columns.nth(0).get_by_label("Kurz")).to_have_value("")
        expect(columns.nth(1).get_by_label("Target URL")).to_have_value("url")  # its cells are addresses
        columns.nth(1).get_by_label("Target URL").select_option("Not imported")
        page.get_by_role("button", name="Preview the import").click()
        expect(page.get_by_role("alert")).to_have_text("Select which column is the destination.")
        expect(columns.nth(0).get_by_label("Kurz")).to_be_focused()
        examine(page, "/dashboard/import/new")
        columns.nth(0).get_by_label("Kurz").select_option("Destination URL")
        expect(page.get_by_role("alert")).to_have_count(0)
        columns.nth(1).get_by_label("Target URL").select_option("Destination URL")
        expect(columns.nth(0).get_by_label("Kurz")).to_have_value("")
        columns.nth(0).get_by_label("Kurz").select_option("Alias")
        examine(page, "/dashboard/import/new")
        page.get_by_role("button", name="Preview the import").click()
        _expect_state(page, "Nothing is imported yet")
        expect(page.get_by_text(SHOP.removeprefix("https://"))).to_be_visible()
    assert [row["alias"] for row in ana.get("/import/rows")["data"]["rows"]] == ["spring"]


def test_columns_with_usual_names_are_selected_with_three_rows(
    ana: Person, chrome: Browser, address: str, tmp_path: Path
) -> None:
    file = tmp_path / "links.csv"
    rows = [
        f'"{name}; the ""first""\nline";{SHOP}/{name};{name};7' for name in ("spring", "summer", "autumn", "winter")
    ]
    file.write_text("sep=;\nName;Long URL;back_half;Leads\n" + "\n".join(rows), encoding="utf-16")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/import/new")
        page.get_by_label("File", exact=True).set_input_files(file)
        columns = page.get_by_role("group", name="Your columns").get_by_role("listitem")
        expect(columns).to_have_count(4)
        assert [column.input_value() for column in columns.locator("select").all()] == ["title", "url", "alias", ""]
        expect(columns.nth(0)).to_contain_text('summer; the "first" line')
        expect(columns.nth(2)).to_contain_text("autumn")
        expect(columns.nth(2)).not_to_contain_text("winter")
        columns.nth(0).locator("select").select_option("Not imported")
        page.get_by_role("button", name="Preview the import").click()
        _expect_state(page, "Nothing is imported yet")
        page.get_by_role("button", name="Import 4 links").click()
        _expect_state(page, "The import is complete")
    assert {link["title"] for link in ana.get("/urls")["data"]["urls"]} == {""}


def test_statistics_show_imported_clicks_apart(ana: Person, chrome: Browser, address: str, tmp_path: Path) -> None:
    dump = tmp_path / "dump.sql"
    visit = (
        "(1,'2026-11-02 00:00:00','spring','','Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0','','DE')"
    )
    link = f"('spring','{SHOP}','T','2026-11-01 00:00:00','',42)"
    dump.write_text(f"INSERT INTO `yourls_log` VALUES {visit};\nINSERT INTO `yourls_url` VALUES {link};\n")
    with signed_in_page(chrome, address) as page:
        _plan(page, address, dump)
        _expect_state(page, "Nothing is imported yet")
        page.get_by_role("button", name="Import one link").click()
        _expect_state(page, "The import is complete")
        page.goto(f"{address}/dashboard/links/1/stats?from=2026-11-01&to=2026-11-03")
        expect(page.get_by_text("One of these clicks was imported.")).to_be_visible()
        expect(page.get_by_text("41 more clicks were imported without a time.")).to_be_visible()
        examine(page, "/dashboard/links/1/stats")


def test_plan_of_archive_names_kinds_of_items(
    ana: Person, ben: Person, chrome: Browser, address: str, settings: Settings, tmp_path: Path
) -> None:
    ben.add("channel", name="Newsletter")
    ben.add("url", url=SHOP, custom="theirs")
    ben.add("bio", name="Ben", alias="ben-page")
    archive = export(ben, settings, tmp_path / "ben.zip")
    with signed_in_page(chrome, address) as page:
        _plan(page, address, archive)
        _expect_state(page, "Nothing is imported yet")
        rows = page.get_by_role("listitem")
        expect(rows.filter(has_text="Newsletter")).to_contain_text("Channel")
        expect(rows.filter(has_text="Newsletter")).to_contain_text("New")
        expect(rows.filter(has_text="ben-page")).to_contain_text("Bio page")
        expect(rows.filter(has_text="ben-page")).to_contain_text("Conflict")
        examine(page, "/dashboard/import")
        page.get_by_role("button", name="Import one item").click()
        _expect_state(page, "The import is complete")
    assert [channel["name"] for channel in ana.get("/channels")["data"]["channels"]] == ["Newsletter"]


def test_spreadsheet_is_understood_and_hosts_of_other_services_move(
    ana: Person, chrome: Browser, address: str, tmp_path: Path
) -> None:
    ana.add("domain", domain="https://go.shop.example")
    file = tmp_path / "links.csv"
    rows = ["spring;keine;Größe", "summer;www.müller.example/a;Übersicht", "https://bit.ly/x;www.müller.example/b;"]
    file.write_text("Kürzel;Wohin;Bezeichnung\n" + "\n".join(rows) + "\n", encoding="utf-8-sig")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/import/new")
        page.get_by_label("File", exact=True).set_input_files(file)
        columns = page.locator(".import-columns li")
        expect(columns).to_have_count(3)
        assert [column.input_value() for column in columns.locator("select").all()] == ["alias", "url", "title"]
        expect(columns.nth(2).locator("[data-samples] small")).to_have_text(["Größe", "Übersicht"])
        page.get_by_label("Links of bit.ly move to").select_option("go.shop.example")
        examine(page, "/dashboard/import/new")
        page.get_by_role("button", name="Preview the import").click()
        _expect_state(page, "Nothing is imported yet")
        expect(page.get_by_role("listitem").filter(has_text="go.shop.example/x")).to_contain_text("New")
        examine(page, "/dashboard/import")
        file.write_bytes("Kürzel;url\n".encode("latin-1"))
        page.goto(f"{address}/dashboard/import/new")
        page.get_by_label("File", exact=True).set_input_files(file)
        expect(page.get_by_role("alert")).to_contain_text("The file is not UTF-8")


def test_corrected_row_stays_in_view(ana: Person, chrome: Browser, address: str, csv: Path) -> None:
    csv.write_text("alias,url\n" + "".join(f"shop-{n},{SHOP}/{n}\n" for n in range(20)) + f"bad name,{SHOP}\n")
    with signed_in_page(chrome, address) as page:
        _plan(page, address, csv)
        _expect_state(page, "Nothing is imported yet")
        field = page.get_by_label("Alias of row 22")
        field.scroll_into_view_if_needed()
        field.fill("good-name")
        page.get_by_role("button", name="Use this alias").click()
        expect(page.locator(".toast")).to_contain_text("good-name")
        expect(page.get_by_role("listitem").filter(has_text="/good-name")).to_be_in_viewport()
