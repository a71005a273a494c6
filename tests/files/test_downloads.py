"""Visits to files: who gets a page and who the bytes, all of them or parts, and what counts (decisions 21 and 22)."""

from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.asgi_client import Inside
from tests.support.files import CONTENT, PNG, browse, downloads_left, fetch, new_file, objects
from tests.support.visits import CURL, GOOGLEBOT, SLACK, sums, visit

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_a_browser_gets_a_page_and_a_program_the_bytes(ana: Person, service: Inside) -> None:
    file = new_file(ana, "my <b>report.pdf", CONTENT, custom="mine", maxdownloads=5, expiry="2999-12-31")
    page = browse(service)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    for words in ("my &lt;b&gt;report.pdf", "10 kB", "5 downloads left", "2999-12-31 23:59 UTC"):
        assert words in page.text
    assert 'href="/mine?download=1"' in page.text
    assert "<script" not in page.text
    assert sums(ana, f"/file/{file}") == {}
    for answer in (fetch(service), browse(service, "mine?download=1")):
        assert (answer.status_code, answer.content) == (200, CONTENT)
    assert "3 downloads left" in browse(service).text
    assert sums(ana, f"/file/{file}") == {"clicks": 2, "uniqueClicks": 2}


def test_a_picture_whose_bytes_are_lost_is_gone(ana: Person, service: Inside, tmp_path: Path) -> None:
    new_file(ana, "photo.png", PNG, custom="mine")
    for stored in objects(tmp_path):
        stored.unlink()
    for path in ("mine?preview=1", "mine?download=1", "mine"):
        assert fetch(service, path).status_code == 410


def test_the_bytes_of_anything_are_never_run_on_our_origin(ana: Person, service: Inside) -> None:
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
            answer = browse(service, path) if "?" in path else fetch(service, path)
            assert answer.content == content
            assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
            assert answer.headers["content-type"] in ("application/octet-stream", "image/png", "image/gif")


def test_only_a_picture_that_may_be_seen_for_nothing_has_a_preview(ana: Person, service: Inside) -> None:
    cases: tuple[tuple[str, bytes, dict[str, Any], bool], ...] = (
        ("a.png", PNG, {}, True),
        ("b.png", PNG, {"maxdownloads": 5}, False),
        ("c.png", b"<svg>", {}, False),
        ("d.svg", b"<svg>", {}, False),
    )
    for number, (name, content, query, shown) in enumerate(cases):
        file = new_file(ana, name, content, custom=f"file-{number}", **query)
        page = browse(service, f"file-{number}")
        assert ("?preview=1" in page.text) is shown, name
        assert "img-src 'self' data:" in page.headers["content-security-policy"]
        preview = browse(service, f"file-{number}?preview=1")
        assert (preview.content == content) is shown
        assert sums(ana, f"/file/{file}") == {}


def test_head_tells_what_get_would_send_and_takes_nothing(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    for _ in range(3):
        answer = visit(service, "mine", "HEAD", agent=CURL)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-length"] == str(len(CONTENT))
        assert answer.headers["accept-ranges"] == "bytes"
    assert fetch(service).content == CONTENT
    assert visit(service, "mine", "HEAD", agent=CURL).status_code == 410
    assert sums(ana, f"/file/{file}") == {"clicks": 1, "uniqueClicks": 1, "others": 4}


def test_crawlers_previews_and_prefetches_get_no_bytes_and_take_nothing(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    for agent in (GOOGLEBOT, SLACK):
        for path in ("mine", "mine?download=1"):
            answer = fetch(service, path, agent=agent)
            assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert fetch(service, **{"Sec-Purpose": "prefetch"}).headers["content-type"].startswith("text/html")
    assert fetch(service).content == CONTENT
    assert sums(ana, f"/file/{file}") == {"clicks": 1, "uniqueClicks": 1, "bots": 2, "previews": 2, "others": 1}


def test_a_file_is_sent_in_parts(ana: Person, service: Inside) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine")
    size = len(CONTENT)
    for wanted, start, end in (("bytes=0-", 0, size), ("bytes=5-9", 5, 10), ("bytes=-7", size - 7, size)):
        answer = fetch(service, Range=wanted)
        assert answer.content == CONTENT[start:end]
        assert answer.status_code == (200 if (start, end) == (0, size) else 206)
        if answer.status_code == 206:
            assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{size}"
    many = fetch(service, Range="bytes=0-9, 100-199, -5")
    assert many.status_code == 206
    head = Message()
    head["Content-Type"] = many.headers["content-type"]
    boundary = f"--{head.get_param('boundary')}".encode()
    parts = [part.partition(b"\r\n\r\n") for part in many.content.split(b"\r\n" + boundary)[1:-1]]
    assert [(told.split(b"bytes ")[1], body) for told, _, body in parts] == [
        (f"0-9/{size}".encode(), CONTENT[:10]),
        (f"100-199/{size}".encode(), CONTENT[100:200]),
        (f"{size - 5}-{size - 1}/{size}".encode(), CONTENT[-5:]),
    ]
    assert len(many.content) == int(many.headers["content-length"])
    for nonsense in ("bytes=9-5", "lines=1-2", "x", "bytes=" + ",".join(["0-1"] * 100)):
        assert (fetch(service, Range=nonsense).status_code, fetch(service, Range=nonsense).content) == (200, CONTENT)
    beyond = fetch(service, Range=f"bytes={size}-")
    assert (beyond.status_code, beyond.headers["content-range"], beyond.content) == (416, f"bytes */{size}", b"")


def test_what_somebody_has_already_is_not_sent_again(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=3)
    first = fetch(service)
    tag = first.headers["etag"]
    for header in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        answer = fetch(service, **{"If-None-Match": header})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    assert downloads_left(ana, file) == 2
    same = {"Range": "bytes=9000-", "If-Range": tag}
    assert (fetch(service, **same).status_code, downloads_left(ana, file)) == (206, 2)
    assert fetch(service, **{**same, "If-Range": first.headers["last-modified"]}).status_code == 206
    other = fetch(service, **{**same, "If-Range": '"another version"'})
    assert (other.status_code, other.content, downloads_left(ana, file)) == (200, CONTENT, 1)


def test_a_plus_shows_what_a_file_is_without_taking_it(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    assert "a.bin" in browse(service, "mine+").text
    assert (fetch(service, "mine+").json()["size"], fetch(service, "mine+").json()["left"]) == (len(CONTENT), 1)
    assert downloads_left(ana, file) == 1
    assert fetch(service).status_code == 200
    assert fetch(service, "mine+").status_code == 410


def test_a_file_on_a_branded_domain_is_there_and_nowhere_else(ana: Person, service: Inside) -> None:
    ana.post("/domain/add", {"domain": "https://go.brand.example"})
    new_file(ana, "a.bin", CONTENT, custom="mine", domain="go.brand.example")
    assert fetch(service).status_code == 404
    assert fetch(service, "https://go.brand.example/mine").content == CONTENT
    assert "a.bin" in browse(service, "https://go.brand.example/mine").text


def test_bytes_that_were_lost_cost_nobody_a_download(ana: Person, service: Inside, tmp_path: Path) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    (lost,) = objects(tmp_path)
    lost.rename(tmp_path / "found")
    assert fetch(service).status_code == 410
    (tmp_path / "found").rename(lost)
    assert (downloads_left(ana, file), fetch(service).status_code) == (1, 200)
