"""Scheduled blocks of bio pages: visible from the first to the last second, also on cached pages."""

from datetime import UTC, datetime

import pytest
import time_machine

from tests.conftest import Person
from tests.support.bios import new_bio, open_bio
from tests.support.databases import ON_SQLITE
from tests.support.protocol import protocol_client
from tests.support.visits import visit
from waypost.core.settings import Settings
from waypost.db.database import Database

LINK = {"type": "link", "title": "Sale", "url": "https://example.com/sale"}
START = datetime(2027, 1, 15, 8, 0, 0, tzinfo=UTC)
SPAN = {"showfrom": "2027-01-15 08:00:10", "showuntil": "2027-01-15 08:00:20"}


def test_block_is_shown_from_first_to_last_second(ana: Person) -> None:
    with time_machine.travel(START, tick=False) as clock:
        bio = new_bio(ana, blocks=[{**LINK, **SPAN}])
        block = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
        for second, is_shown in ((0, False), (9, False), (10, True), (20, True), (21, False)):
            clock.move_to(START.timestamp() + second)
            assert ("Sale" in open_bio(ana).text) is is_shown, second
            program = visit(ana.client, "ana-costa", headers={"Accept": "application/json"}).json()
            assert len(program["blocks"]) == is_shown
            assert not {"showfrom", "showuntil"} & {name for shown in program["blocks"] for name in shown}
            assert visit(ana.client, f"ana-costa/{block}").status_code == (302 if is_shown else 404)


@ON_SQLITE
def test_cached_page_ends_at_next_switch(settings: Settings, database: Database) -> None:
    with time_machine.travel(START, tick=False) as clock, protocol_client(settings, database) as client:
        client.add_link("spring")  # creates the account
        body = {"name": "Ana", "alias": "ana", "blocks": [{**LINK, **SPAN}]}
        assert client.request(client.api_request("POST", "/api/bio/add", body))[9:12] == b"200"
        request = b"GET /ana HTTP/1.1\r\nHost: go.localhost:8000\r\nAccept: text/html\r\n\r\n"
        for second, is_shown, end in (
            (0, False, 10),
            (9, False, 10),
            (10, True, 21),
            (20, True, 21),
            (21, False, 3600),
        ):
            clock.move_to(START.timestamp() + second)
            assert (b"Sale" in client.request(request)) is is_shown, second
            (cached,) = (body for body in client.worker_state.cache.bodies.values() if body.name == ("", "ana"))
            assert cached.until_ms == (START.timestamp() + end) * 1000, second


@ON_SQLITE
@pytest.mark.parametrize(
    ("fields", "stored"),
    [
        ({"showfrom": "2027-01-15"}, {"showfrom": "2027-01-15 00:00:00"}),
        ({"showuntil": "2027-01-15"}, {"showuntil": "2027-01-15 23:59:59"}),
        ({"showfrom": "2027-01-15T10:00:00+02:00"}, {"showfrom": "2027-01-15 08:00:00"}),
        ({"showfrom": "", "showuntil": ""}, {"showfrom": "", "showuntil": ""}),
    ],
)
def test_dates_include_the_whole_day(ana: Person, fields: dict[str, str], stored: dict[str, str]) -> None:
    bio = new_bio(ana, blocks=[{**LINK, **fields}])
    assert ana.details("bio", bio)["blocks"] == [{**LINK, **stored}]


@ON_SQLITE
def test_invalid_schedule_is_refused(ana: Person) -> None:
    for fields, message in (
        ({"showfrom": "soon"}, "must be a date, YYYY-MM-DD, or YYYY-MM-DD HH:MM:SS in UTC"),
        ({"showfrom": "2027-01-15", "showuntil": "2027-01-14"}, "must not be before the start"),
    ):
        error = ana.call("POST", "/bio/add", {"name": "Ana", "blocks": [{**LINK, **fields}]}).json()
        assert message in error["message"]
