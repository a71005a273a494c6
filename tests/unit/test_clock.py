"""Times as text: whole seconds, UTC (decisions 5, 21 and 43)."""

import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from waypost.core import clock

MAX_SECOND = 253402300799  # 9999-12-31 23:59:59


def _utc(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp())


def test_now_returns_whole_seconds_and_milliseconds() -> None:
    with time_machine.travel(datetime(2030, 5, 6, 7, 8, 9, 987654, UTC), tick=False):
        assert clock.now() == _utc("2030-05-06 07:08:09")
        assert clock.now_ms() == _utc("2030-05-06 07:08:09") * 1000 + 987


@pytest.mark.parametrize(
    ("second", "text"),
    [
        (0, "1970-01-01 00:00:00"),
        (951_782_400, "2000-02-29 00:00:00"),
        (2_147_483_648, "2038-01-19 03:14:08"),
        (MAX_SECOND, "9999-12-31 23:59:59"),
    ],
)
def test_text_is_in_utc_in_any_time_zone(second: int, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert clock.text(second) == text
        assert clock.day(second) == text[:10]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_latest_timestamp_equals_never() -> None:
    assert clock.text(MAX_SECOND) == clock.NEVER


@given(st.integers(0, MAX_SECOND))
def test_formatted_time_is_parsed_to_same_second(second: int) -> None:
    assert clock.last_second(clock.text(second)) == second
    end = clock.last_second(clock.day(second))
    assert clock.text(end) == f"{clock.day(second)} 23:59:59"


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("2030-01-31", _utc("2030-01-31 23:59:59")),
        ("2028-02-29", _utc("2028-02-29 23:59:59")),
        ("9999-12-31", MAX_SECOND),
        ("2030-01-31 10:20:30", _utc("2030-01-31 10:20:30")),
        ("2030-01-31T10:20:30", _utc("2030-01-31 10:20:30")),
        ("2030-01-31T10:20:30Z", _utc("2030-01-31 10:20:30")),
        ("2030-01-31 10:20:30.5", _utc("2030-01-31 10:20:30")),
        ("2030-01-31T10:20:30+02:00", _utc("2030-01-31 08:20:30")),
        ("2030-01-31t10:20:30.5z", _utc("2030-01-31 10:20:30")),
        ("2030-01-31 10:20:30+02", _utc("2030-01-31 08:20:30")),  # PostgreSQL
        ("2030-01-31 10:20:30.123-03", _utc("2030-01-31 13:20:30")),
        ("2030-01-31 10:20:30 UTC", _utc("2030-01-31 10:20:30")),  # Ruby
        ("2030-01-31T10:20:30 02:00", _utc("2030-01-31 08:20:30")),
        ("2030-01-31 10:20:30  0200 CEST", _utc("2030-01-31 08:20:30")),
        ("2030-01-31 10:20", _utc("2030-01-31 10:20:00")),
        ("2030-01-31 00:00:00", _utc("2030-01-31 00:00:00")),
        ("9999-12-31 23:59:59", MAX_SECOND),
    ],
)
def test_date_is_parsed_to_its_last_second(text: str, second: int) -> None:
    assert clock.last_second(text) == second


@pytest.mark.parametrize(
    ("day", "zone", "second"),
    [
        ("2027-04-03", "America/Santiago", _utc("2027-04-04 03:59:59")),  # 23:00 to 23:59 come twice
        ("2027-10-30", "Asia/Beirut", _utc("2027-10-30 21:59:59")),
        ("2027-10-31", "Europe/Berlin", _utc("2027-10-31 22:59:59")),
        ("2027-03-28", "Europe/Berlin", _utc("2027-03-28 21:59:59")),
    ],
)
def test_day_with_clock_change_lasts_to_its_end(day: str, zone: str, second: int) -> None:
    assert clock.last_second(day, ZoneInfo(zone)) == second
    assert clock.local(second + 1, ZoneInfo(zone)).strftime("%H:%M") == "00:00"


@pytest.mark.parametrize(
    "text",
    [
        *("", "never", "tomorrow", "0", "2030", "2030-01", "20300131", "1893456000"),
        *("2030-13-01", "2030-00-10", "2030-02-30", "2029-02-29", "2030-01-32", "0000-01-01", "10000-01-01"),
        *("2030-1-1", "2030-01-1", "30-01-2030", "31.01.2030", "2030/01/31", "01/31/2030", "2030_01_31"),
        *("2030-W05-1", "2030-W05", "2030-031", "+030-01-31", "-030-01-31"),
        *("2030-01-31 ", " 2030-01-31", "2030-01-31\n", "2030-01-31  10:20:30", "2030-01-31\n10:20:30"),
        *(
            "2030-01-31 24:00:00",
            "2030-01-31 10:60:00",
            "2030-01-31 10:20:60",
            "2030-01-31 10",
            "2030-01-31 10:20:30.",
        ),
        *("2030-01-31 1:2:3", "2030-1-1 10:20:30", "2030-01-31 10:20:30 CET", "2030-01-31T10:20:30+2"),
        *(
            "2030-01-31x10:20:30",
            "2030-01-31 10:20:30x",
            "\u0662\u0660\u0663\u0660-\u0660\u0661-\u0663\u0661",
            "\u0662\u0660\u0663\u0660-\u0660\u0661-\u0663\u0661 10:20:30",
            "\uff12\uff10\uff13\uff10-01-31 10:20",
        ),
    ],
)
def test_invalid_date_raises_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a date"):
        clock.last_second(text)


def test_old_names_of_zones_are_known_without_those_of_the_system() -> None:
    names = "['Asia/Calcutta', 'Europe/Kiev', '../x']"
    code = f"from waypost.core import clock; print(*(clock.zone(name) for name in {names}))"
    environment = {**os.environ, "PYTHONTZPATH": ""}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert result.stdout.split() == ["Asia/Calcutta", "Europe/Kiev", "None"]


@pytest.mark.parametrize(
    "name", ["localtime", "posixrules", "posix/Europe/Berlin", "right/UTC", "Factory", "", "../UTC"]
)
def test_file_of_the_machine_is_no_zone(name: str) -> None:
    assert clock.zone(name) is None
