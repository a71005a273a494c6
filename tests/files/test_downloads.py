"""Visits to files: page or bytes, ranges, conditional requests, and what counts (decisions 21, 22)."""

import re
import shutil
from collections.abc import Callable
from email.message import Message
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import time_machine
from PIL import Image

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.files import CONTENT, PNG, download, downloads_left, new_file, objects, open_page
from tests.support.visits import ACCEPT_HTML, ACCEPT_JSON, CURL, GOOGLEBOT, SLACK, click_totals, visit

pytestmark = ON_SQLITE


def test_browser_gets_page_and_program_gets_bytes(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "my <b>report.pdf", CONTENT, custom="mine", maxdownloads=5, expiry="2999-12-31")
    page = open_page(service)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    for text in ("my &lt;b&gt;report.pdf", "10 kB", "5 downloads left", "31 Dec 2999, 23:59 UTC"):
        assert text in page.text
    assert 'href="/mine' not in page.text
    assert "<script" not in page.text
    assert click_totals(ana, f"/file/{file}") == {}
    for response in (download(service), open_page(service, "mine?download=1")):
        assert (response.status_code, response.content) == (200, CONTENT)
    assert "3 downloads left" in open_page(service).text
    assert click_totals(ana, f"/file/{file}") == {"clicks": 2, "uniqueClicks": 2}


def test_button_of_limited_file_is_no_link(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    for path in ("mine", "mine+"):
        page = open_page(service, path).text
        for link in re.findall(r'(?:href|src)="([^"]+)"', page):  # a scanner follows them
            open_page(service, unescape(link).removeprefix("/"))
        (form,) = re.findall(r'<form method="post" action="/([^"]+)">', page)
    for agent in ("SafeLinks", "ProofpointURLDefense/1.0"):  # scanners that do not ask for HTML
        assert b"a.bin" in download(service, agent=agent).content
    assert downloads_left(ana, file) == 1
    sent = visit(service, form, "POST", headers=ACCEPT_HTML)
    assert (sent.status_code, sent.headers["location"]) == (303, "/mine?download=1")
    assert downloads_left(ana, file) == 1
    assert open_page(service, sent.headers["location"].removeprefix("/")).content == CONTENT
    assert (downloads_left(ana, file), open_page(service).status_code) == (0, 410)
    assert click_totals(ana, f"/file/{file}")["clicks"] == 1


def test_button_of_unlimited_file_is_link(ana: Person, service: AsgiClient) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine")
    assert 'href="/mine?download=1"' in open_page(service).text


def _remove_objects(folder: Path) -> None:
    for stored in objects(folder.parent):
        stored.unlink()


def _replace_folder_by_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.touch()


@pytest.mark.parametrize("lose", [_remove_objects, shutil.rmtree, _replace_folder_by_file])
def test_file_without_storage_returns_503_and_counts_nothing(
    ana: Person, service: AsgiClient, tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    file = new_file(ana, "photo.png", PNG, custom="mine", maxdownloads=1)
    picture = new_file(ana, "picture.png", PNG, custom="shown")
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / "files", kept)
    lose(tmp_path / "files")
    for path in ("mine?download=1", "shown?download=1", "shown?preview=1"):
        page = open_page(service, path)
        assert (page.status_code, page.headers["retry-after"]) == (503, "5")
        assert "This file cannot be read right now. Please try again later." in page.text
    answer = download(service, **ACCEPT_JSON)
    message = "This file cannot be read right now. Please try again later."
    assert (answer.status_code, answer.json()["code"], answer.json()["message"]) == (503, "unavailable", message)
    assert service.request("HEAD", "/mine", headers={"User-Agent": CURL}).status_code == 503
    assert service.get("/readyz").json() == {"status": "degraded"}
    if (tmp_path / "files").is_file():
        (tmp_path / "files").unlink()
    shutil.copytree(kept, tmp_path / "files", dirs_exist_ok=True)
    assert (click_totals(ana, f"/file/{file}"), click_totals(ana, f"/file/{picture}")) == ({}, {})
    assert download(service).status_code == 200
    assert download(service).status_code == 410
    assert service.get("/readyz").json() == {"status": "ok"}


def test_download_cannot_be_resumed_while_its_object_is_away(ana: Person, service: AsgiClient, tmp_path: Path) -> None:
    new_file(ana, "photo.png", PNG, custom="mine", maxdownloads=1)
    assert download(service, Range="bytes=0-9").status_code == 206
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / "files", kept)
    _remove_objects(tmp_path / "files")
    assert download(service, Range="bytes=10-").status_code == 503
    shutil.copytree(kept, tmp_path / "files", dirs_exist_ok=True)
    assert download(service, Range="bytes=10-").status_code == 206


def test_deleted_file_without_object_is_not_found(ana: Person, service: AsgiClient, tmp_path: Path) -> None:
    file = new_file(ana, "photo.png", PNG, custom="mine", maxdownloads=1)
    assert download(service).status_code == 200
    _remove_objects(tmp_path / "files")
    assert download(service).status_code == 410
    assert ana.call("DELETE", f"/file/{file}/delete").status_code == 200
    assert download(service).status_code == 404


def test_uploaded_content_is_sandboxed(ana: Person, service: AsgiClient) -> None:
    for number, (name, content) in enumerate(
        (
            ("page.html", b"<!doctype html><script>alert(1)</script>"),
            ("image.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
            ("page.xhtml", b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>'),
            ("poly.png", PNG + b"<script>alert(1)</script>"),
            ("poly.gif", b"GIF89a/*<html><script>*/alert(1)//"),
            ("x.js", b"alert(1)"),
        )
    ):
        new_file(ana, name, content, custom=f"file-{number}")
        for path in (f"file-{number}", f"file-{number}?download=1", f"file-{number}?preview=1&download=1"):
            response = open_page(service, path) if "?" in path else download(service, path)
            assert response.content == content
            assert response.headers["content-disposition"] == f'attachment; filename="{name}"'
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
            assert response.headers["content-type"] in ("application/octet-stream", "image/png", "image/gif")


def test_downloads_have_exact_file_name(ana: Person, service: AsgiClient) -> None:
    names = ("CON", "trailing.", "percent%41.txt", 'semi";x="y.txt', "<img src=x>.html", "naïve%2e.txt")
    for number, name in enumerate(names):
        new_file(ana, name, custom=f"file-{number}")
        header = download(service, f"file-{number}").headers["content-disposition"]
        assert unquote(header.partition("filename*=UTF-8''")[2]) == name


def _open_graph(service: AsgiClient, path: str, agent: str = SLACK) -> dict[str, str]:
    """Return the OpenGraph tags of a file's page, as a chat reads them."""
    page = visit(service, path, agent=agent)
    return {
        name: unescape(value) for name, value in re.findall(r'<meta property="og:(\w+)" content="([^"]*)"', page.text)
    }


def test_page_of_file_describes_it_to_chats(ana: Person, service: AsgiClient) -> None:
    new_file(ana, 'my "<b>" photo.png', PNG, custom="mine")
    tags = _open_graph(service, "mine")
    assert tags == {
        "type": "website",
        "title": 'my "<b>" photo.png',
        "description": f"{len(PNG)} bytes · PNG picture",
        "url": f"{BASE}/mine",
        "image": f"{BASE}/mine?preview=1",
    }
    picture = visit(service, tags["image"].removeprefix(f"{BASE}/"), agent=SLACK)
    assert (picture.content, picture.headers["content-type"]) == (PNG, "image/png")
    assert ana.get("/files")["list"][0]["downloads"] == 0


def test_page_of_file_on_branded_domain_has_its_url(ana: Person, service: AsgiClient) -> None:
    ana.post("/domain/add", {"domain": "http://go.brand.example"})
    new_file(ana, "a.png", PNG, custom="mine", domain="go.brand.example")
    tags = _open_graph(service, "http://go.brand.example/mine")
    assert (tags["url"], tags["image"]) == (
        "http://go.brand.example/mine",
        "http://go.brand.example/mine?preview=1",
    )


def test_tags_show_picture_only_where_visitors_may_see_it(ana: Person, service: AsgiClient) -> None:
    new_file(ana, "a.png", PNG, custom="limited", maxdownloads=3)
    new_file(ana, "a.png", PNG, custom="locked", password="a secret")
    new_file(ana, "a.bin", CONTENT, custom="binary")
    new_file(ana, "a.svg", b'<svg xmlns="http://www.w3.org/2000/svg"/>', custom="vector")
    for alias in ("limited", "binary", "vector"):
        tags = _open_graph(service, alias)
        assert tags["title"].startswith("a.")
        assert "image" not in tags
    assert _open_graph(service, "locked")["title"] == "Password required"
    assert "a.png" not in visit(service, "locked", agent=SLACK).text
    basic = {"Authorization": "Basic OmEgc2VjcmV0"}  # :a secret
    unlocked = visit(service, "locked", agent=SLACK, headers=basic)
    assert ("a.png" in unlocked.text, "og:image" in unlocked.text) == (True, False)


def test_only_image_without_download_limit_has_preview(ana: Person, service: AsgiClient) -> None:
    cases: tuple[tuple[str, bytes, dict[str, Any], bool], ...] = (
        ("a.png", PNG, {}, True),
        ("b.png", PNG, {"maxdownloads": 5}, False),
        ("c.png", b"<svg>", {}, False),
        ("d.svg", b"<svg>", {}, False),
    )
    for number, (name, content, query, has_preview) in enumerate(cases):
        file = new_file(ana, name, content, custom=f"file-{number}", **query)
        page = open_page(service, f"file-{number}")
        assert ("?preview=1" in page.text) is has_preview, name
        assert "img-src 'self' data:" in page.headers["content-security-policy"]
        preview = open_page(service, f"file-{number}?preview=1")
        assert (preview.content == content) is has_preview
        assert click_totals(ana, f"/file/{file}") == {}


def _png(width: int, height: int) -> bytes:
    out = BytesIO()
    Image.new("RGB", (width, height)).save(out, "PNG")
    return out.getvalue()


def test_page_reserves_the_place_of_its_picture(ana: Person, service: AsgiClient) -> None:
    new_file(ana, "wide.png", _png(900, 600), custom="wide")
    new_file(ana, "tall.png", _png(600, 900), custom="tall")
    new_file(ana, "broken.png", PNG[:12], custom="broken")
    tags = [
        re.sub(r"\s+", " ", open_page(service, alias).text.partition("<img ")[2].partition(">")[0])
        for alias in ("wide", "tall", "broken")
    ]
    assert tags == [
        'class="preview" src="/wide?preview=1" alt="Preview of wide.png" width="900" height="600"',
        'class="preview inset" src="/tall?preview=1" alt="Preview of tall.png" width="600" height="900"',
        'class="preview" src="/broken?preview=1" alt="Preview of broken.png"',
    ]


def test_head_request_takes_no_download(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    for _ in range(3):
        response = visit(service, "mine", "HEAD", agent=CURL)
        assert (response.status_code, response.content) == (200, b"")
        assert response.headers["content-length"] == str(len(CONTENT))
        assert response.headers["accept-ranges"] == "bytes"
    assert download(service).content == CONTENT
    assert visit(service, "mine", "HEAD", agent=CURL).status_code == 410
    assert click_totals(ana, f"/file/{file}") == {"clicks": 1, "uniqueClicks": 1, "others": 4}


def test_bots_previews_and_prefetches_take_no_download(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    for agent in (GOOGLEBOT, SLACK):
        for path in ("mine", "mine?download=1"):
            response = download(service, path, agent=agent)
            assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert download(service, **{"Sec-Purpose": "prefetch"}).headers["content-type"].startswith("text/html")
    assert download(service).content == CONTENT
    assert click_totals(ana, f"/file/{file}") == {"clicks": 1, "uniqueClicks": 1, "bots": 2, "previews": 2, "others": 1}


def test_range_requests_return_requested_bytes(ana: Person, service: AsgiClient) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine")
    size = len(CONTENT)
    whole = (
        "bytes=0-",
        f"bytes=0-{size - 1}",
        f"bytes=0-{size}",
        f"bytes=-{size}",
        "bytes=0-0,0-",
        "bytes=0-" + "9" * 30,
    )
    cases = [("bytes=5-9", 5, 10), ("bytes=-7", size - 7, size), *((byte_range, 0, size) for byte_range in whole)]
    for byte_range, start, end in cases:
        response = download(service, Range=byte_range)
        assert (response.status_code, response.content) == (206, CONTENT[start:end]), byte_range
        assert response.headers["content-range"] == f"bytes {start}-{end - 1}/{size}"
    multipart = download(service, Range="bytes=0-9, 100-199, -5")
    assert multipart.status_code == 206
    head = Message()
    head["Content-Type"] = multipart.headers["content-type"]
    boundary = f"--{head.get_param('boundary')}".encode()
    parts = [part.partition(b"\r\n\r\n") for part in multipart.content.split(b"\r\n" + boundary)[1:-1]]
    assert [(headers.split(b"bytes ")[1], body) for headers, _, body in parts] == [
        (f"0-9/{size}".encode(), CONTENT[:10]),
        (f"100-199/{size}".encode(), CONTENT[100:200]),
        (f"{size - 5}-{size - 1}/{size}".encode(), CONTENT[-5:]),
    ]
    assert len(multipart.content) == int(multipart.headers["content-length"])
    for invalid in ("bytes=9-5", "lines=1-2", "x", "bytes=" + ",".join(["0-1"] * 100)):
        response = download(service, Range=invalid)
        assert (response.status_code, response.content, "content-range" in response.headers) == (200, CONTENT, False)
    beyond = download(service, Range=f"bytes={size}-")
    assert (beyond.status_code, beyond.headers["content-range"], beyond.content) == (416, f"bytes */{size}", b"")


def test_if_none_match_returns_304_without_download(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=3)
    first = download(service)
    tag = first.headers["etag"]
    for header in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        response = download(service, **{"If-None-Match": header})
        assert (response.status_code, response.content, response.headers["etag"]) == (304, b"", tag)
    assert downloads_left(ana, file) == 2
    same = {"Range": "bytes=9000-", "If-Range": tag}
    assert (download(service, **same).status_code, downloads_left(ana, file)) == (206, 2)
    assert download(service, **{**same, "If-Range": first.headers["last-modified"]}).status_code == 206
    other = download(service, **{**same, "If-Range": '"another version"'})
    assert (other.status_code, other.content, downloads_left(ana, file)) == (200, CONTENT, 1)


def test_preconditions_take_no_download(ana: Person, service: AsgiClient) -> None:
    with time_machine.travel("2027-03-01 12:00:00Z", tick=False):
        file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=2)
        first = download(service)
        tag, date, earlier = first.headers["etag"], first.headers["last-modified"], "Sun, 28 Feb 2027 12:00:00 GMT"
        cases: tuple[tuple[dict[str, str], int], ...] = (
            ({"If-Modified-Since": date}, 304),
            ({"If-Modified-Since": "Monday, 01-Mar-27 12:00:00 GMT"}, 304),
            ({"If-Modified-Since": "Mon Mar  1 12:00:00 2027", "Range": "bytes=0-"}, 304),
            ({"If-Match": '"other"'}, 412),
            ({"If-Match": f"W/{tag}"}, 412),
            ({"If-Match": f"W/{tag}", "Range": "bytes=5-"}, 412),
            ({"If-Unmodified-Since": earlier}, 412),
            ({"If-Match": tag, "If-None-Match": tag, "If-Unmodified-Since": earlier}, 304),
            ({"If-None-Match": f'"a,b" , W/{tag}', "If-Modified-Since": earlier}, 304),
        )
        for headers, status in cases:
            for method in ("GET", "HEAD"):
                response = visit(service, "mine", method, agent=CURL, headers=headers)
                assert (response.status_code, response.content) == (status, b""), (method, headers)
                assert (response.headers["etag"], response.headers["last-modified"]) == (tag, date)
        assert downloads_left(ana, file) == 1
        assert click_totals(ana, f"/file/{file}") == {"clicks": 1, "uniqueClicks": 1}
        assert download(service, **{"If-Match": f'"other", {tag}', "If-None-Match": '"other"'}).content == CONTENT
        assert download(service, **{"If-Modified-Since": date}).status_code == 410  # as without a precondition


def test_preview_honors_preconditions_and_ranges(ana: Person, service: AsgiClient) -> None:
    new_file(ana, "a.png", PNG, custom="mine")
    first = open_page(service, "mine?preview=1")
    for name, value, status in (
        ("If-None-Match", first.headers["etag"], 304),
        ("If-Modified-Since", first.headers["last-modified"], 304),
        ("If-Match", '"other"', 412),
        ("Range", "bytes=0-", 206),
        ("Range", "bytes=9999-", 416),
    ):
        assert open_page(service, "mine?preview=1", **{name: value}).status_code == status


def test_preview_of_file_takes_no_download(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    assert "a.bin" in open_page(service, "mine+").text
    details = visit(service, "mine+", headers=ACCEPT_JSON).json()
    assert (details["size"], details["left"]) == (len(CONTENT), 1)
    assert downloads_left(ana, file) == 1
    assert download(service).status_code == 200
    assert download(service, "mine+").status_code == 410


def test_file_on_branded_domain_is_not_on_own_host(ana: Person, service: AsgiClient) -> None:
    ana.post("/domain/add", {"domain": "https://go.brand.example"})
    new_file(ana, "a.bin", CONTENT, custom="mine", domain="go.brand.example")
    assert download(service).status_code == 404
    assert download(service, "https://go.brand.example/mine").content == CONTENT
    assert "a.bin" in open_page(service, "https://go.brand.example/mine").text


def test_missing_object_takes_no_download(ana: Person, service: AsgiClient, tmp_path: Path) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    (path,) = objects(tmp_path)
    path.rename(tmp_path / "moved")
    assert download(service).status_code == 503
    (tmp_path / "moved").rename(path)
    assert (downloads_left(ana, file), download(service).status_code) == (1, 200)
