"""Inputs for exact texts: the right keyboard of phones, no capitalization and no spelling check."""

import re

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.html import Page

_KEYBOARDS = {
    "url": r"url|link|site|apple|google|image|banner|logo|webhook|redirectroot|redirect404|expiryurl|metaimage|domain",
    "email": r"email",
    "tel": r"cell|phone|homephone|fax",
}
_BLOCKS = [
    {"type": "link", "title": "x", "url": "https://example.com/"},
    {"type": "image", "image": "https://example.com/a.png"},
    {"type": "social", "network": "X", "url": "https://example.com/"},
    {"type": "embed", "url": "https://www.youtube.com/watch?v=abcdefghijk"},
    {"type": "vcard", "fname": "Ana"},
]
_PAGES = {
    "/links/new": 9,
    "/qr/new": 14,
    "/bios/1": 9,
    "/splash/new": 3,
    "/overlays/new?type=contact": 1,
    "/overlays/new?type=image": 2,
    "/domains/new": 1,
    "/domains/new?domain=https://go.brand.example": 2,
    "/imports/new": 1,
    "/account": 1,
    "": 2,
}


@pytest.mark.parametrize("path", _PAGES)
def test_input_of_exact_text_has_its_keyboard_and_no_corrections(ana: Person, dashboard: Browser, path: str) -> None:
    ana.add("bio", name="A", blocks=_BLOCKS)
    inputs = [element.attributes for element in Page(dashboard.get(path)).all("input")]
    shown = [each for each in inputs if each.get("type") in ("text", "email", "tel", "url")]
    checked_count = 0
    for attributes in shown:
        part = str(attributes["name"]).rpartition(".")[2]
        keyboard = next((name for name, parts in _KEYBOARDS.items() if re.fullmatch(parts, part)), None)
        if keyboard:
            checked_count += 1
            given = [attributes.get(name) for name in ("inputmode", "autocapitalize", "spellcheck", "dir")]
            assert given == [keyboard, "off", "false", "ltr"], attributes
    assert checked_count >= _PAGES[path], [each["name"] for each in shown]
