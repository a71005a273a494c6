"""Link previews: the words and the picture that an owner gives a link for those programs that draw a card of it."""

import pytest

from tests.conftest import Person
from tests.support.asgi_client import Inside
from tests.support.html import walk
from tests.support.visits import CURL, GOOGLEBOT, SLACK, TARGET, clicks, new_link, sums, visit

ONCE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
FACEBOOK = "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"
CARD = {
    "metatitle": "My <b>title</b>",
    "metadescription": 'Two\nlines "quoted"',
    "metaimage": "https://pictures.example/card.png",
}


@pytest.mark.parametrize("agent", [SLACK, FACEBOOK, "Twitterbot/1.0", "WhatsApp/2.23.20.0"])
def test_a_preview_gets_the_links_own_words_and_counts_as_a_preview(ana: Person, service: Inside, agent: str) -> None:
    link = new_link(ana, "spring", **CARD)
    page = walk(ana, "spring", agent=agent, headers={"Accept": "*/*"})
    assert page.status == 200
    for name in ("og:title", "og:description", "og:image"):
        assert page.one("meta", property=name).attributes["content"] == CARD[name.replace("og:", "meta")]
        twitter = name.replace("og:", "twitter:")
        assert page.one("meta", name=twitter).attributes["content"] == CARD[name.replace("og:", "meta")]
    assert page.one("meta", name="twitter:card").attributes["content"] == "summary_large_image"
    assert (page.one("title").text, page.one("h1").text) == (CARD["metatitle"], CARD["metatitle"])
    assert page.policy["img-src"] == ["data:", "https://pictures.example"]
    assert "script-src" not in page.policy
    assert sums(ana, f"/url/{link}") == {"previews": 1}
    assert clicks(ana, link) == (0, 0)


def test_everybody_else_gets_the_target(ana: Person, service: Inside) -> None:
    link = new_link(ana, "spring", **CARD)
    for agent in (CURL, GOOGLEBOT):
        assert visit(service, "spring", agent=agent).headers["location"] == TARGET
    page = walk(ana, "spring")
    assert (page.status, page.response.headers["location"]) == (302, TARGET)
    assert clicks(ana, link) == (2, 2)


@ONCE
def test_a_card_may_lack_some_of_it(ana: Person) -> None:
    new_link(ana, "words", metatitle="Only a title")
    page = walk(ana, "words", agent=SLACK)
    assert page.one("meta", name="twitter:card").attributes["content"] == "summary"
    assert page.all("meta", property="og:image") == page.all("meta", property="og:description") == []
    new_link(ana, "picture", title="The link's title", description="Its words", metaimage=CARD["metaimage"])
    page = walk(ana, "picture", agent=SLACK)
    assert page.one("meta", property="og:title").attributes["content"] == "The link's title"
    assert page.one("meta", property="og:description").attributes["content"] == "Its words"


def test_a_link_without_words_of_its_own_is_previewed_as_its_target(ana: Person) -> None:
    link = new_link(ana, "spring", title="A title in the lists")
    assert walk(ana, "spring", agent=SLACK).response.headers["location"] == TARGET
    ana.put(f"/url/{link}/update", {"metatitle": "Now it has"})
    assert walk(ana, "spring", agent=SLACK).status == 200
    ana.put(f"/url/{link}/update", {"metatitle": None})
    assert walk(ana, "spring", agent=SLACK).status == 302


@ONCE
def test_a_preview_learns_nothing_of_a_link_with_a_password_or_past_its_end(ana: Person) -> None:
    new_link(ana, "locked", **CARD, password="open sesame")
    assert walk(ana, "locked", agent=SLACK).status == 401
    new_link(ana, "off", **CARD, status="disabled")
    assert walk(ana, "off", agent=SLACK).status == 403
    new_link(ana, "once", **CARD, clicklimit=1)
    assert [walk(ana, "once", agent=SLACK).status for _ in range(3)] == [200] * 3  # uses up nothing
    assert walk(ana, "once").status == 302
    assert walk(ana, "once", agent=SLACK).status == 410
