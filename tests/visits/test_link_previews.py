"""Link previews: the social card of a link."""

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.html import open_page
from tests.support.visits import CURL, DESTINATION, GOOGLEBOT, SLACK, click_totals, clicks, new_link, visit

FACEBOOK = "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"
CARD = {
    "metatitle": "My <b>title</b>",
    "metadescription": 'Two\nlines "quoted"',
    "metaimage": "https://pictures.example/card.png",
}


@pytest.mark.parametrize("agent", [SLACK, FACEBOOK, "Twitterbot/1.0", "WhatsApp/2.23.20.0"])
def test_link_preview_gets_social_card_and_counts_as_preview(ana: Person, service: AsgiClient, agent: str) -> None:
    link = new_link(ana, "spring", **CARD)
    page = open_page(ana, "spring", agent=agent, headers={"Accept": "*/*"})
    assert page.status == 200
    for name in ("og:title", "og:description", "og:image"):
        assert page.one("meta", property=name).attributes["content"] == CARD[name.replace("og:", "meta")]
        twitter = name.replace("og:", "twitter:")
        assert page.one("meta", name=twitter).attributes["content"] == CARD[name.replace("og:", "meta")]
    assert page.one("meta", name="twitter:card").attributes["content"] == "summary_large_image"
    assert (page.one("title").text, page.one("h1").text) == (CARD["metatitle"], CARD["metatitle"])
    assert page.policy["img-src"] == ["data:", "https://pictures.example"]
    assert "script-src" not in page.policy
    assert click_totals(ana, f"/url/{link}") == {"previews": 1}
    assert clicks(ana, link) == (0, 0)


def test_link_with_social_card_redirects_browsers_and_programs(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring", **CARD)
    for agent in (CURL, GOOGLEBOT):
        assert visit(service, "spring", agent=agent).headers["location"] == DESTINATION
    page = open_page(ana, "spring")
    assert (page.status, page.response.headers["location"]) == (302, DESTINATION)
    assert clicks(ana, link) == (2, 2)


@ON_SQLITE
def test_social_card_fields_are_optional(ana: Person) -> None:
    new_link(ana, "words", metatitle="Only a title")
    page = open_page(ana, "words", agent=SLACK)
    assert page.one("meta", name="twitter:card").attributes["content"] == "summary"
    assert page.all("meta", property="og:image") == page.all("meta", property="og:description") == []
    new_link(ana, "picture", title="The link's title", metadescription="Its words", metaimage=CARD["metaimage"])
    page = open_page(ana, "picture", agent=SLACK)
    assert page.one("meta", property="og:title").attributes["content"] == "The link's title"
    assert page.one("meta", property="og:description").attributes["content"] == "Its words"


def test_link_without_social_card_redirects_previews(ana: Person) -> None:
    link = new_link(ana, "spring", title="A title in the lists")
    assert open_page(ana, "spring", agent=SLACK).response.headers["location"] == DESTINATION
    ana.update("url", link, metatitle="Now it has")
    assert open_page(ana, "spring", agent=SLACK).status == 200
    ana.update("url", link, metatitle=None)
    assert open_page(ana, "spring", agent=SLACK).status == 302


@ON_SQLITE
def test_link_preview_reveals_no_protected_or_expired_link(ana: Person) -> None:
    new_link(ana, "locked", **CARD, password="open sesame")
    assert open_page(ana, "locked", agent=SLACK).status == 401
    new_link(ana, "off", **CARD, status="disabled")
    assert open_page(ana, "off", agent=SLACK).status == 403
    new_link(ana, "once", **CARD, clicklimit=1)
    assert [open_page(ana, "once", agent=SLACK).status for _ in range(3)] == [200] * 3  # uses up nothing
    assert open_page(ana, "once").status == 302
    assert open_page(ana, "once", agent=SLACK).status == 410
