"""Forms and players on bio pages."""

from tests.conftest import BASE, Person
from tests.support.bios import new_bio, open_bio
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.html import Page
from tests.support.overlays import form_fields, new_overlay
from tests.support.visits import ACCEPT_HTML, visit

VIDEO = {"type": "embed", "url": "https://vimeo.com/22439234"}


@ON_BOTH_DATABASES
def test_form_stores_response_with_overlay_and_leads_back(ana: Person, ben: Person) -> None:
    overlay = new_overlay(ana, "newsletter")
    new_bio(ana, blocks=[{"type": "form", "overlay": overlay}])
    page = Page(open_bio(ana))
    action = page.one("form").attributes["action"].lstrip("/")
    fields = form_fields(page, email="zoe@example.com")
    thanks = Page(visit(ana.client, action, "POST", data=fields, headers=ACCEPT_HTML))
    assert (thanks.status, thanks.one("a", class_="button").attributes["href"]) == (200, f"{BASE}/ana-costa")
    (stored,) = ana.get(f"/overlay/{overlay}/submissions")["data"]["submissions"]
    assert (stored["email"], stored["link"]) == ("zoe@example.com", None)
    for forged in ({"ticket": "x"}, {"url": "https://evil.example/"}, {"link": "1"}):
        assert visit(ana.client, action, "POST", data={**fields, **forged}, headers=ACCEPT_HTML).status_code == 404
    foreign = new_overlay(ben, "contact")
    for other in (foreign, new_overlay(ana, "coupon"), 999_999):
        error = ana.call("POST", "/bio/add", {"name": "x", "blocks": [{"type": "form", "overlay": other}]}).json()
        assert error["message"] == "blocks[0] must have one of your overlays of type contact or newsletter."


def test_form_changes_and_disappears_with_its_overlay(ana: Person) -> None:
    overlay = new_overlay(ana, "contact", message="Write to us")
    bio = new_bio(ana, blocks=[{"type": "form", "overlay": overlay}])
    assert {"name", "email", "message"} <= {field.attributes.get("name") for field in Page(open_bio(ana)).elements}
    ana.update("overlay", overlay, message="Say hello")
    assert "Say hello" in open_bio(ana).text
    ana.remove("overlay", overlay)
    assert "<form" not in open_bio(ana).text
    assert ana.details("bio", bio)["blocks"] == [{"type": "form", "overlay": overlay}]


@ON_SQLITE
def test_player_is_a_link_until_visitor_presses_play(ana: Person) -> None:
    bio = new_bio(ana, blocks=[VIDEO])
    response = open_bio(ana)
    page = Page(response)
    (link,) = (element for element in page.all("a") if "data-player" in element.attributes)
    assert not page.all("iframe")
    assert "vimeo.com" not in response.text.replace("Vimeo", "")
    assert "frame-src 'self' https://player.vimeo.com;" in response.headers["content-security-policy"]
    path = link.attributes["href"].lstrip("/")
    assert visit(ana.client, path).headers["location"] == VIDEO["url"]
    played = visit(ana.client, f"{path}?play=1")
    assert played.headers["location"] == "https://player.vimeo.com/video/22439234?autoplay=1&dnt=1"
    assert played.headers["referrer-policy"] == "strict-origin-when-cross-origin"
    assert ana.get(f"/bio/{bio}")["blocks"][0]["clicks"] == 2
    ana.update("bio", bio, blocks=[])
    assert "frame-src" not in open_bio(ana).headers["content-security-policy"]
    error = ana.call("PUT", f"/bio/{bio}/update", {"blocks": [{**VIDEO, "url": "https://example.com/"}]}).json()
    assert error["message"].startswith("blocks[0].url must be the URL of a video, track or list at YouTube,")
