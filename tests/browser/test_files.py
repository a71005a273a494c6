"""File upload and download limits in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, fetched, sign_in
from tests.support.databases import ON_SQLITE
from tests.support.files import PNG, new_file
from waypost.db.schema import plans

pytestmark = ON_SQLITE


@pytest.mark.parametrize("scripts", [True, False])
def test_uploaded_file_is_downloadable_until_its_limit(
    ana: Person, chrome: Browser, address: str, ingester: None, tmp_path: Path, *, scripts: bool
) -> None:
    path = tmp_path / "leaflet.png"
    path.write_bytes(PNG)
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/files")
        page.get_by_role("main").get_by_role("link", name="Upload").first.click()
        page.wait_for_load_state()
        if scripts:
            expect(page.get_by_text("Access and limits")).to_be_hidden()
        else:
            page.get_by_text("Access and limits").click()
        page.locator("#file").set_input_files(path)
        page.get_by_label("Download limit").fill("2")
        page.get_by_role("textbox", name="Alias").fill("leaflet")
        if scripts:
            _upload_selected(page, ana)
            page.get_by_role("link", name="Settings", exact=True).click()
        else:
            page.get_by_role("button", name="Upload").click()
            expect(page.get_by_role("status").first).to_contain_text("Your file is ready.")
        expect(page.get_by_role("heading", name="leaflet.png")).to_be_visible()
        for _ in range(2):
            assert fetched(address, "leaflet").content == PNG
        assert fetched(address, "leaflet").status_code == 410
        page.reload()
        expect(page.get_by_text("This file has expired")).to_be_visible()
        page.get_by_label("Download limit").fill("3")
        page.get_by_role("button", name="Save").click()
        assert fetched(address, "leaflet").content == PNG
        page.get_by_role("link", name="downloads").click()
        expect(page.locator(".tiles div").first.locator("dd")).to_have_text("3")


def _upload_selected(page: Page, person: Person) -> None:
    """Upload the selected file. Its short URL can be copied at once."""
    expect(page.locator("[data-uploads] [data-state=selected]")).to_contain_text("leaflet.png")
    assert person.get("/files")["result"] == 0, "nothing is uploaded yet"
    page.get_by_role("button", name="Upload").click()
    done = page.locator("[data-uploads] [data-state=good]")
    expect(done).to_contain_text("/leaflet")
    expect(page.get_by_role("status").filter(has_text="Your file is ready.")).to_be_visible()
    expect(done.get_by_role("button", name="Copy")).to_be_focused()
    expect(done.get_by_role("button", name="Copy")).to_have_attribute("data-copy", re.compile("/leaflet$"))
    expect(done.locator(".file-picture img")).to_be_visible()


def _drop(page: Page, *files: tuple[str, int]) -> None:
    """Drop files with these names and sizes on the page."""
    page.evaluate(
        """files => {
          const data = new DataTransfer();
          for (const [name, size] of files) data.items.add(new File([new Uint8Array(size)], name));
          for (const kind of ["dragenter", "dragover", "drop"]) {
            document.body.dispatchEvent(new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true}));
          }
        }""",
        files,
    )


def test_dropped_files_each_show_their_result(ana: Person, chrome: Browser, address: str) -> None:
    new_file(ana, "a.txt", custom="taken")
    ana.write(lambda tx: tx.execute(plans.update().values(upload_limit=500_000)))
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/files/new")
        expect(page.get_by_text("Maximum file size: 500 kB.")).to_be_visible()
        expect(page.get_by_text("Files of any size.")).to_have_count(0)
        _drop(page, ("one.bin", 400_000), ("too large.bin", 600_000), ("two.bin", 10), ("empty.bin", 0))
        lines = page.locator("[data-uploads] li")
        expect(page.locator("#custom")).to_be_hidden()  # an alias is for a single file
        page.get_by_role("button", name="Upload").click()
        expect(lines.nth(0)).to_have_attribute("data-state", "good")
        expect(lines.nth(1)).to_contain_text("is larger than your plan allows: 500 kB")
        expect(lines.nth(2)).to_have_attribute("data-state", "good")
        expect(lines.nth(3)).to_contain_text("it is empty")
        expect(page.get_by_role("status").filter(has_text="Your files are ready.")).to_be_visible()
        seen.console_errors.clear()  # the browser logs each response that is not 200
        page.goto(f"{address}/dashboard/files")
        expect(page.locator("tbody tr")).to_have_count(3)
        page.get_by_role("link", name="Size").click()
        expect(page.locator("tbody tr").first).to_contain_text("one.bin")
        page.get_by_label("Select all files on this page").check()
        page.get_by_role("button", name="Delete …").click()
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("3 files were deleted.")
        expect(page.get_by_role("heading", name="Your first file")).to_be_visible()


def test_fault_in_the_settings_of_an_upload_is_shown_at_its_field(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/files/new")
        page.wait_for_load_state()
        _drop(page, ("one.bin", 10), ("two.bin", 10), ("three.bin", 10))
        lines, upload = page.locator("[data-uploads] li"), page.get_by_role("button", name="Upload")
        lines.nth(2).get_by_role("button", name="Remove").click()
        expect(lines).to_have_count(2)
        limit = page.get_by_label("Download limit")
        limit.fill("many")
        page.get_by_text("Access and limits").click()
        upload.click()
        expect(lines.nth(0)).to_contain_text("Download limit must be a whole number")
        expect(limit).to_have_attribute("aria-invalid", "true")
        expect(limit).to_be_focused()
        limit.fill("3")
        expect(limit).not_to_have_attribute("aria-invalid", "true")
        upload.click()
        for number in range(2):
            expect(lines.nth(number)).to_have_attribute("data-state", "good")
        expect(upload).to_be_hidden()
        seen.console_errors.clear()  # the browser logs each response that is not 200


def test_waiting_upload_keeps_the_settings_of_its_submit(ana: Person, chrome: Browser, address: str) -> None:
    """The form is for the next files as soon as Upload was pressed."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/files/new")
        page.wait_for_load_state()
        page.route("**/dashboard/files/new", hold, times=1)
        _drop(page, ("one.bin", 10), ("two.bin", 10))
        lines, upload = page.locator("[data-uploads] li"), page.get_by_role("button", name="Upload", exact=True)
        limit, alias = page.get_by_label("Download limit"), page.locator("#custom")
        limit.fill("3")
        upload.click()
        expect(lines.nth(0)).to_have_attribute("data-state", "running")
        _drop(page, ("three.bin", 10))
        limit.fill("7")
        alias.fill("third")
        held[0].continue_()
        for index in (0, 1):
            expect(lines.nth(index)).to_have_attribute("data-state", "good")
        expect(alias).to_have_value("third")
        upload.click()
        expect(lines.nth(2)).to_contain_text("/third")
        expect(alias).to_have_value("")
        _drop(page, ("four.bin", 10))
        alias.fill("third")
        upload.click()
        expect(lines.nth(3)).to_contain_text("taken")
        expect(alias).to_have_value("third")
        seen.console_errors.clear()  # the browser logs each response that is not 200
    files = {file["name"]: ana.details("file", file["id"])["maxdownloads"] for file in ana.get("/files")["list"]}
    assert files == {"one.bin": 3, "two.bin": 3, "three.bin": 7}


def test_file_pages_have_no_accessibility_violations(ana: Person, chrome: Browser, address: str) -> None:
    for name in ("تقرير.pdf", "x" * 200, "locked.txt"):
        new_file(ana, name, password="geheim", maxdownloads=2)
    with window(chrome) as seen:
        sign_in(seen.page, address)
        for path in ("", "?q=nothing", "/new", "/1", "/2/stats", "/2/delete"):
            seen.page.goto(f"{address}/dashboard/files{path}")
            if path == "/new":
                _drop(seen.page, ("done.txt", 100))
                examine(seen.page, "selected file")
                seen.page.set_viewport_size({"width": 1280, "height": 800})
                seen.page.get_by_role("button", name="Upload").click()
                expect(seen.page.locator("[data-state=good]")).to_be_visible()
            examine(seen.page, path)
        assert seen.foreign_urls == []
