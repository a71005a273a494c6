"""Formats by language: those of the Unicode CLDR, which Babel contains."""

import re
from datetime import UTC, date, datetime, time

import pytest
from babel import Locale
from babel.dates import format_time, get_time_format
from babel.lists import format_list
from babel.localedata import locale_identifiers
from babel.numbers import format_decimal, format_percent

from waypost.clicks.classify import language_ranges
from waypost.core import formats
from waypost.core.languages import LANGUAGES, PSEUDO_LANGUAGE, translations
from waypost.http import media_types

# English is that of Europe, `pt` that of Brazil; weeks begin as in the largest country of the language in Europe,
# for Portuguese as in Brazil and Portugal, for Arabic and the pseudo-language as in Egypt.
LOCALES = {
    "en": "en_GB",
    "de": "de_DE",
    "fr": "fr_FR",
    "es": "es_ES",
    "pt": "pt_BR",
    "pt-PT": "pt_PT",
    "ar": "ar_EG",
}
_LOCALES = [
    name
    for name in locale_identifiers()
    if re.fullmatch("(en|de|fr|pt)_[A-Z]{2}", name) and name != "en_BI"  # French is more usual in Burundi
]
BY_LANGUAGE = pytest.mark.parametrize(("language", "locale"), LOCALES.items())


def test_every_language_is_compared() -> None:
    assert set(LOCALES) == set(LANGUAGES)


@BY_LANGUAGE
def test_times_and_hours_are_those_of_cldr(language: str, locale: str) -> None:
    skeletons = Locale.parse(locale).datetime_skeletons
    # Egypt writes 12 hours, which no scale and no field of the pages has.
    pattern = skeletons["Hm"].pattern if language == "ar" else get_time_format("short", locale).pattern
    assert [formats.clock_time(time(hour, 5), language) for hour in (0, 9, 23)] == [
        format_time(time(hour, 5), pattern, locale=locale) for hour in (0, 9, 23)
    ]
    skeleton = skeletons["H"].pattern
    for hour in (0, 6, 18):
        expected = format_time(time(hour), skeleton, locale=locale).replace("\u00a0", " ")
        assert formats.hour_name(hour, language) == expected


@BY_LANGUAGE
def test_numbers_are_those_of_cldr(language: str, locale: str) -> None:
    assert formats.number(1_234_567, language) == format_decimal(1_234_567, locale=locale)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "1 Oct"),
        ("de", "1. Okt."),
        ("fr", "1 oct."),
        ("es", "1 oct"),
        ("pt", "1 de out."),
        ("pt-PT", "01/10"),
        ("ar", "1 أكتوبر"),
    ],
)
def test_day_without_its_year(language: str, text: str) -> None:
    assert formats.day_of_year(date(2026, 10, 1), language) == text


@BY_LANGUAGE
def test_percentages_and_lists_are_those_of_cldr(language: str, locale: str) -> None:
    percent = formats.percentage(12, language).replace("\u202f", "\u00a0")  # French typography has the narrow space
    assert percent == format_percent(0.12, locale=locale)
    for names in (["A"], ["A", "B"], ["A", "B", "C"]):
        assert formats.listing(names, language) == format_list(names, locale=locale)


@pytest.mark.parametrize(("language", "locale"), [*LOCALES.items(), (PSEUDO_LANGUAGE, "ar_EG")])
def test_first_weekday_of_a_language_is_that_of_cldr(language: str, locale: str) -> None:
    assert formats.first_weekday(formats.region(language, ())) == Locale.parse(locale).first_week_day


def test_first_weekday_of_every_region_is_that_of_cldr() -> None:
    locales = [Locale.parse(name) for name in locale_identifiers()]
    regions = {locale.territory: locale.first_week_day for locale in locales if locale.territory}
    assert {region: formats.first_weekday(region) for region in regions} == regions


@pytest.mark.parametrize("name", _LOCALES)
def test_order_of_dates_is_that_of_cldr(name: str) -> None:
    first = re.sub("[^dMy]", "", Locale.parse(name).date_formats["short"].pattern)[0]
    expected = {"d": "day-first", "M": "month-first", "y": "unambiguous"}[first]
    assert formats.date_order(name[3:]) in (expected, "unambiguous")


@pytest.mark.parametrize(
    ("language", "accepted", "region"),
    [
        ("en", "en-US,en;q=0.9", "US"),
        ("en", "en", ""),
        ("en", "", ""),
        ("en", "ar-EG,ar;q=0.9,en-US;q=0.8", "EG"),
        ("en", "en;q=0.5, de-AT", "AT"),
        ("de", "en-US,de-CH;q=0.5", "CH"),
        ("de", "en-US", "DE"),
        ("es", "es-419", "419"),
        ("pt", "pt-PT", "PT"),
        ("pt", "pt", "BR"),
        ("pt-PT", "pt-AO,pt;q=0.9", "AO"),
        ("pt-PT", "en-US", "PT"),
    ],
)
def test_region_of_a_reader(language: str, accepted: str, region: str) -> None:
    assert formats.region(language, language_ranges.preferred(accepted)) == region


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ("24 Nov 2026, 09:05", "12%", "06", "A, B and C")),
        ("de", ("24. Nov. 2026, 09:05", "12\u00a0%", "06 Uhr", "A, B und C")),
        ("fr", ("24 nov. 2026, 09:05", "12\u202f%", "06 h", "A, B et C")),
        ("es", ("24 nov 2026, 9:05", "12\u00a0%", "6", "A, B y C")),
        ("pt", ("24 de nov. de 2026, 09:05", "12%", "06", "A, B e C")),
        ("pt-PT", ("24/11/2026, 09:05", "12%", "06", "A, B e C")),
        ("ar", ("24 نوفمبر 2026، 09:05", "12%", "06", "A وB وC")),
        (PSEUDO_LANGUAGE, ("24 Nov 2026, 09:05", "12%", "06", "A, B and C")),
    ],
)
def test_formats_of_each_language(language: str, texts: tuple[str, ...]) -> None:
    moment = datetime(2026, 11, 24, 9, 5, tzinfo=UTC)
    assert texts == (
        formats.day_and_time(moment, language),
        formats.percentage(12, language),
        formats.hour_name(6, language),
        formats.listing(["A", "B", "C"], language),
    )


@pytest.mark.parametrize(("language", "number"), [("de", "10.000"), ("fr", "10\u202f000")])
def test_number_in_a_translated_error_has_the_format_of_the_language(language: str, number: str) -> None:
    message = "The source has more rows than the 10,000 links that your plan allows."
    assert number in translations("waypost.dashboard", language).gettext(message)


@pytest.mark.parametrize(
    ("text", "language", "formatted"),
    [
        ("1 byte", "de", "1 Byte"),
        ("208 bytes", "de", "208 Byte"),
        ("1.4 MB", "de", "1,4 MB"),
        ("6 bytes", "es", "6 bytes"),
        ("1.4 MB", "ar", "1.4 ميغابايت"),
    ],
)
def test_size_has_units_of_the_language(text: str, language: str, formatted: str) -> None:
    assert formats.size(text, language) == formatted


@pytest.mark.parametrize("language", LANGUAGES)
def test_size_of_every_language_is_accepted(language: str) -> None:
    for size in (1, 6, 999, 50_000, 1_400_000, 1_250_000_000, 12_500_000_000, 3_000_000_000_000, 512 << 20, 3 << 40):
        assert media_types.parse_size(formats.size(media_types.format_limit(size), language)) == size
