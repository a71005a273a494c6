"""QR codes of the gallery as one ZIP archive: the selected ones, or all that match a search."""

import io
import re
import zipfile
from typing import Any

import pytest

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser
from tests.support.qr_decoders import zxing
from waypost.items.qr import gallery_download


def _archive(response: Any) -> zipfile.ZipFile:
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/zip"
    return zipfile.ZipFile(io.BytesIO(response.content))


def _add(person: Person, name: str, alias: str) -> int:
    return person.add("qr", type="link", data="https://target.example/", name=name, custom=alias)


def test_selected_codes_are_images_that_are_called_by_their_names(ana: Person, ben: Person, dashboard: Browser) -> None:
    poster, label, _ = _add(ana, "Poster", "poster"), _add(ana, "", "label"), _add(ana, "Other", "other")
    foreign = _add(ben, "Foreign", "foreign")
    ids = [str(code) for code in (poster, label, foreign)]
    with _archive(dashboard.submit("/qr/bulk", at="/qr", id=ids, action="png")) as archive:
        images = {name: archive.read(name) for name in archive.namelist()}
    assert {name: zxing(image) for name, image in images.items()} == {
        "Poster.png": f"{BASE}/poster",
        "label.png": f"{BASE}/label",
    }
    single = dashboard.client.get("/qr/poster.png?size=1024").content
    assert images["Poster.png"] == single, "as the single download"


def test_codes_with_the_same_name_have_files_of_their_own(ana: Person, dashboard: Browser) -> None:
    for alias in ("one", "two"):
        _add(ana, "Poster", alias)
    with _archive(dashboard.get("/qr/export?format=pdf")) as archive:
        assert sorted(archive.namelist()) == ["Poster (one).pdf", "Poster (two).pdf"]
        assert archive.read("Poster (one).pdf") == dashboard.client.get("/qr/one.pdf?size=142").content


def test_all_codes_that_match_the_search_are_downloaded_from_every_page(ana: Person, dashboard: Browser) -> None:
    for number in range(30):
        _add(ana, f"Poster {number}", f"poster{number}")
    _add(ana, "Label", "label")
    page = dashboard.get("/qr?q=poster").text
    assert "Download all 30 codes as a ZIP file:" in page
    links = re.findall(r'href="/dashboard(/qr/export[^"]+)"', page)
    assert len(links) == len(gallery_download.SIZES)
    with _archive(dashboard.get(links[0].replace("&amp;", "&"))) as archive:
        assert sorted(archive.namelist()) == sorted(f"Poster {number}.svg" for number in range(30))


def test_archive_of_too_many_codes_is_refused_with_the_limit(
    ana: Person, dashboard: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gallery_download, "MAX_CODES", 1)
    ids = [str(_add(ana, "Poster", alias)) for alias in ("one", "two")]
    message = "A ZIP file can have at most 1 QR code."
    assert message in dashboard.flash_message(dashboard.get("/qr/export"))
    assert message in dashboard.flash_message(dashboard.submit("/qr/bulk", at="/qr", id=ids, action="svg"))


def test_archive_without_codes_is_a_message(ana: Person, dashboard: Browser) -> None:
    assert dashboard.flash_message(dashboard.get("/qr/export?format=svg&q=nothing")) == "No QR codes found"
    removed = str(_add(ana, "Poster", "poster"))
    dashboard.submit("/qr/delete", at=f"/qr/{removed}/delete", id=removed)
    response = dashboard.submit("/qr/bulk", at="/qr/new", id=removed, action="svg")
    assert "deleted already" in dashboard.flash_message(response)
