"""Tracking pixels: thirteen types under two names each, and tags that cannot inject anything (decision 38)."""

from tests.conftest import Person
from tests.support.assertions import refused
from tests.support.databases import ON_SQLITE

# The document's names in its order, and the names that clients send in the same order.
DOCUMENTED = """
    tagmanagerpixel analyticspixel socialapixel searchadspixel professionalpixel microblogpixel retargetpixel qapixel
    boardpixel searchenginepixel ephemeralpixel forumpixel shortvideopixel
""".split()
OTHER = """
    gtmpixel gapixel fbpixel adwordspixel linkedinpixel twitterpixel adrollpixel quorapixel
    pinterest bing snapchat reddit tiktok
""".split()


def _type(person: Person, name: str) -> str:
    created = person.post("/pixel/add", {"type": name, "name": "A pixel", "tag": "T-1"})
    return str(person.get(f"/pixel/{created['id']}")["details"]["type"])


def test_each_pixel_type_is_accepted_by_both_names(ana: Person) -> None:
    assert len(set(DOCUMENTED)) == len(set(OTHER)) == 13
    assert [_type(ana, name) for name in DOCUMENTED] == DOCUMENTED
    assert [_type(ana, name) for name in OTHER] == DOCUMENTED
    listed = [pixel["type"] for pixel in ana.get("/pixels", limit=100)["data"]["pixels"]]
    assert listed == [*DOCUMENTED[::-1], *DOCUMENTED[::-1]]


def test_unknown_pixel_type_is_rejected_with_list(ana: Person) -> None:
    similar_names = ("GTMPIXEL", "Tiktok", " tiktok", "tiktok ", "fb", "facebook", "pinterestpixel", "bingpixel")
    for name in ("", "pixel", *similar_names, "snapchatpixel", "redditpixel", "tiktokpixel", "analytics", "x" * 300):
        refused(ana.call("POST", "/pixel/add", {"type": name, "name": "x", "tag": "T-1"}), 400, "type")
    message = refused(ana.call("POST", "/pixel/add", {"type": "x", "name": "x", "tag": "T-1"}), 400, "type")
    assert all(name in message for name in DOCUMENTED)


def test_pixel_tag_has_plain_characters(ana: Person) -> None:
    for tag in ("A", "7", "G-ABC123", "UA-1234-5", "123/abc_DEF", "a.b.c", "--", "/", "x" * 64):
        pixel = ana.post("/pixel/add", {"type": "bing", "name": "x", "tag": tag})["id"]
        assert ana.get(f"/pixel/{pixel}")["details"]["tag"] == tag
        ana.put(f"/pixel/{pixel}/update", {"tag": "OTHER"})
        ana.put(f"/pixel/{pixel}/update", {"tag": tag})
        assert ana.get(f"/pixel/{pixel}")["details"]["tag"] == tag


@ON_SQLITE
def test_pixel_tag_injection_is_rejected(ana: Person) -> None:
    pixel = ana.post("/pixel/add", {"type": "bing", "name": "x", "tag": "T-1"})["id"]
    tags = (
        *("", " ", "a b", " T-1", "T-1 ", "T-1\n", "a\tb", "a'b", 'a"b', "a`b", "a;b", "a,b", "a(b)", "a{b}", "a<b"),
        *("</script>", "a&b", "a=b", "a?b", "a#b", "a%62", "a\\b", "a:b", "a+b", "a*b", "a|b", "a$b", "a@b", "a!b"),
        *("\u00e9", "\uff34", "T\u20101", "\u0661", "T\u200b", "T\u0000", "x" * 65),
    )
    for tag in tags:
        refused(ana.call("POST", "/pixel/add", {"type": "bing", "name": "x", "tag": tag}), 400, "tag")
        refused(ana.call("PUT", f"/pixel/{pixel}/update", {"tag": tag}), 400, "tag")
    assert ana.get(f"/pixel/{pixel}")["details"]["tag"] == "T-1"


def test_pixel_update_requires_tag_and_keeps_rest(ana: Person) -> None:
    pixel = ana.post("/pixel/add", {"type": "reddit", "name": "A pixel", "tag": "T-1"})["id"]
    before = ana.get(f"/pixel/{pixel}")["details"]
    refused(ana.call("PUT", f"/pixel/{pixel}/update", {"name": "Renamed"}), 400, "tag")
    ana.put(f"/pixel/{pixel}/update", {"tag": "T-2", "type": "tiktok"})
    assert ana.get(f"/pixel/{pixel}")["details"] == {**before, "tag": "T-2"}
    ana.put(f"/pixel/{pixel}/update", {"tag": "T-2", "name": " Renamed "})
    assert ana.get(f"/pixel/{pixel}")["details"] == {**before, "tag": "T-2", "name": "Renamed"}


def test_pixel_of_link_can_be_deleted(ana: Person) -> None:
    kept, gone = (ana.post("/pixel/add", {"type": "bing", "name": "x", "tag": "T-1"})["id"] for _ in range(2))
    link = ana.post("/url/add", {"url": "https://example.com/", "pixels": [kept, gone]})["id"]
    ana.delete(f"/pixel/{gone}/delete")
    assert ana.get(f"/url/{link}")["details"]["pixels"] == [kept]
    ana.delete(f"/url/{link}/delete")
    assert ana.get("/pixels")["data"]["result"] == 1
