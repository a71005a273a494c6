"""How often and how long a file is there: what takes a download, what goes on with one, and when its bytes go."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import time_machine
from sqlalchemy import select

from tests.conftest import Person
from tests.support.asgi_client import Inside
from tests.support.files import CONTENT, browse, downloads_left, fetch, new_file, objects
from tests.support.visits import behind_a_proxy, sums
from waypost.db import schema
from waypost.db.database import Database
from waypost.settings import Settings
from waypost.storage.cleanup import StorageCleaner
from waypost.storage.factory import open_store

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
NOW = 1_800_000_000


@pytest.fixture
def strangers(tmp_path: Path, database_url: str, service: Inside) -> Iterator[Inside]:
    """One more process, where everybody may say where they come from."""
    with behind_a_proxy(tmp_path, database_url) as client:
        yield client


def test_a_limit_is_exact_and_past_it_is_a_page_that_says_so(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=2)
    assert [fetch(service).status_code for _ in range(4)] == [200, 200, 410, 410]
    page = browse(service)
    assert (page.status_code, "This file has expired or was used up." in page.text) == (410, True)
    told = fetch(service).json()
    assert told == {"error": 1, "message": "This file has expired or was used up.", "code": "gone"}
    assert ana.get(f"/file/{file}")["details"]["downloads"] == 2
    assert ana.get(f"/file/{file}")["details"]["available"] is False
    assert sums(ana, f"/file/{file}") == {"clicks": 2, "uniqueClicks": 1, "late": 4}
    ana.put(f"/file/{file}/update", {"maxdownloads": 3})
    assert [fetch(service).status_code for _ in range(2)] == [200, 410]


def test_what_was_downloaded_before_a_limit_counts_against_it(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine")
    assert [fetch(service).status_code for _ in range(3)] == [200] * 3
    ana.put(f"/file/{file}/update", {"maxdownloads": 4})
    assert [fetch(service).status_code for _ in range(2)] == [200, 410]


def test_a_resumed_download_does_not_count_twice(ana: Person, service: Inside, strangers: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=2)
    assert fetch(service).status_code == 200
    for start in (5000, 9000, 10_000, 10_239):
        answer = fetch(service, Range=f"bytes={start}-")
        assert (answer.status_code, answer.content) == (206, CONTENT[start:])
    assert downloads_left(ana, file) == 1
    elsewhere = {"X-Forwarded-For": "203.0.113.7"}
    assert fetch(strangers, Range="bytes=5000-", **elsewhere).status_code == 206  # who never began takes one
    assert downloads_left(ana, file) == 0
    assert fetch(strangers, Range="bytes=5000-", **{"X-Forwarded-For": "203.0.113.8"}).status_code == 410
    assert fetch(service, Range="bytes=10000-").status_code == 206


def test_a_range_from_the_beginning_takes_a_download(ana: Person, service: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=4)
    for wanted in ("bytes=0-", "bytes=0-0", "bytes=5-6,0-1", "bytes=-99999"):
        assert fetch(service, Range=wanted).status_code in (200, 206)
    assert downloads_left(ana, file) == 0
    assert fetch(service, Range="bytes=0-").status_code == 410


def test_going_on_ends_when_twice_the_bytes_are_served(ana: Person, service: Inside) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    assert fetch(service).status_code == 200
    assert fetch(service, Range="bytes=1-").status_code == 206
    assert fetch(service, Range="bytes=1-").status_code == 410
    assert fetch(service, Range="bytes=-1").status_code == 206  # one byte was left
    assert fetch(service, Range="bytes=-1").status_code == 410


def test_going_on_ends_after_a_day(ana: Person, service: Inside) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
        assert fetch(service).status_code == 200
        clock.shift(86_400)
        assert fetch(service, Range="bytes=9000-").status_code == 206
        clock.shift(1)
        assert fetch(service, Range="bytes=9000-").status_code == 410


def test_a_browser_goes_on_by_its_token_wherever_it_is(ana: Person, service: Inside, strangers: Inside) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=2)
    new_file(ana, "b.bin", CONTENT, custom="other", maxdownloads=1)
    began = browse(service, "mine?download=1")
    told = began.headers["set-cookie"]
    assert "; HttpOnly; " in told
    assert "; Path=/mine; " in told
    token = told.partition(";")[0]
    service.cookies.clear()
    moved = {"X-Forwarded-For": "203.0.113.9", "Cookie": token, "Range": "bytes=9000-"}
    assert browse(strangers, "mine?download=1", **moved).status_code == 206
    assert fetch(strangers, **moved).status_code == 206  # its own download manager asks like a program
    assert downloads_left(ana, file) == 1
    stolen = browse(strangers, "other?download=1", **moved)  # a token of another file is none
    assert (stolen.status_code, "set-cookie" in stolen.headers) == (206, True)
    assert browse(strangers, "other?download=1", **moved).status_code == 410
    for forged in (token[:-1] + "x", "wp_visitor=", "wp_visitor=a.b", "wp_visitor=" + "x" * 3000):
        answer = browse(strangers, "mine?download=1", **{**moved, "Cookie": forged})
        assert answer.status_code in (206, 410)
    assert downloads_left(ana, file) == 0


def test_only_hashes_of_visitors_are_kept(ana: Person, strangers: Inside, database: Database) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine")
    new_file(ana, "b.bin", CONTENT, custom="other")
    for path in ("mine", "other"):
        fetch(strangers, path, **{"X-Forwarded-For": "203.0.113.9"})
    kept = database.read(lambda tx: tx.execute(select(schema.download_grants.c.visitor)).scalars().all())
    assert len({bytes(one) for one in kept}) == 2
    assert not [one for one in kept if b"203" in bytes(one) or len(one) != 16]


def test_a_file_ends_with_its_day_to_the_second(ana: Person, service: Inside) -> None:
    with time_machine.travel("2027-03-01 12:00:00Z", tick=False) as clock:
        file = new_file(ana, "a.bin", CONTENT, custom="mine", expiry="2027-03-01")
        clock.move_to("2027-03-01 23:59:59Z")
        assert (fetch(service).status_code, browse(service).status_code) == (200, 200)
        clock.move_to("2027-03-02 00:00:00Z")
        assert (fetch(service).status_code, browse(service).status_code) == (410, 410)
        assert fetch(service, Range="bytes=5-").status_code == 410
        ana.put(f"/file/{file}/update", {"expiry": "2027-03-03"})
        assert fetch(service).status_code == 200


def test_bytes_are_removed_after_the_days_of_grace_and_the_count_stays(
    ana: Person, service: Inside, database: Database, settings: Settings, tmp_path: Path
) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        keeper = StorageCleaner(database, open_store(settings), grace_days=7)
        used = new_file(ana, "a.bin", b"used", custom="used", maxdownloads=1)
        gone = new_file(ana, "b.bin", b"gone", custom="gone", expiry="2027-01-15")
        kept = new_file(ana, "c.bin", b"kept", custom="kept", expiry="2027-01-15")
        new_file(ana, "d.bin", b"live", custom="live", expiry="2030-01-15")
        assert fetch(service, "used").status_code == 200
        clock.shift(86_400)  # the first was over a day ago, two more just now
        keeper.step()
        clock.shift(6 * 86_400 - 1)
        keeper.step()
        assert len(objects(tmp_path)) == 4
        clock.shift(86_400)
        keeper.step()
        keeper.step()
        assert sorted(path.read_bytes() for path in objects(tmp_path)) == [b"gone", b"kept", b"live"]
        ana.put(f"/file/{kept}/update", {"expiry": "2027-02-28"})  # within the grace
        clock.shift(61)
        keeper.step()
        keeper.step()
        assert sorted(path.read_bytes() for path in objects(tmp_path)) == [b"kept", b"live"]
        assert fetch(service, "kept").content == b"kept"
        for file, field, value in (
            (used, "maxdownloads", 5),
            (gone, "expiry", "2027-02-28"),
            (used, "maxdownloads", None),
        ):
            answer = ana.call("PUT", f"/file/{file}/update", {field: value})
            assert (answer.status_code, answer.json()["field"]) == (400, field)
            assert "upload it again" in answer.json()["message"]
            ana.put(f"/file/{file}/update", {"name": "Renamed"})
        assert [fetch(service, path).status_code for path in ("used", "gone")] == [410, 410]
        details = ana.get(f"/file/{used}")["details"]
        assert (details["downloads"], details["kept"], details["available"], details["size"]) == (1, False, False, 4)
        assert database.read(lambda tx: tx.execute(select(schema.accounts.c.stored)).scalars().first()) == 8
        ana.delete(f"/file/{used}/delete")
