"""Themes of bio pages: each has its own look, and every text can be read."""

import pytest

from tests.conftest import Person
from tests.support.bios import new_bio, open_bio
from tests.support.databases import ON_SQLITE
from waypost.items.bios import themes


@ON_SQLITE
def test_unknown_theme_has_default_style(ana: Person) -> None:
    styles = {themes.css_variables(name) for name in themes.THEMES}
    assert len(styles) == len(themes.THEMES) == 6
    for name in ("default", "no-such-theme", "x", "ocean-blue", "-dark"):
        assert themes.css_variables(name) == themes.css_variables("default")
    assert themes.css_variables("dark") == themes.css_variables("default-dark") != themes.css_variables("default-light")
    bio = new_bio(ana)
    for name in (*themes.THEMES, "forest-light", "mono-dark"):
        ana.update("bio", bio, theme=name)
        assert themes.css_variables(name) in open_bio(ana).text


@pytest.mark.parametrize("name", themes.THEMES)
def test_text_contrast_in_every_theme_is_sufficient(name: str) -> None:
    """WCAG 2.2: 4.5 to 1 for text, 3 to 1 for what shows where the focus is."""
    for palette in (themes.THEMES[name].light, themes.THEMES[name].dark):
        for under in (palette.sky, palette.ground, palette.card):
            assert min(_contrast(palette.ink, under), _contrast(palette.soft, under)) >= 4.5
            assert _contrast(palette.mark, under) >= 3
        assert _contrast(palette.label, palette.mark) >= 4.5


def _contrast(color: str, background: str) -> float:
    lighter, darker = sorted((_luminance(color), _luminance(background)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
