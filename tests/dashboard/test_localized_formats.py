"""Hours, weekdays and percentages of the language on pages of the dashboard and for visitors."""

import re

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.html import Page
from tests.support.overlays import form_fields, open_overlay, send_answers
from tests.support.visits import ACCEPT_HTML, new_link, visit
from waypost.core.languages import PSEUDO_LANGUAGE
from waypost.core.settings import Settings

pytestmark = ON_SQLITE
_WEEKDAY = r'<th scope="row"><span aria-hidden="true">[^<]+</span><span class="[^"]+">([^<]+)'


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Settings with the pseudo-language."""
    return settings.model_copy(update={"pseudo_language": "on"})


@pytest.mark.parametrize(
    ("language", "hours", "first", "second", "title"),
    [
        ("en", ["00", "06", "12", "18"], "Monday", "Tuesday", "Monday, 09:00: "),
        ("de", ["00 Uhr", "06 Uhr", "12 Uhr", "18 Uhr"], "Montag", "Dienstag", "Montag, 09:00: "),
        ("fr", ["00 h", "06 h", "12 h", "18 h"], "lundi", "mardi", "lundi, 09:00\u00a0: "),
        ("es", ["0", "6", "12", "18"], "lunes", "martes", "lunes, 9:00: "),
        ("pt", ["00", "06", "12", "18"], "domingo", "segunda-feira", "domingo, 09:00: "),
        ("ar", ["00", "06", "12", "18"], "السبت", "الأحد", "السبت\u2069، \u206809:00\u2069: \u2068"),
    ],
)
def test_heat_map_has_hours_and_weekdays_of_the_language(
    ana: Person, dashboard: Browser, language: str, hours: list[str], first: str, second: str, title: str
) -> None:
    rows, page = _heat_map(ana, dashboard, language)
    assert re.findall(r'<th scope="colgroup" colspan="6">([^<]+)</th>', page) == hours
    assert [row.casefold() for row in rows[:2]] == [first.casefold(), second.casefold()]
    assert title.casefold() in page.casefold()


def test_week_of_the_pseudo_language_begins_on_saturday(ana: Person, dashboard: Browser) -> None:
    rows, _ = _heat_map(ana, dashboard, PSEUDO_LANGUAGE)
    assert ["Sátúrdáý" in rows[0] or "Sátúrdáy" in rows[0], len(rows)] == [True, 7]


@pytest.mark.parametrize(
    ("accepted", "first", "points"),
    [
        ("en-US,en;q=0.9", "Sunday", ["2026-05-31", "2026-06-07"]),
        ("en-GB,en;q=0.9", "Monday", ["2026-06-01", "2026-06-08"]),
        ("en", "Monday", ["2026-06-01", "2026-06-08"]),
        ("pt-BR", "domingo", ["2026-05-31", "2026-06-07"]),
        ("de-DE", "Montag", ["2026-06-01", "2026-06-08"]),
        ("ar-EG,en;q=0.5", "السبت", ["2026-05-30", "2026-06-06"]),
    ],
)
def test_weeks_of_charts_and_of_the_heat_map_begin_as_in_the_region(
    ana: Person, dashboard: Browser, accepted: str, first: str, points: list[str]
) -> None:
    new_link(ana, "spring")
    visit(dashboard.client, "spring")
    dashboard.client.headers["Accept-Language"] = accepted
    rows = re.findall(_WEEKDAY, dashboard.get("/statistics").text)
    days = "from=2026-06-01&to=2026-06-08&interval=week"
    file = dashboard.get(f"/statistics?{days}&format=csv").text
    starts = re.findall(r'^"[^"]+","(2026-[^ "]+)', file, re.MULTILINE)
    assert (rows[0].casefold(), starts) == (first.casefold(), points)


def _heat_map(ana: Person, dashboard: Browser, language: str) -> tuple[list[str], str]:
    """Return the weekdays of the heat map in a language, and the page."""
    new_link(ana, "spring")
    visit(dashboard.client, "spring")
    if language == PSEUDO_LANGUAGE:
        dashboard.client.headers["Accept-Language"] = language
    else:
        dashboard.submit("/language", at="/links", language=language)
    page = dashboard.get("/statistics").text
    return re.findall(_WEEKDAY, page), page


@pytest.mark.parametrize(
    ("language", "shares"),
    [
        ("en", ["Red33%", "Blue67%"]),
        ("de", ["Red33\u00a0%", "Blue67\u00a0%"]),
        ("fr", ["Red33\u202f%", "Blue67\u202f%"]),
        (PSEUDO_LANGUAGE, ["Red33%", "Blue67%"]),
    ],
)
def test_result_of_a_poll_has_percentages_of_the_language(ana: Person, language: str, shares: list[str]) -> None:
    _, _, page = open_overlay(ana, "poll")
    for choice in ("Blue", "Red"):
        send_answers(ana, page, choice=choice)
    action = page.one("form", id="answer").attributes["action"].lstrip("/")
    headers = {**ACCEPT_HTML, "Accept-Language": language}
    result = visit(ana.client, action, "POST", data=form_fields(page, choice="Blue"), headers=headers)
    assert [item.text.strip() for item in Page(result).all("li")] == shares


def test_colon_between_two_texts_has_its_space_in_french(ana: Person, dashboard: Browser) -> None:
    ana.add("splash", name="Printemps")
    ana.add("bio", name="Moi", alias="about-me")
    dashboard.submit("/language", at="/links", language="fr")
    assert ">Page intermédiaire\u00a0: Printemps</option>" in dashboard.get("/links/new").text
    assert "Déplacer vers le haut\u00a0: Lien <span data-position>1</span>" in dashboard.get("/bios/new").text


def test_constants_of_a_template_follow_the_language_of_each_page(dashboard: Browser) -> None:
    """Jinja computes a filter of a constant once, in the language of the first page, unless the filter forbids it."""
    for language, level in (("en", "7%"), ("de", "7\u00a0%"), ("fr", "7\u202f%"), ("pt", "7%"), ("es", "7\u00a0%")):
        dashboard.client.cookies.set("waypost_language", language)
        assert f">L, {level}<" in dashboard.get("/qr/new").text, language
