"""Texts that the dashboard calls private or internal appear on no page for visitors."""

from urllib.parse import urlsplit

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.visits import ACCEPT_HTML, FIREFOX, SLACK, new_link, visit

MARKER = "INTERNAL: client overpays"
SHOWN = "Two days only"


def _pages(service: AsgiClient, *aliases: str) -> str:
    """Return the text of all pages that visitors and previews get."""
    pages = [
        visit(service, f"{alias}{end}", agent=agent, headers=ACCEPT_HTML).text
        for alias in aliases
        for end in ("", "+", "/qr")
        for agent in (FIREFOX, SLACK)
    ]
    return "\n".join(pages)


@pytest.mark.parametrize("kind", ["direct", "splash", "frame"])
def test_private_note_of_a_link_is_on_no_page(ana: Person, service: AsgiClient, kind: str) -> None:
    campaign = ana.add("campaign", name="Spring", slug="springs", public=True)
    new_link(ana, "noted", type=kind, title="Boots", description=MARKER, metatitle="Boots", campaign=campaign)
    list_page = urlsplit(ana.details("campaign", campaign)["list"]).path.lstrip("/")
    assert MARKER not in _pages(service, "noted", list_page)


def test_description_for_visitors_is_where_its_field_says(ana: Person, service: AsgiClient) -> None:
    new_link(ana, "shown", type="splash", title="Boots", description=MARKER, metadescription=SHOWN)
    new_link(ana, "card", description=MARKER, metadescription=SHOWN)
    assert SHOWN in visit(service, "shown", agent=FIREFOX, headers=ACCEPT_HTML).text
    assert f'property="og:description" content="{SHOWN}"' in visit(service, "card", agent=SLACK).text
    assert MARKER not in _pages(service, "shown", "card")


def test_names_that_are_internal_are_on_no_page(ana: Person, service: AsgiClient) -> None:
    splash = ana.add("splash", name=MARKER, title="Wait")
    overlay = ana.add("overlay", name=MARKER, type="message", message="Hello")
    pixel = ana.add("pixel", type="analyticspixel", name=MARKER, tag="G-1")
    channel = ana.add("channel", name="Friends", description=MARKER)
    new_link(ana, "one", type=str(splash), channel=[channel])
    new_link(ana, "two", type=f"overlay-{overlay}")
    new_link(ana, "three", pixels=[pixel])
    assert MARKER not in _pages(service, "one", "two", "three")


def test_link_editor_calls_the_note_private(ana: Person, dashboard: Browser) -> None:
    link = ana.add("url", url="https://example.com/", description=MARKER)
    text = dashboard.get(f"/links/{link}").text
    assert "Private note" in text
    assert MARKER in text
    assert "Description for visitors" in text
    assert "On the default splash page and in link previews." in text
