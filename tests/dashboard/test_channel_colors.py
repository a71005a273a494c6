"""Colors of channels that are created without one: each gets another color of the palette."""

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.html import Page
from tests.support.imports import SHOP, run
from waypost.core.settings import Settings
from waypost.db.channel_colors import PALETTE

pytestmark = ON_BOTH_DATABASES


def _colors(person: Person) -> list[str]:
    return sorted(channel["color"].lower() for channel in person.get("/channels")["data"]["channels"])


def test_new_channels_of_an_import_have_different_colors(ana: Person, ben: Person, settings: Settings) -> None:
    ben.add("channel", name="Foreign", color=PALETTE[0])
    ana.add("channel", name="Print", color=PALETTE[1])
    run(ana, settings, f"alias,url,tags\na,{SHOP}/a,Print|Mail\nb,{SHOP}/b,Radio")
    assert _colors(ana) == sorted([PALETTE[1], PALETTE[0], PALETTE[2]])


def test_form_suggests_the_color_that_the_fewest_channels_have(ana: Person, dashboard: Browser) -> None:
    for number, color in enumerate(PALETTE[:-1]):
        ana.add("channel", name=f"Channel {number}", color=color)
    field = Page(dashboard.get("/channels/new")).one("input", name="color")
    assert field.attributes["value"] == PALETTE[-1]


def test_channels_that_are_typed_at_a_link_have_different_colors(ana: Person, dashboard: Browser) -> None:
    dashboard.submit("/links/new", at="/links/new", url=SHOP, newchannel="One, Two")
    assert _colors(ana) == sorted(PALETTE[:2])
