"""Style sheets: sides of the text instead of the screen, and fonts that browsers accept."""

import re

import pytest

from tests.support.source import ROOT
from tests.support.style_sheets import declarations, is_physical, style_sheets
from waypost.media.branding.colors import contrast

# The owner of an overlay selects a corner of the screen.
_CORNERS = {
    ('.cta[data-at$="left"]', "left"),
    ('.cta[data-at$="right"]', "right"),
    ('.cta[data-at$="-center"]', "left"),
}


@pytest.mark.parametrize("path", style_sheets(), ids=lambda path: path.name)
def test_style_sheet_names_sides_of_the_text(path: object) -> None:
    physical = [
        (str(sheet.relative_to(ROOT)), parsed.selector, parsed.name, parsed.value)
        for sheet in style_sheets()
        if sheet == path
        for parsed in declarations(sheet.read_text())
        if is_physical(parsed) and (parsed.selector, parsed.name) not in _CORNERS
    ]
    assert physical == [], "use margin-inline-start, inset-inline-end, text-align: start and so on"


@pytest.mark.parametrize(
    ("declaration", "physical"),
    [
        ("margin-left: 1rem", True),
        ("margin-inline-start: 1rem", False),
        ("margin: 0 1rem 0 0", True),
        ("margin: 0 1rem 2rem 1rem", False),
        ("inset: calc(100% + 0.4rem) 0 auto auto", True),
        ("inset: calc(100% + 0.4rem) 0 auto 0", False),
        ("text-align: left", True),
        ("text-align: start", False),
        ("float: right", True),
        ("float: inline-end", False),
        ("left: 0", True),
        ("border-right: 1px solid", True),
        ("border-top-left-radius: 1rem", True),
        ("border-radius: 1rem 0 0 1rem", True),
        ("border-radius: 1rem 1rem 0 0", False),
        ("background: linear-gradient(to right, red, blue)", True),
        ("transform: translateX(1rem)", True),
        ("--left: 1rem", False),
    ],
)
def test_declaration_is_physical(declaration: str, *, physical: bool) -> None:
    (parsed,) = declarations(f"@media (min-width: 1rem) {{ .card {{ {declaration}; }} }}")
    assert (parsed.selector, is_physical(parsed)) == (".card", physical)


def test_font_shorthand_names_a_family() -> None:
    """A shorthand with `inherit` as its family is invalid, and the browser drops all of it."""
    fonts = {
        parsed.value for path in style_sheets() for parsed in declarations(path.read_text()) if parsed.name == "font"
    }
    assert fonts
    assert {font for font in fonts if " inherit" in font} == set()


@pytest.mark.parametrize("token", ["accent", "accent-light"])
def test_columns_of_charts_have_a_contrast_of_3_in_both_themes(token: str) -> None:
    tokens = (ROOT / "web/src/tokens.css").read_text()
    colors, backgrounds = (
        re.search(rf"--{name}: light-dark\((#\w+), (#\w+)\)", tokens).groups()  # type: ignore[union-attr]
        for name in (token, "card")
    )
    for color, background in zip(colors, backgrounds, strict=True):
        full = background if len(background) == len("#rrggbb") else "#" + "".join(2 * digit for digit in background[1:])
        assert contrast(color, full) >= 3, (color, background)
