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
    return str(person.details("pixel", created["id"])["type"])


def test_each_pixel_type_is_accepted_by_both_names(ana: Person) -> None:
    assert len(set(DOCUMENTED)) == len(set(OTHER)) == 13
    assert [_type(ana, name) for name in DOCUMENTED] == DOCUMENTED
    assert [_type(ana, name) for name in OTHER] == DOCUMENTED
    listed = [pixel["type"] for pixel in ana.get("/pixels", limit=100)["data"]["pixels"]]
    assert listed == [*DOCUMENTED[::-1], *DOCUMENTED[::-1]]


def test_unknown_pixel_type_is_rejected_with_list(ana: Person) -> None:
    similar_names = (" tiktok", "tiktok ", "fb", "facebook", "pinterestpixel", "bingpixel")
    for name in ("", "pixel", *similar_names, "snapchatpixel", "redditpixel", "tiktokpixel", "analytics", "x" * 300):
        refused(ana.call("POST", "/pixel/add", {"type": name, "name": "x", "tag": "T-1"}), 400, "type")
    message = refused(ana.call("POST", "/pixel/add", {"type": "x", "name": "x", "tag": "T-1"}), 400, "type")
    assert all(name in message for name in DOCUMENTED)


def test_pixel_tag_has_plain_characters(ana: Person) -> None:
    for tag in ("A", "7", "G-ABC123", "UA-1234-5", "123/abc_DEF", "a.b.c", "--", "/", "x" * 64):
        pixel = ana.add("pixel", type="bing", name="x", tag=tag)
        assert ana.details("pixel", pixel)["tag"] == tag
        ana.update("pixel", pixel, tag="OTHER")
        ana.update("pixel", pixel, tag=tag)
        assert ana.details("pixel", pixel)["tag"] == tag


@ON_SQLITE
def test_pixel_tag_injection_is_rejected(ana: Person) -> None:
    pixel = ana.add("pixel", type="bing", name="x", tag="T-1")
    tags = (
        *(" ", "a b", " T-1", "T-1 ", "T-1\n", "a\tb", "a'b", 'a"b', "a`b", "a;b", "a,b", "a(b)", "a{b}", "a<b"),
        *("</script>", "a&b", "a=b", "a?b", "a#b", "a%62", "a\\b", "a:b", "a+b", "a*b", "a|b", "a$b", "a@b", "a!b"),
        *("\u00e9", "\uff34", "T\u20101", "\u0661", "T\u200b", "T\u0000", "x" * 65),
    )
    for tag in tags:
        refused(ana.call("POST", "/pixel/add", {"type": "bing", "name": "x", "tag": tag}), 400, "tag")
        refused(ana.call("PUT", f"/pixel/{pixel}/update", {"tag": tag}), 400, "tag")
    assert ana.details("pixel", pixel)["tag"] == "T-1"


def test_pixel_update_requires_tag_and_keeps_rest(ana: Person) -> None:
    pixel = ana.add("pixel", type="reddit", name="A pixel", tag="T-1")
    before = ana.details("pixel", pixel)
    refused(ana.call("PUT", f"/pixel/{pixel}/update", {"name": "Renamed"}), 400, "tag")
    ana.update("pixel", pixel, tag="T-2", type="tiktok")
    assert ana.details("pixel", pixel) == {**before, "tag": "T-2"}
    ana.update("pixel", pixel, tag="T-2", name=" Renamed ")
    assert ana.details("pixel", pixel) == {**before, "tag": "T-2", "name": "Renamed"}


def test_pixel_of_link_can_be_deleted(ana: Person) -> None:
    kept, gone = (ana.add("pixel", type="bing", name="x", tag="T-1") for _ in range(2))
    link = ana.add("url", url="https://example.com/", pixels=[kept, gone])
    ana.remove("pixel", gone)
    assert ana.details("url", link)["pixels"] == [kept]
    ana.remove("url", link)
    assert ana.get("/pixels")["data"]["result"] == 1
