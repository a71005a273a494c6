"""One of every public page."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import text

from tests.conftest import Person
from tests.support.files import PNG, new_file, upload
from tests.support.visits import new_link, visit
from waypost.core import clock
from waypost.items.moderation import blocklist

TARGET = "https://target.example/page"
FRAMED = "http://framed.example/page"
PICTURE = "https://pictures.example/wide.png"
THEMES = ("default", "ocean", "forest", "sunset", "paper", "mono")
OVERLAYS: dict[str, dict[str, Any]] = {
    "message": {"label": "See the new glazes", "link": "https://shop.example/"},
    "contact": {"button": "Write to me"},
    "poll": {"options": ["Celadon, as it was", "Something new"], "label": "Send my vote"},
    "newsletter": {"button": "Sign me up"},
    "coupon": {"code": "SPRING-10", "link": "https://shop.example/", "label": "To the shop"},
    "image": {"image": PICTURE, "link": "https://shop.example/", "label": "Bowls on a shelf"},
}
BLOCKS: tuple[dict[str, Any], ...] = (
    {"type": "link", "title": "My shop", "url": "https://shop.example/"},
    {"type": "link", "title": "Glazes that I make myself, and how you can make them too", "url": TARGET},
    {"type": "heading", "text": "About me"},
    {"type": "text", "text": "I throw bowls and cups in Lisbon.\nVisitors are welcome on Saturdays."},
    {"type": "image", "image": PICTURE, "link": "https://shop.example/", "alt": "Bowls on a shelf"},
    {"type": "social", "network": "instagram", "url": "https://social.example/ana"},
    {"type": "social", "network": "mastodon", "url": "https://social.example/@ana"},
    {"type": "social", "network": "Some New Network", "url": "https://social.example/x"},
    {"type": "vcard", "fname": "Ana", "lname": "Costa", "org": "Costa Ceramics", "title": "Potter"},
)
WORDS = "New glazes are in the shop.\nRead this before you continue."


@dataclass(frozen=True)
class PublicPage:
    """A page: its path, a text that it shows, and its status."""

    path: str
    says: str
    status: int = 200


def public_pages(person: Person) -> list[PublicPage]:
    """Create all pages. Requires a site at FRAMED, and pixel consent enabled."""
    return [*_refusals(person), *_bios(person), *_lists_files_and_codes(person), *_interstitials(person)]


ROOT_PAGE = PublicPage("", "Short links and files are served here.")
"""The root URL, with the setting `root_redirect=page`."""


def shared_statistics(person: Person) -> list[str]:
    """Share the statistics of a new link, openly and with a password; return the paths, and that of no share."""
    opened, locked = (new_link(person, f"shared-{n}", url=TARGET) for n in range(2))
    paths = []
    for link, fields in ((opened, {}), (locked, {"password": "tulip"})):
        url = person.post("/share/add", {"type": "link", "itemid": link, **fields})["url"]
        paths.append(f"stats/{url.rpartition('/')[2]}")
    return [*paths, "stats/unknown"]


def _refusals(person: Person) -> list[PublicPage]:
    new_link(person, "off", url=TARGET, status="disabled")
    new_link(person, "bad", url="https://evil.example/")
    new_link(person, "used-up", url=TARGET, clicklimit=1)
    visit(person.client, "used-up")
    new_link(person, "locked", url=TARGET, password="a password")
    person.write(lambda tx: blocklist.block(tx, "evil.example", kind="host"))
    broken = person.add("bio", name="x", alias="broken")
    person.write(lambda tx: tx.execute(text("UPDATE bios SET blocks = '1' WHERE id = :id"), {"id": broken}))
    return [
        PublicPage("unknown", "Not found", 404),
        PublicPage("off", "Disabled", 403),
        PublicPage("bad", "Blocked", 403),
        PublicPage("used-up", "Limit reached", 410),
        PublicPage("locked", "Password required", 401),
        PublicPage("broken", "Something went wrong", 500),
    ]


def _bios(person: Person) -> list[PublicPage]:
    about = {"title": "Ana Costa", "description": "Potter in Lisbon.\nBowls, cups and plates."}
    for theme in THEMES:
        person.post("/bio/add", {"name": theme, "alias": theme, "theme": theme, "blocks": list(BLOCKS), **about})
    person.post("/bio/add", {"name": "x", "alias": "shy", "sensitive": True, "blocks": list(BLOCKS), **about})
    person.post("/bio/add", {"name": "Nothing yet", "alias": "empty"})
    return [
        *(PublicPage(theme, "Ana Costa") for theme in THEMES),
        PublicPage("shy", "Sensitive content"),
        PublicPage("empty", "Nothing yet"),
    ]


def _lists_files_and_codes(person: Person) -> list[PublicPage]:
    campaign = person.add("campaign", name="Things to read", slug="reading", public=True)
    titles = ("How clay is dug", "", "Firing at home, a very long story in many parts " * 3, "مرحبا بالعالم")
    for n in range(30):
        new_link(person, f"read-{n}", url=f"https://site-{n}.example/", title=titles[n % 4], campaign=campaign)
    none = person.add("campaign", name="Empty", slug="none", public=True)
    new_file(person, "a very long name of a picture, in many words, as cameras and people make them.png", PNG)
    until = clock.text(clock.now() + int(timedelta(days=3).total_seconds()))[:10]
    new_file(person, "price list.pdf", b"%PDF-1.7 " + bytes(2_000_000), custom="prices", maxdownloads=3, expiry=until)
    new_file(person, "picture.png", PNG, custom="picture")
    person.post("/qr/add", {"type": "text", "data": "Two lines\nof text", "custom": "words", "dynamic": True})
    person.post("/qr/add", {"type": "phone", "data": "+351 21 123 4567", "custom": "ring"})
    listed = f"u/{person.username}/reading-{campaign}"
    return [
        PublicPage(listed, "Things to read"),
        PublicPage(f"{listed}?q=nothing-like-it", "No links match your search"),
        PublicPage(f"u/{person.username}/none-{none}", "There are no links here"),
        PublicPage("prices", "price list.pdf"),
        PublicPage("picture", "picture.png"),
        PublicPage("words", "Two lines"),
        PublicPage("read-0+", "Destination of this short link"),
        PublicPage("report", "Report a link"),
        PublicPage(_file_deletion(person), "Delete this file?"),
    ]


def _file_deletion(person: Person) -> str:
    """Return the path of the page that asks before it deletes a new file."""
    return urlsplit(str(upload(person, "to delete.txt", b"text").json()["deleteurl"])).path.lstrip("/")


def _interstitials(person: Person) -> list[PublicPage]:
    page: dict[str, Any] = {
        "name": "x",
        "title": "Before you continue",
        "message": WORDS,
        "link": "https://shop.example/",
    }
    splash = person.add("splash", **{**page, "counter": 600, "skip": 0, "banner": PICTURE, "logo": PICTURE})
    calm = person.add("splash", name="y", title="Before you continue", message=WORDS, counter=0)
    tags = [person.add("pixel", type=kind, name=kind, tag="TAG-1") for kind in _PROVIDERS]
    new_link(person, "waiting", url=TARGET, type=str(splash))
    new_link(person, "calm", url=TARGET, type=str(calm), pixels=tags)
    new_link(person, "measured", url=TARGET, pixels=tags)
    new_link(person, "framed", url=FRAMED, type="frame", title="A framed page")
    for kind, fields in OVERLAYS.items():
        colors = {"color": "#FFFFFF", "background": "#0B5C92"} if kind != "poll" else {}
        call = person.add("overlay", **{"name": kind, "type": kind, "message": WORDS, **fields, **colors})
        new_link(person, f"before-{kind}", url=TARGET, type=f"overlay-{call}")
        new_link(person, f"over-{kind}", url=FRAMED, type=f"overlay-{call}", title="A framed page")
    return [
        PublicPage("waiting", "Before you continue"),
        PublicPage("calm", "Allow tracking?"),
        PublicPage("measured", "Allow tracking?"),
        PublicPage("framed", ""),
        *(
            PublicPage(f"{where}-{kind}", _SAYS.get(kind, "New glazes"))
            for kind in OVERLAYS
            for where in ("before", "over")
        ),
    ]


_PROVIDERS = ("qapixel", "socialapixel")
_SAYS = {"coupon": "SPRING-10"}
