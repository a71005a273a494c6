"""The accessibility checks of pages: colors, targets, and what only small screens show."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.support.accessibility import color_faults, faults, faults_of_small_screen, remember_shown
from tests.support.browser import window

_PAGE = "<body style='background: {ground}'><main><p style='color: {color}'>Clay and glazes</p></main>"


@pytest.fixture
def page(chrome: Browser) -> Iterator[Page]:
    """An empty page."""
    with window(chrome) as seen:
        yield seen.page


def _rules(page: Page, *, color: str = "#222222", ground: str = "#ffffff") -> list[str]:
    page.set_content(_PAGE.format(color=color, ground=ground))
    return [rule for rule, _, _ in color_faults(page)]


def test_pale_text_is_found_after_the_same_element_passed_in_another_color(page: Page) -> None:
    assert _rules(page) == []
    assert _rules(page) == []
    assert _rules(page, color="#bbbbbb") == ["color-contrast"]
    assert _rules(page, color="#bbbbbb") == ["color-contrast"]
    assert _rules(page, ground="#444444") == ["color-contrast"]


def test_pale_text_on_the_base_color_of_a_gradient_is_found(page: Page) -> None:
    assert _rules(page, ground="linear-gradient(white, silver) white") == []
    assert _rules(page, ground="linear-gradient(white, silver) #333333") == ["color-contrast"]


def test_text_on_a_gradient_inside_the_page_is_a_fault(page: Page) -> None:
    page.set_content("<body><div style='background: linear-gradient(white, silver)'>Clay and glazes</div>")
    assert [rule for rule, _, _ in color_faults(page)] == ["color-contrast"]


def test_link_is_checked_in_each_text_around_it(page: Page) -> None:
    link = "<a href='/' style='color: #552222; text-decoration: none'>Clay</a>"
    for text, rules in (("", []), ("A text about clay and how it is fired, with a ", ["link-in-text-block"])):
        page.set_content(f"<body style='color: #222222; background: white'><main><p>{text}{link}</p></main>")
        assert [rule for rule, _, _ in color_faults(page)] == rules


def test_ground_of_page_is_as_before_after_the_check(page: Page) -> None:
    _rules(page, ground="linear-gradient(white, silver) white")
    assert page.evaluate("getComputedStyle(document.body).backgroundImage") != "none"


_TARGETS = """<html lang=en><title>Clay</title><main><h1>Clay</h1>
  <button style='{first}'>Clay</button><button style='{second}'>Glazes</button></main>"""
_LARGE = "display: block; width: 90px; height: 30px"


@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [
        (_LARGE, _LARGE, []),
        (f"{_LARGE}; height: 10px", f"{_LARGE}; height: 10px", ["target-size"]),
        (_LARGE, f"{_LARGE}; margin-top: -20px", ["target-size"]),
    ],
    ids=["large", "low", "covered"],
)
def test_target_that_is_small_or_covered_is_found(page: Page, first: str, second: str, rules: list[str]) -> None:
    page.set_content(_TARGETS.format(first=first, second=second))
    assert [rule for rule, _, _ in faults(page)] == rules


_MENU = """<html lang=en><title>Clay</title><style>@media (min-width: 400px) { nav { display: none } }</style>
  <main><h1>Clay</h1></main><nav><a href=/>HERE</a></nav>"""


def test_link_without_name_that_only_small_screens_show_is_found(page: Page) -> None:
    for name, rules in (("Glazes", []), ("", ["link-name"]), ("Glazes", []), ("", ["link-name"])):
        page.set_viewport_size({"width": 1280, "height": 800})
        page.set_content(_MENU.replace("HERE", name or "<svg aria-hidden=true></svg>"))
        remember_shown(page)
        assert faults(page) == []
        page.set_viewport_size({"width": 320, "height": 800})
        assert [rule for rule, _, _ in faults_of_small_screen(page)] == rules


_SHORT_LINK = """<html lang=en><title>Clay</title><style>@media (max-width: 400px) { span { display: none } }</style>
  <main><h1>Clay</h1><a href=/ LABEL><span>Glazes</span><svg aria-hidden=true></svg></a></main>"""


def test_link_that_loses_its_name_on_small_screens_is_found(page: Page) -> None:
    for label, rules in (("aria-label=Glazes", []), ("", ["link-name"])):
        page.set_viewport_size({"width": 1280, "height": 800})
        page.set_content(_SHORT_LINK.replace("LABEL", label))
        remember_shown(page)
        assert faults(page) == []
        page.set_viewport_size({"width": 320, "height": 800})
        assert [rule for rule, _, _ in faults_of_small_screen(page)] == rules
