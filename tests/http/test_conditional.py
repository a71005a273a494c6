"""Conditional requests: preconditions in the order of RFC 9110, and the dates of HTTP."""

import pytest
import time_machine
from starlette.datastructures import Headers

from waypost.http.conditional import Validators

_MODIFIED = 1_800_000_000  # Fri, 15 Jan 2027 08:00:00 GMT
_FILE = Validators('"a"', _MODIFIED)
_BEFORE, _SAME, _AFTER = (f"Fri, 15 Jan 2027 {time} GMT" for time in ("07:59:59", "08:00:00", "08:00:01"))
_CASES: tuple[tuple[dict[str, str], int | None], ...] = (
    ({"If-None-Match": '"a"'}, 304),
    ({"If-None-Match": 'W/"a"'}, 304),
    ({"If-None-Match": '"b", "a"'}, 304),
    ({"If-None-Match": '"x,y","a"'}, 304),
    ({"If-None-Match": " * "}, 304),
    ({"If-None-Match": '"b"'}, None),
    ({"If-None-Match": '"b,a"'}, None),
    ({"If-None-Match": "a"}, None),
    ({"If-None-Match": ""}, None),
    ({"If-None-Match": '"b"', "If-Modified-Since": _AFTER}, None),
    ({"If-Modified-Since": _BEFORE}, None),
    ({"If-Modified-Since": _SAME}, 304),
    ({"If-Modified-Since": _AFTER}, 304),
    ({"If-Modified-Since": "Friday, 15-Jan-27 08:00:00 GMT"}, 304),
    ({"If-Modified-Since": "Fri Jan 15 08:00:00 2027"}, 304),
    ({"If-Modified-Since": "2027-01-15 08:00:00"}, None),
    ({"If-Modified-Since": "tomorrow"}, None),
    ({"If-Match": '"a"'}, None),
    ({"If-Match": "*"}, None),
    ({"If-Match": 'W/"a"'}, 412),
    ({"If-Match": '"b"'}, 412),
    ({"If-Match": '"a"', "If-Unmodified-Since": _BEFORE}, None),
    ({"If-Unmodified-Since": _BEFORE}, 412),
    ({"If-Unmodified-Since": _SAME}, None),
    ({"If-Unmodified-Since": "yesterday"}, None),
    ({"If-Match": '"b"', "If-None-Match": '"a"'}, 412),
)


@pytest.mark.parametrize(("headers", "status"), _CASES)
def test_preconditions_have_status_of_rfc_9110(headers: dict[str, str], status: int | None) -> None:
    assert _FILE.status("GET", Headers(headers)) == status


def test_preconditions_of_a_change_fail_with_412() -> None:
    assert _FILE.status("POST", Headers({"If-None-Match": "*"})) == 412
    assert _FILE.status("POST", Headers({"If-Modified-Since": _AFTER})) is None


def test_dates_without_known_modification_are_ignored() -> None:
    image = Validators('"a"')
    assert image.headers == {"ETag": '"a"'}
    for header in ("If-Modified-Since", "If-Unmodified-Since"):
        assert image.status("GET", Headers({header: _BEFORE})) is None
    assert not image.allows_range(Headers({"If-Range": _SAME}))


def test_if_range_needs_exactly_this_version() -> None:
    for value in ('"a"', _SAME, "Fri Jan 15 08:00:00 2027"):
        assert _FILE.allows_range(Headers({"If-Range": value}))
    for value in ('W/"a"', '"b"', "*", "", _BEFORE, _AFTER):
        assert not _FILE.allows_range(Headers({"If-Range": value}))
    assert _FILE.allows_range(Headers({}))


def test_year_of_two_digits_is_at_most_50_years_ahead() -> None:
    with time_machine.travel("2026-06-01 00:00:00Z", tick=False):
        old = Validators('"a"', 784_111_777)  # Sun, 06 Nov 1994 08:49:37 GMT
        assert old.status("GET", Headers({"If-Modified-Since": "Sunday, 06-Nov-94 08:49:37 GMT"})) == 304
        assert old.status("GET", Headers({"If-Modified-Since": "Sunday, 06-Nov-77 08:49:37 GMT"})) is None
        assert old.status("GET", Headers({"If-Modified-Since": "Friday, 06-Nov-76 08:49:37 GMT"})) == 304
