"""Overlays of every type."""

from typing import Any

from tests.conftest import Person
from tests.support.html import Page, open_page
from tests.support.visits import ACCEPT_HTML, new_link, visit

OVERLAY_TYPES: dict[str, dict[str, Any]] = {
    "message": {"label": "See more", "link": "https://shop.example/"},
    "contact": {"button": "Write", "thanks": "We answer soon"},
    "poll": {"options": ["Red", "Blue"], "label": "Cast it"},
    "newsletter": {"button": "Sign me up"},
    "coupon": {"code": "SAVE-10"},
    "image": {"image": "https://pictures.example/x.png", "link": "https://shop.example/", "label": "A shop"},
}


def new_overlay(person: Person, kind: str, **fields: Any) -> int:
    """Create an overlay; return its id."""
    body = {"name": "An overlay", "type": kind, "message": "Two\nlines", **OVERLAY_TYPES[kind], **fields}
    return person.add("overlay", **body)


def open_overlay(person: Person, kind: str, **fields: Any) -> tuple[int, int, Page]:
    """Open a link with a new overlay. Return the ids of overlay and link, and the page."""
    item = new_overlay(person, kind, **fields)
    link = new_link(person, f"to-{item}", type=f"overlay-{item}")
    return item, link, open_page(person, f"to-{item}", params={"from": "here"})


def form_fields(page: Page, **filled: str) -> dict[str, str]:
    """Return the fields of the form on a page, filled in."""
    hidden = {field.attributes["name"]: field.attributes["value"] for field in page.all("input", type="hidden")}
    return {**hidden, **filled}


def send_answers(person: Person, page: Page, **filled: str) -> Any:
    """Submit the form of a page like a browser without scripts."""
    return send_form(person, page, form_fields(page, **filled))


def send_form(person: Person, page: Page, form: dict[str, str]) -> Any:
    """Submit these fields to the form of a page."""
    action = page.one("form", id="answer").attributes["action"]
    return visit(person.client, action.lstrip("/"), "POST", data=form, headers=ACCEPT_HTML)
