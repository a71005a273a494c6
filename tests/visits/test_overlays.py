"""Public overlays: over a destination that can be framed, otherwise before it."""

from typing import Any

from tests.conftest import Person
from tests.support.assertions import refused
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.html import Page, open_page
from tests.support.overlays import OVERLAY_TYPES, new_overlay
from tests.support.visits import ACCEPT_HTML, CURL, DESTINATION, GOOGLEBOT, clicks, new_link, visit

FRAMED = "http://framed.example/page"
NASTY = "</script></style><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{7*7}}\u202e"
LOOKS = {"position": "top-left", "color": "#112233", "background": "#AABBCC", "delay": 3}


def _link(person: Person, alias: str, item: int, **fields: Any) -> int:
    return new_link(person, alias, type=f"overlay-{item}", **fields)


def test_overlay_is_shown_over_framed_destination(ana: Person, framed_site: FakeInternet) -> None:
    link = _link(ana, "spring", new_overlay(ana, "message", **LOOKS), url=FRAMED)
    page = open_page(ana, "spring")
    box = page.one("dialog").attributes
    assert page.one("iframe").attributes["src"] == FRAMED
    assert (box["data-at"], box["style"], "later" in box["class"], "open" in box) == (
        "top-left",
        "animation-delay: 3s",
        True,
        True,
    )
    assert "--cta-background: #AABBCC; --cta-text: #112233;" in page.response.text
    assert page.one("p", class_="message").text == "Two\nlines"
    assert page.one("a", class_="button").attributes["href"] == "https://shop.example/"
    # It closes without scripts: the browser itself does that for this method.
    assert page.one("form", method="dialog")
    assert page.policy["frame-src"] == ["http://framed.example"]
    assert clicks(ana, link) == (1, 1)


def test_overlay_is_shown_before_destination_that_forbids_framing(ana: Person, framed_site: FakeInternet) -> None:
    link = _link(ana, "spring", new_overlay(ana, "message"), url="http://nowhere.example/")
    page = open_page(ana, "spring")
    assert page.all("iframe") == page.all("dialog") == []
    assert page.one("p", class_="message").text == "Two\nlines"
    assert page.one("a", class_="button quiet").attributes["href"] == "http://nowhere.example/"
    assert "frame-src" not in page.policy
    assert clicks(ana, link) == (1, 1)


@ON_SQLITE
def test_each_overlay_type_shows_its_fields(ana: Person, framed_site: FakeInternet) -> None:
    pages: dict[str, Page] = {}
    for kind in OVERLAY_TYPES:
        _link(ana, f"to-{kind}", new_overlay(ana, kind))
        pages[kind] = open_page(ana, f"to-{kind}")
    assert [field.attributes["name"] for field in pages["contact"].all("input")][3:] == ["website", "name", "email"]
    assert pages["contact"].one("textarea").attributes["name"] == "message"
    assert pages["contact"].one("button", type="submit").text == "Write"
    assert [field.attributes["value"] for field in pages["poll"].all("input", type="radio")] == ["Red", "Blue"]
    assert pages["poll"].one("legend").text == "Two\nlines"
    assert pages["poll"].one("button", type="submit").text == "Cast it"
    assert pages["newsletter"].one("input", type="email").attributes["name"] == "email"
    assert pages["coupon"].one("code").text == "SAVE-10"
    picture = pages["image"].one("img").attributes
    assert (picture["src"], picture["alt"]) == ("https://pictures.example/x.png", "A shop")
    assert pages["image"].policy["img-src"] == ["data:", "https://pictures.example"]
    for kind, page in pages.items():
        sends = kind in ("contact", "poll", "newsletter")
        action = page.one("form", id="answer").attributes["action"] if sends else ""
        assert page.policy["form-action"] == ([f"go.localhost:8000{action}"] if sends else ["'none'"])
        assert page.policy.get("connect-src") == ([f"go.localhost:8000{action}"] if sends else None)
        assert "allow-same-origin" not in page.policy["sandbox"]
        assert page.policy["frame-ancestors"] == ["'none'"]
        labelled = {label.attributes.get("for") for label in page.all("label")}
        seen = [f for f in page.elements if f.name in ("input", "textarea") and f.attributes.get("type") != "hidden"]
        free = [f for f in seen if f.attributes["name"] not in ("website", "choice")]  # these are inside their label
        assert {field.attributes["id"] for field in free} <= labelled


@ON_SQLITE
def test_overlay_texts_are_escaped(ana: Person, framed_site: FakeInternet) -> None:
    fields: dict[str, dict[str, Any]] = {
        "message": {"label": NASTY, "link": "https://shop.example/"},
        "contact": {"button": NASTY, "thanks": NASTY},
        "poll": {"options": [NASTY, "other"], "label": NASTY},
        "coupon": {"code": NASTY},
        "image": {"image": "https://pictures.example/\"'><script>alert(1)</script>", "label": NASTY},
    }
    for url in (DESTINATION, FRAMED):
        for kind, own in fields.items():
            alias = f"{kind}-{url == FRAMED}"
            _link(ana, alias, new_overlay(ana, kind, **{**own, "message": NASTY}), url=url, title=NASTY)
            page = open_page(ana, alias, params={"x": NASTY})
            assert page.status == 200
            assert len(page.all("script")) == 2
            assert len(page.all("img")) == (kind == "image")
            assert not [name for e in page.elements for name in e.attributes if name.startswith("on")]
            assert "49" not in page.one("title").text


def test_overlay_respects_limits_and_redirects_programs(ana: Person, framed_site: FakeInternet) -> None:
    item = new_overlay(ana, "message")
    link = _link(ana, "spring", item)
    assert visit(ana.client, "spring", agent=CURL).headers["location"] == DESTINATION
    assert visit(ana.client, "spring", agent=GOOGLEBOT, headers=ACCEPT_HTML).headers["location"] == DESTINATION
    assert clicks(ana, link) == (1, 1)
    _link(ana, "once", item, clicklimit=1)
    assert [open_page(ana, "once").status for _ in range(2)] == [200, 410]
    _link(ana, "locked", item, password="open sesame")
    assert open_page(ana, "locked").status == 401


def test_overlay_change_applies_at_once_and_deleted_overlay_is_removed(
    ana: Person, ben: Person, framed_site: FakeInternet
) -> None:
    item = new_overlay(ana, "message")
    link = _link(ana, "spring", item)
    assert open_page(ana, "spring").one("p", class_="message").text == "Two\nlines"
    ana.update("overlay", item, message="Shiny")
    assert open_page(ana, "spring").one("p", class_="message").text == "Shiny"
    refused(ben.call("POST", "/url/add", {"url": DESTINATION, "type": f"overlay-{item}"}), 400, "type")
    assert ben.call("DELETE", f"/overlay/{item}/delete").status_code == 404
    ana.remove("overlay", item)
    assert open_page(ana, "spring").response.headers["location"] == DESTINATION
    assert clicks(ana, link) == (3, 1)
