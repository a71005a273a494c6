"""Visits to files: who gets a page and who the bytes, what counts, and what goes on with what (decisions 21 and 22)."""

from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
import time_machine
from sqlalchemy import select

from tests.conftest import Person
from tests.filing import PNG, new_file
from tests.inside import Inside
from tests.visiting import CHROME, CURL, GOOGLEBOT, PAGE, SLACK, behind_a_proxy, sums, visit
from waypost import schema
from waypost.db import Database
from waypost.files.keeping import Keeper
from waypost.settings import Settings
from waypost.storage.opening import open_store

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
CONTENT = bytes(range(256)) * 40
NOW = 1_800_000_000
WORD = "open sésame"


def _get(service: Any, path: str = "mine", *, agent: str = CURL, **headers: str) -> Any:
    return visit(service, path, agent=agent, headers=headers)


def _browse(service: Any, path: str = "mine", **headers: str) -> Any:
    return visit(service, path, agent=CHROME, headers={**PAGE, **headers})


def _left(person: Person, file: int) -> int:
    details = person.get(f"/file/{file}")["details"]
    return int(details["maxdownloads"] - details["downloads"])


@pytest.fixture
def strangers(tmp_path: Path, database_url: str, service: Inside) -> Iterator[Inside]:
    """One more process, where everybody may say where they come from."""
    with behind_a_proxy(tmp_path, database_url) as client:
        yield client


def test_a_browser_gets_a_page_and_a_program_the_bytes(ana: Person, service: Inside) -> None:
    file = new_file(ana, "my <b>report.pdf", CONTENT, custom="mine", maxdownloads=5, expiry="2999-12-31")
    page = _browse(service)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    for words in ("my &lt;b&gt;report.pdf", "10 kB", "5 downloads left", "2999-12-31 23:59 UTC"):
        assert words in page.text
    assert 'href="/mine?download=1"' in page.text
    assert "<script" not in page.text
    assert sums(ana, f"/file/{file}") == {}
    for answer in (_get(service), _browse(service, "mine?download=1")):
        assert (answer.status_code, answer.content) == (200, CONTENT)
    assert "3 downloads left" in _browse(service).text
    assert sums(ana, f"/file/{file}") == {"clicks": 2, "uniqueClicks": 2}


def test_a_picture_whose_bytes_are_lost_is_gone(ana: Person, service: Inside, tmp_path: Path) -> None:
    new_file(ana, "photo.png", PNG, custom="mine")
    for stored in (tmp_path / "files").rglob("*"):
        if stored.is_file():
            stored.unlink()
    for path in ("mine?preview=1", "mine?download=1", "mine"):
        assert _get(service, path).status_code == 410


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
            answer = _browse(service, path) if "?" in path else _get(service, path)
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
        page = _browse(service, f"file-{number}")
        assert ("?preview=1" in page.text) is shown, name
        assert "img-src 'self' data:" in page.headers["content-security-policy"]
        preview = _browse(service, f"file-{number}?preview=1")
        assert (preview.content == content) is shown
        assert sums(ana, f"/file/{file}") == {}


def test_head_tells_what_get_would_send_and_takes_nothing(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    for _ in range(3):
        answer = visit(service, "mine", "HEAD", agent=CURL)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-length"] == str(len(CONTENT))
        assert answer.headers["accept-ranges"] == "bytes"
    assert _get(service).content == CONTENT
    assert visit(service, "mine", "HEAD", agent=CURL).status_code == 410
    assert sums(ana, f"/file/{file}") == {"clicks": 1, "uniqueClicks": 1, "others": 4}


def test_crawlers_previews_and_prefetches_get_no_bytes_and_take_nothing(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    for agent in (GOOGLEBOT, SLACK):
        for path in ("mine", "mine?download=1"):
            answer = _get(service, path, agent=agent)
            assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert _get(service, **{"Sec-Purpose": "prefetch"}).headers["content-type"].startswith("text/html")
    assert _get(service).content == CONTENT
    assert sums(ana, f"/file/{file}") == {"clicks": 1, "uniqueClicks": 1, "bots": 2, "previews": 2, "others": 1}


def test_a_file_is_sent_in_parts(ana: Person, service: Inside) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine")
    size = len(CONTENT)
    for wanted, start, end in (("bytes=0-", 0, size), ("bytes=5-9", 5, 10), ("bytes=-7", size - 7, size)):
        answer = _get(service, Range=wanted)
        assert answer.content == CONTENT[start:end]
        assert answer.status_code == (200 if (start, end) == (0, size) else 206)
        if answer.status_code == 206:
            assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{size}"
    many = _get(service, Range="bytes=0-9, 100-199, -5")
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
        assert (_get(service, Range=nonsense).status_code, _get(service, Range=nonsense).content) == (200, CONTENT)
    beyond = _get(service, Range=f"bytes={size}-")
    assert (beyond.status_code, beyond.headers["content-range"], beyond.content) == (416, f"bytes */{size}", b"")


def test_what_somebody_has_already_is_not_sent_again(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=3)
    first = _get(service)
    tag = first.headers["etag"]
    for header in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        answer = _get(service, **{"If-None-Match": header})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    assert _left(ana, file) == 2
    same = {"Range": "bytes=9000-", "If-Range": tag}
    assert (_get(service, **same).status_code, _left(ana, file)) == (206, 2)
    assert _get(service, **{**same, "If-Range": first.headers["last-modified"]}).status_code == 206
    other = _get(service, **{**same, "If-Range": '"another version"'})
    assert (other.status_code, other.content, _left(ana, file)) == (200, CONTENT, 1)


def test_a_limit_is_exact_and_past_it_is_a_page_that_says_so(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=2)
    assert [_get(service).status_code for _ in range(4)] == [200, 200, 410, 410]
    page = _browse(service)
    assert (page.status_code, "This file has expired or was used up." in page.text) == (410, True)
    told = _get(service).json()
    assert told == {"error": 1, "message": "This file has expired or was used up.", "code": "gone"}
    assert ana.get(f"/file/{file}")["details"]["downloads"] == 2
    assert ana.get(f"/file/{file}")["details"]["available"] is False
    assert sums(ana, f"/file/{file}") == {"clicks": 2, "uniqueClicks": 1, "late": 4}
    ana.put(f"/file/{file}/update", {"maxdownloads": 3})
    assert [_get(service).status_code for _ in range(2)] == [200, 410]


def test_what_was_downloaded_before_a_limit_counts_against_it(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine")
    assert [_get(service).status_code for _ in range(3)] == [200] * 3
    ana.put(f"/file/{file}/update", {"maxdownloads": 4})
    assert [_get(service).status_code for _ in range(2)] == [200, 410]


def test_a_resumed_download_does_not_count_twice(ana: Person, service: Inside, strangers: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=2)
    assert _get(service).status_code == 200
    for start in (5000, 9000, 10_000, 10_239):
        answer = _get(service, Range=f"bytes={start}-")
        assert (answer.status_code, answer.content) == (206, CONTENT[start:])
    assert _left(ana, file) == 1
    elsewhere = {"X-Forwarded-For": "203.0.113.7"}
    assert _get(strangers, Range="bytes=5000-", **elsewhere).status_code == 206  # who never began takes one
    assert _left(ana, file) == 0
    assert _get(strangers, Range="bytes=5000-", **{"X-Forwarded-For": "203.0.113.8"}).status_code == 410
    assert _get(service, Range="bytes=10000-").status_code == 206


def test_a_range_from_the_beginning_takes_a_download(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=4)
    for wanted in ("bytes=0-", "bytes=0-0", "bytes=5-6,0-1", "bytes=-99999"):
        assert _get(service, Range=wanted).status_code in (200, 206)
    assert _left(ana, file) == 0
    assert _get(service, Range="bytes=0-").status_code == 410


def test_going_on_ends_when_twice_the_bytes_are_served(ana: Person, service: Inside) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    assert _get(service).status_code == 200
    assert _get(service, Range="bytes=1-").status_code == 206
    assert _get(service, Range="bytes=1-").status_code == 410
    assert _get(service, Range="bytes=-1").status_code == 206  # one byte was left
    assert _get(service, Range="bytes=-1").status_code == 410


def test_going_on_ends_after_a_day(ana: Person, service: Inside) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
        assert _get(service).status_code == 200
        clock.shift(86_400)
        assert _get(service, Range="bytes=9000-").status_code == 206
        clock.shift(1)
        assert _get(service, Range="bytes=9000-").status_code == 410


def test_a_browser_goes_on_by_its_token_wherever_it_is(ana: Person, service: Inside, strangers: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=2)
    new_file(ana, "b.bin", CONTENT, custom="other", maxdownloads=1)
    began = _browse(service, "mine?download=1")
    told = began.headers["set-cookie"]
    assert "; HttpOnly; " in told
    assert "; Path=/mine; " in told
    token = told.partition(";")[0]
    service.cookies.clear()
    moved = {"X-Forwarded-For": "203.0.113.9", "Cookie": token, "Range": "bytes=9000-"}
    assert _browse(strangers, "mine?download=1", **moved).status_code == 206
    assert _get(strangers, **moved).status_code == 206  # its own download manager asks like a program
    assert _left(ana, file) == 1
    stolen = _browse(strangers, "other?download=1", **moved)  # a token of another file is none
    assert (stolen.status_code, "set-cookie" in stolen.headers) == (206, True)
    assert _browse(strangers, "other?download=1", **moved).status_code == 410
    for forged in (token[:-1] + "x", "wp_visitor=", "wp_visitor=a.b", "wp_visitor=" + "x" * 3000):
        answer = _browse(strangers, "mine?download=1", **{**moved, "Cookie": forged})
        assert answer.status_code in (206, 410)
    assert _left(ana, file) == 0


def test_only_hashes_of_visitors_are_kept(ana: Person, strangers: Inside, database: Database) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine")
    new_file(ana, "b.bin", CONTENT, custom="other")
    for path in ("mine", "other"):
        _get(strangers, path, **{"X-Forwarded-For": "203.0.113.9"})
    kept = database.read(lambda tx: tx.execute(select(schema.claims.c.visitor)).scalars().all())
    assert len({bytes(one) for one in kept}) == 2
    assert not [one for one in kept if b"203" in bytes(one) or len(one) != 16]


def test_a_file_ends_with_its_day_to_the_second(ana: Person, service: Inside) -> None:
    with time_machine.travel("2027-03-01 12:00:00Z", tick=False) as clock:
        file = new_file(ana, "a.bin", CONTENT, custom="mine", expiry="2027-03-01")
        clock.move_to("2027-03-01 23:59:59Z")
        assert (_get(service).status_code, _browse(service).status_code) == (200, 200)
        clock.move_to("2027-03-02 00:00:00Z")
        assert (_get(service).status_code, _browse(service).status_code) == (410, 410)
        assert _get(service, Range="bytes=5-").status_code == 410
        ana.put(f"/file/{file}/update", {"expiry": "2027-03-03"})
        assert _get(service).status_code == 200


def _bytes_of(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in (folder / "files").rglob("*") if path.is_file()]


def test_bytes_are_removed_after_the_days_of_grace_and_the_count_stays(
    ana: Person, service: Inside, database: Database, settings: Settings, tmp_path: Path
) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        keeper = Keeper(database, open_store(settings), grace_days=7)
        used = new_file(ana, "a.bin", b"used", custom="used", maxdownloads=1)
        gone = new_file(ana, "b.bin", b"gone", custom="gone", expiry="2027-01-15")
        kept = new_file(ana, "c.bin", b"kept", custom="kept", expiry="2027-01-15")
        new_file(ana, "d.bin", b"live", custom="live", expiry="2030-01-15")
        assert _get(service, "used").status_code == 200
        clock.shift(86_400)  # the first was over a day ago, two more just now
        keeper.step()
        clock.shift(6 * 86_400 - 1)
        keeper.step()
        assert len(_bytes_of(tmp_path)) == 4
        clock.shift(86_400)
        keeper.step()
        keeper.step()
        assert sorted(_bytes_of(tmp_path)) == [b"gone", b"kept", b"live"]
        ana.put(f"/file/{kept}/update", {"expiry": "2027-02-28"})  # within the grace
        clock.shift(61)
        keeper.step()
        keeper.step()
        assert sorted(_bytes_of(tmp_path)) == [b"kept", b"live"]
        assert _get(service, "kept").content == b"kept"
        for file, field, value in (
            (used, "maxdownloads", 5),
            (gone, "expiry", "2027-02-28"),
            (used, "maxdownloads", None),
        ):
            answer = ana.call("PUT", f"/file/{file}/update", {field: value})
            assert (answer.status_code, answer.json()["field"]) == (400, field)
            assert "upload it again" in answer.json()["message"]
            ana.put(f"/file/{file}/update", {"name": "Renamed"})
        assert [_get(service, path).status_code for path in ("used", "gone")] == [410, 410]
        details = ana.get(f"/file/{used}")["details"]
        assert (details["downloads"], details["kept"], details["available"], details["size"]) == (1, False, False, 4)
        assert database.read(lambda tx: tx.execute(select(schema.accounts.c.stored)).scalars().first()) == 8
        ana.delete(f"/file/{used}/delete")


def test_a_password_is_asked_for_and_opens_the_page(ana: Person, service: Inside, strangers: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", password=WORD, maxdownloads=5)
    page = _browse(service)
    assert (page.status_code, "This file is protected by a password." in page.text) == (401, True)
    assert "a.bin" not in page.text
    for answer in (
        _get(service),
        _browse(service, "mine?download=1"),
        visit(service, "mine", "HEAD"),
        _get(service, "mine+"),
    ):
        assert answer.status_code in (401, 404)
        assert answer.headers.get("content-length") != str(len(CONTENT))
    wrong = visit(service, "mine", "POST", data={"password": "guess"}, headers=PAGE)
    assert (wrong.status_code, "That is not the password." in wrong.text) == (401, True)
    right = visit(service, "mine", "POST", data={"password": WORD}, headers=PAGE)
    assert (right.status_code, right.headers["location"]) == (303, "/mine")
    token = right.headers["set-cookie"].partition(";")[0]
    service.cookies.clear()
    assert "a.bin" in _browse(service, Cookie=token).text
    assert _browse(service, "mine?download=1", Cookie=token).content == CONTENT
    service.cookies.clear()
    assert _browse(service).status_code == 401  # nobody else is let in by that
    ana.put(f"/file/{file}/update", {"password": "another word"})
    assert _browse(service, Cookie=token).status_code == 401
    assert _left(ana, file) == 4


def test_programs_send_the_password_by_http_basic(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", password=WORD)
    asked = _get(service)
    assert (asked.status_code, asked.headers["www-authenticate"][:6]) == (401, "Basic ")
    right, wrong = ("any", WORD.encode()), ("any", b"guess")
    assert service.get("/mine", auth=right, headers={"User-Agent": CURL}).content == CONTENT
    assert service.get("/mine", auth=wrong, headers={"User-Agent": CURL}).status_code == 401
    assert visit(service, "mine", "POST", agent=CURL, data={"password": WORD}).content == CONTENT
    assert sums(ana, f"/file/{file}") == {"clicks": 2, "uniqueClicks": 1}


def test_guessing_is_limited(ana: Person, service: Inside) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine", password=WORD)
    new_file(ana, "b.bin", CONTENT, custom="other", password=WORD)
    for _ in range(10):
        assert visit(service, "mine", "POST", data={"password": "guess"}, headers=PAGE).status_code == 401
    late = visit(service, "mine", "POST", data={"password": WORD}, headers=PAGE)
    assert (late.status_code, late.headers["retry-after"]) == (429, "60")
    assert visit(service, "other", "POST", data={"password": WORD}, headers=PAGE).status_code == 303


def test_a_plus_shows_what_a_file_is_without_taking_it(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    assert "a.bin" in _browse(service, "mine+").text
    assert (_get(service, "mine+").json()["size"], _get(service, "mine+").json()["left"]) == (len(CONTENT), 1)
    assert _left(ana, file) == 1
    assert _get(service).status_code == 200
    assert _get(service, "mine+").status_code == 410


def test_a_file_on_a_branded_domain_is_there_and_nowhere_else(ana: Person, service: Inside) -> None:
    ana.post("/domain/add", {"domain": "https://go.brand.example"})
    new_file(ana, "a.bin", CONTENT, custom="mine", domain="go.brand.example")
    assert _get(service).status_code == 404
    assert _get(service, "https://go.brand.example/mine").content == CONTENT
    assert "a.bin" in _browse(service, "https://go.brand.example/mine").text


def test_bytes_that_were_lost_cost_nobody_a_download(ana: Person, service: Inside, tmp_path: Path) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    (lost,) = [path for path in (tmp_path / "files").rglob("*") if path.is_file()]
    lost.rename(tmp_path / "found")
    assert _get(service).status_code == 410
    (tmp_path / "found").rename(lost)
    assert (_left(ana, file), _get(service).status_code) == (1, 200)
