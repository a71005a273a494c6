"""Dates and numbers of CSV files, as spreadsheets, databases and pandas write them."""

import io
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from waypost.core.formats import DateOrder
from waypost.transfer.imports.source_row import Record
from waypost.transfer.imports.sources.csv_files import CsvSource

NEW_YORK = ZoneInfo("America/New_York")


def _read(column: str, text: str, *, zone: ZoneInfo | None = None, order: DateOrder = "month-first") -> Record:
    file = io.BytesIO(f'url,{column}\nhttps://example.com,"{text}"\n'.encode())
    return next(iter(CsvSource(file, {}, zone, order)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1/15/2027 9:05", "2027-01-15 09:05:00"),
        ("1/15/2027, 6:05 PM", "2027-01-15 18:05:00"),
        ("1/15/2027 12:05:06 a.m.", "2027-01-15 00:05:06"),
        ("15.1.2027 9:05", "2027-01-15 09:05:00"),
        ("2027/1/15 9:05", "2027-01-15 09:05:00"),
        ("2027.1.15 18:05", "2027-01-15 18:05:00"),
        ("2027-1-15 9:05:06", "2027-01-15 09:05:06"),
        ("2027-01-15 09:05:06 UTC", "2027-01-15 09:05:06"),
        ("2027-01-15 09:05:06 +0100 CET", "2027-01-15 08:05:06"),
        ("2027-01-15 09:05:06 +0000 UTC", "2027-01-15 09:05:06"),
        ("46402.75", "2027-01-15 18:00:00"),
        ("1800000000.0", "2027-01-15 08:00:00"),
        ("2027/1/15", "2027-01-15 23:59:59"),
        ("46402", "2027-01-15 23:59:59"),
    ],
)
def test_date_of_a_spreadsheet_or_database_is_read(text: str, expected: str) -> None:
    record = _read("expiry", text)
    assert record.problem == ""
    assert record.expiry is not None
    assert datetime.fromtimestamp(record.expiry, UTC).strftime("%Y-%m-%d %H:%M:%S") == expected


def test_date_of_a_spreadsheet_is_in_the_zone_of_the_import() -> None:
    assert _read("expiry", "46402.75", zone=NEW_YORK).expiry == _read("expiry", "2027-01-15 23:00").expiry
    assert _read("created", "2027/1/15", zone=NEW_YORK).created == _read("created", "2027-01-15 05:00").created


@pytest.mark.parametrize("text", ["NULL", "NaT", "never", "-", "0000-00-00 00:00:00"])
def test_word_for_no_date_means_none(text: str) -> None:
    record = _read("expiry", text)
    assert (record.expiry, record.problem) == (None, "")
    record = _read("created", text)
    assert (record.created, record.losses) == (None, [])


@pytest.mark.parametrize("text", ["1/15/2027 25:05", "1/15/2027 13:05 PM", "2027/13/1", "12345", "tomorrow UTC"])
def test_text_that_is_no_date_is_a_problem(text: str) -> None:
    assert "expiry must be a date" in _read("expiry", text).problem


@pytest.mark.parametrize(
    ("text", "clicks"),
    [
        ("12.0", 12),
        ("12,00", 12),
        ("1,234", 1234),
        ("1.234,0", 1234),
        ("1,234,567.00", 1234567),
        ("1\u202f234", 1234),
        ("1'234", 1234),
        ("", 0),
    ],
)
def test_number_of_clicks_with_groups_or_zeros_after_the_point_is_read(text: str, clicks: int) -> None:
    record = _read("clicks", text)
    assert (record.clicks, record.losses) == (clicks, [])
    assert _read("clicklimit", text).clicklimit == (clicks or None)


@pytest.mark.parametrize("text", ["1.5", "12,5", "1e3", "-3", "1,23,456"])
def test_number_of_clicks_that_is_no_whole_number_is_a_loss(text: str) -> None:
    record = _read("clicks", text)
    assert (record.clicks, record.losses) == (0, ["the clicks are not a number"])
    assert _read("clicklimit", text).problem == "clicklimit must be a whole number from 1."


def test_missing_value_of_a_database_is_no_text_and_no_password() -> None:
    record = _read("password", "NULL")
    assert (record.password, record.is_disabled, record.losses) == ("", False, [])
    assert _read("title", "NULL").title == ""
    assert _read("title", r"\N").title == ""
    assert _read("title", "Null and void").title == "Null and void"


def test_columns_of_t_ly_and_tinyurl_are_known() -> None:
    record = _read("expire_at_datetime", "2027-01-02 03:04:05")
    assert record.expiry == _read("expiry", "2027-01-02 03:04:05").expiry
    assert _read("expire_at_views", "10").clicklimit == 10
    record = _read("TinyURL", "https://tinyurl.com/abc")
    assert (record.host, record.alias) == ("tinyurl.com", "abc")
