"""Public bio pages with arbitrary content (decisions 45, 47 and 50)."""

import base64
import hashlib
import re

import pytest

from tests.conftest import BASE, Person
from tests.support.bios import BLOCKS, new_bio, open_bio
from tests.support.databases import ON_SQLITE
from tests.support.html import Page
from tests.support.visits import ACCEPT_JSON, CHROME, CURL, GOOGLEBOT, SLACK, click_totals, visit

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title><svg onload=alert(1)>",
    "</style><script>alert(1)</script>",
    "'; } body { display: none } a { x: '",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnp.exe \u2066x",
    "&lt;b&gt; &amp;",
    "W" * 250,
)


def _all(page: Page, name: str, attribute: str) -> list[str]:
    """The values of an attribute of all elements with a tag name."""
    return [element.attributes[attribute] for element in page.all(name) if attribute in element.attributes]


def _hash(script: str) -> str:
    """The source of a script in a policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def test_bio_page_shows_blocks_in_order(ana: Person) -> None:
    new_bio(ana, title="Ana Costa", description="Potter.\nLisbon.")
    response = open_bio(ana)
    page = Page(response)
    assert (response.status_code, response.headers["cache-control"]) == (200, "private, no-store")
    texts = ("Ana Costa", "Potter.\nLisbon.", "Shop", "Blog", "About me", "Two\nlines", "Mastodon", "Ana Costa")
    places: list[int] = []
    for word in texts:
        places.append(page.one("body").text.index(word, places[-1] + 1 if places else 0))
    assert places == sorted(places)
    assert [e.name for e in page.elements if e.name in ("h1", "h2", "main", "header")] == ["main", "header", "h1", "h2"]
    assert _all(page, "img", "src")[:2] == ["https://pictures.example:8443/a.png", "http://other.example/b.png"]
    assert _all(page, "img", "alt")[:2] == ["example.com", "A cat"]


@ON_SQLITE
def test_empty_bio_page_shows_its_name(ana: Person) -> None:
    new_bio(ana, blocks=[])
    assert '<h1 dir="auto">My page</h1>' in open_bio(ana).text


@ON_SQLITE
@pytest.mark.parametrize("nasty_text", HOSTILE)
def test_bio_page_texts_are_escaped(ana: Person, nasty_text: str) -> None:
    blocks = [
        {"type": "heading", "text": nasty_text},
        {"type": "text", "text": nasty_text},
        {"type": "link", "title": nasty_text, "url": "https://example.com/'\"><script>alert(1)</script>"},
        {"type": "image", "image": "https://pictures.example/'\"onerror=alert(1)><script>", "alt": nasty_text},
        {"type": "social", "network": nasty_text, "url": 'https://example.com/"onclick=alert(1)'},
        {"type": "vcard", **dict.fromkeys(("fname", "lname", "org", "title"), nasty_text)},
    ]
    bio = new_bio(ana, name=nasty_text, title=nasty_text, description=nasty_text, blocks=blocks)
    response = open_bio(ana)
    page = Page(response)
    assert {element.name for element in page.elements} <= {
        *("html", "head", "meta", "title", "link", "style", "script", "body", "main", "header"),
        *("details", "summary", "button"),
        *("svg", "rect", "g", "text", "path"),
        *("h1", "h2", "p", "ul", "li", "a", "bdi", "figure", "img", "div", "footer"),
    }
    assert not [name for element in page.elements for name in element.attributes if name.startswith("on")]
    assert response.text.count("</style>") == response.text.count("</script>") == 1
    texts = (page.one("title").text, page.one("body").text)
    assert sum(text.count(nasty_text) for text in texts) >= 7  # as it was written, and nowhere as anything else
    hrefs = _all(page, "a", "href")
    assert hrefs.pop() == f"{BASE}/report?url=http%3A%2F%2Fgo.localhost%3A8000%2Fana-costa"
    assert all(re.fullmatch(r"/ana-costa/[0-9]+", href) for href in hrefs)
    policy = response.headers["content-security-policy"]
    assert f"script-src '{_hash(page.one('script').text)}'; " in policy
    assert "img-src data: 'self' https://pictures.example; " in policy
    for block in ana.get(f"/bio/{bio}")["blocks"]:
        followed = visit(ana.client, f"ana-costa/{block['id']}")
        assert followed.status_code in (200, 302)
        assert not set(followed.headers.get("location", "")) & set('"<>')


@ON_SQLITE
def test_bio_page_texts_have_automatic_direction(ana: Person) -> None:
    new_bio(ana, title="\u05d0\u05e0\u05d4", description="\u05e9\u05dc\u05d5\u05dd")
    texts = [e.attributes for e in Page(open_bio(ana)).elements if e.name in ("h1", "h2", "p")]
    assert all(attributes.get("dir") == "auto" for attributes in texts if attributes.get("class") != "about")


@ON_SQLITE
def test_bio_page_loads_only_its_images(ana: Person) -> None:
    new_bio(ana)
    response = open_bio(ana)
    header = dict(part.strip().split(" ", 1) for part in response.headers["content-security-policy"].split(";"))
    assert header == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "script-src": f"'{_hash(Page(response).one('script').text)}'",
        "img-src": "data: 'self' http://other.example https://pictures.example:8443",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    page = Page(response)
    assert _all(page, "img", "loading") == ["lazy"] * 3
    assert _all(page, "img", "src")[2:] == ["/ana-costa/qr?format=svg"]
    assert _all(page, "img", "referrerpolicy") == ["no-referrer"] * 2
    assert "url(" not in response.text
    assert [href[:5] for href in _all(page, "link", "href")] == ["http:", "data:"]  # canonical, and the icon
    ana.update("bio", new_bio(ana, "bare", blocks=[]), theme="ocean")
    assert "img-src data: 'self'; " in open_bio(ana, "bare").headers["content-security-policy"]
    many = [{"type": "image", "image": f"https://{n}.example/{'x' * 100}"} for n in range(100)]
    new_bio(ana, "many", blocks=many)
    assert len(open_bio(ana, "many").headers["content-security-policy"]) < 1000


@ON_SQLITE
def test_bio_page_has_metadata_for_search_and_previews(ana: Person) -> None:
    new_bio(ana, title="Ana Costa", description="Potter.\nLisbon.")
    page = Page(open_bio(ana))
    metas = [element.attributes for element in page.all("meta") if "content" in element.attributes]
    response = {meta.get("property") or meta.get("name", ""): meta["content"] for meta in metas}
    same = {"title": "Ana Costa", "description": "Potter. Lisbon.", "url": f"{BASE}/ana-costa", "type": "profile"}
    assert {name: response[f"og:{name}"] for name in same} == same
    assert _all(page, "link", "href")[0] == f"{BASE}/ana-costa"
    assert _all(page, "html", "lang") == ["en"]
    assert _all(Page(open_bio(ana, headers={"Accept-Language": "de-AT,en;q=0.5"})), "html", "lang") == ["de"]


def test_bio_page_returns_json_to_programs(ana: Person) -> None:
    bio = new_bio(ana, title="Ana Costa", sensitive=True)
    body = visit(ana.client, "ana-costa", agent=CURL, headers=ACCEPT_JSON).json()
    first = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
    assert body["blocks"][0] == {**BLOCKS[0], "visit": f"{BASE}/ana-costa/{first}"}
    assert body["blocks"][2] == BLOCKS[2]
    assert (body["error"], body["title"], body["sensitive"]) == (0, "Ana Costa", True)
    assert visit(ana.client, "ana-costa+", headers=ACCEPT_JSON).json() == {
        "error": 0,
        "url": f"{BASE}/ana-costa",
        "title": "Ana Costa",
    }


def test_sensitive_bio_page_warns_and_counts_after_confirmation(ana: Person) -> None:
    bio = new_bio(ana, title="Ana Costa", description="Secret words", sensitive=True)
    for agent in (CHROME, SLACK, GOOGLEBOT):
        gate = open_bio(ana, agent=agent)
        assert (gate.status_code, "Sensitive content" in gate.text) == (200, True)
        assert "Ana Costa" not in gate.text
        assert "Secret" not in gate.text
    assert click_totals(ana, f"/bio/{bio}") == {}
    response = open_bio(ana, method="POST")
    assert (response.status_code, response.headers["location"]) == (303, "/ana-costa?sure=1")
    cookie = response.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "Path=/ana-costa", "SameSite=lax"))
    assert "Secret words" in open_bio(ana).text  # by the cookie
    ana.client.cookies.clear()
    assert "Secret words" not in open_bio(ana).text
    assert "Secret words" in open_bio(ana, "ana-costa?sure=1").text  # for browsers that keep none
    assert click_totals(ana, f"/bio/{bio}") == {"clicks": 2, "uniqueClicks": 1}
    ana.client.cookies.clear()
    new_bio(ana, "other", sensitive=True)
    open_bio(ana, method="POST")
    assert "Sensitive content" in open_bio(ana, "other").text
    ana.update("bio", bio, sensitive=None)
    ana.client.cookies.clear()
    assert "Secret words" in open_bio(ana).text


def test_bio_page_change_applies_at_next_visit_and_deleted_page_returns_404(ana: Person, ben: Person) -> None:
    bio = new_bio(ana, title="Before")
    assert "Before" in open_bio(ana).text
    ana.update("bio", bio, title="After", blocks=[])
    assert "After" in open_bio(ana).text
    ana.update("bio", bio, alias="moved")
    assert (open_bio(ana).status_code, open_bio(ana, "moved").status_code) == (404, 200)
    ana.remove("bio", bio)
    assert open_bio(ana, "moved").status_code == 404
    assert ben.call("POST", "/bio/add", {"name": "x", "alias": "moved"}).status_code == 400
    again = new_bio(ana, "moved")
    open_bio(ana, "moved")
    assert ana.get(f"/bio/{again}")["data"]["clicks"] == 1


@ON_SQLITE
def test_bio_page_is_served_on_own_host_only(ana: Person) -> None:
    bio = new_bio(ana)
    ana.post("/domain/add", {"domain": "https://brand.example"})
    first = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
    for host in ("brand.example", "other.example"):
        for path in ("ana-costa", "ana-costa+", "ana-costa/vcard", f"ana-costa/{first}"):
            assert open_bio(ana, path, headers={"Host": host}).status_code == 404
    assert click_totals(ana, f"/bio/{bio}") == {}


@ON_SQLITE
def test_large_bio_page_is_served_completely(ana: Person) -> None:
    blocks = [{"type": "text", "text": "x" * 5000}, *[BLOCKS[0]] * 199]
    bio = new_bio(ana, blocks=blocks)
    hrefs = [href for href in _all(Page(open_bio(ana)), "a", "href") if href.startswith("/ana-costa/")]
    assert len(hrefs) == len({b["id"] for b in ana.get(f"/bio/{bio}")["blocks"]}) == 199
    ana.update("bio", bio, blocks=blocks[::-1])
    assert open_bio(ana).status_code == 200


def test_hidden_block_is_not_shown_until_it_is_unhidden(ana: Person) -> None:
    """Hide a link, an image and the first contact card: page, JSON, policy and short URLs leave them out."""
    bio = new_bio(ana)
    blocks = ana.details("bio", bio)["blocks"]
    sent = [{name: value for name, value in block.items() if name != "id"} for block in blocks]
    ids = [row["id"] for row in ana.get(f"/bio/{bio}")["blocks"]]
    shop, card = ids[0], ids[-1]
    assert "Shop" in open_bio(ana).text  # the page is cached now
    hidden = [
        {**block, "hidden": block["type"] in ("vcard", "image") or block.get("title") == "Shop"} for block in sent
    ]
    ana.put(f"/bio/{bio}/update", {"blocks": hidden})
    response = open_bio(ana)
    assert "Shop" not in response.text
    assert "Blog" in response.text
    assert "pictures.example" not in response.text + response.headers["content-security-policy"]
    public = visit(ana.client, "ana-costa", agent=CURL, headers=ACCEPT_JSON).json()["blocks"]
    assert [block["type"] for block in public] == ["link", "heading", "text", "social"]
    assert all("hidden" not in block for block in public)
    for segment in (shop, card, "vcard"):
        assert visit(ana.client, f"ana-costa/{segment}").status_code == 404, segment
    ana.put(f"/bio/{bio}/update", {"blocks": sent})
    assert "Shop" in open_bio(ana).text
    assert [row["id"] for row in ana.get(f"/bio/{bio}")["blocks"]] == ids
