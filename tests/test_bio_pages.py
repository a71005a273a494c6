"""What visitors meet at the alias of a bio page, and what their visits are counted as (decisions 45, 47, 50)."""

import re
from contextlib import closing
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, MetaData, select, update

from tests.conftest import BASE, Person
from tests.visiting import ANDROID, CHROME, CURL, FIREFOX, GOOGLEBOT, IPHONE, PAGE, SLACK, new_link, sums, visit
from waypost import upgrade
from waypost.bios import themes
from waypost.db import Database
from waypost.schema import bio_blocks, bios
from waypost.settings import Settings

ONCE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
SHOP, MASTODON = "https://example.com/shop?a=b#c", "https://example.social/@ana"
BLOCKS: tuple[dict[str, Any], ...] = (
    {"type": "link", "title": "Shop", "url": SHOP},
    {"type": "link", "title": "Blog", "url": "https://example.com/blog"},
    {"type": "heading", "text": "About me"},
    {"type": "text", "text": "Two\nlines"},
    {"type": "image", "image": "https://pictures.example:8443/a.png", "link": "https://example.com/gallery"},
    {"type": "image", "image": "http://other.example/b.png", "alt": "A cat"},
    {"type": "social", "network": "mastodon", "url": MASTODON},
    {"type": "vcard", "fname": "Ana", "lname": "Costa", "org": "Costa & Co", "email": "ana@example.com"},
)
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


class _Page(HTMLParser):
    """What is in a page: its elements with their attributes, and its text."""

    def __init__(self, page: Any) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._silent = 0
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._silent += tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag == "style"

    def handle_data(self, data: str) -> None:
        self.text += "" if self._silent else data

    def all(self, tag: str, name: str) -> list[str]:
        return [attributes[name] for found, attributes in self.elements if found == tag and name in attributes]


def _new(person: Person, alias: str = "ana-costa", **fields: Any) -> int:
    return int(person.post("/bio/add", {"name": "My page", "alias": alias, "blocks": list(BLOCKS), **fields})["id"])


def _open(person: Person, alias: str = "ana-costa", **options: Any) -> Any:
    return visit(person.client, alias, headers={**PAGE, **options.pop("headers", {})}, **options)


def _follow(person: Person, bio: int, title: str, **options: Any) -> Any:
    shown = person.get(f"/bio/{bio}")
    block = next(block for block in shown["blocks"] if block["title"] == title)
    return visit(person.client, f"{shown['details']['alias']}/{block['id']}", **options)


def _clicks(person: Person, bio: int) -> dict[str, tuple[int, int]]:
    return {
        block["title"]: (block["clicks"], block["uniqueClicks"])
        for block in person.get(f"/bio/{bio}")["blocks"]
        if block["clicks"]
    }


def _set_blocks(tx: Connection, blocks: list[dict[str, Any]]) -> None:
    tx.execute(update(bios).values(blocks=blocks))


def test_a_page_shows_its_blocks_in_their_order(ana: Person) -> None:
    _new(ana, title="Ana Costa", description="Potter.\nLisbon.")
    answer = _open(ana)
    page = _Page(answer)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "private, no-store")
    words = ("Ana Costa", "Potter.\nLisbon.", "Shop", "Blog", "About me", "Two\nlines", "Mastodon", "Ana Costa")
    places: list[int] = []
    for word in words:
        places.append(page.text.index(word, places[-1] + 1 if places else page.text.index("Ana Costa") + 9))
    assert places == sorted(places)
    assert [tag for tag, _ in page.elements if tag in ("h1", "h2", "main", "header")] == ["main", "header", "h1", "h2"]
    assert page.all("img", "src") == ["https://pictures.example:8443/a.png", "http://other.example/b.png"]
    assert page.all("img", "alt") == ["example.com", "A cat"]


@ONCE
def test_a_page_without_anything_in_it_has_its_name(ana: Person) -> None:
    _new(ana, blocks=[])
    assert '<h1 dir="auto">My page</h1>' in _open(ana).text


def test_whoever_opens_a_page_is_counted_once(ana: Person, ben: Person) -> None:
    bio = _new(ana)
    for agent in (CHROME, CHROME, FIREFOX, GOOGLEBOT, SLACK):
        _open(ana, agent=agent)
    visit(ana.client, "ana-costa", agent=CURL)
    _open(ana, method="HEAD")
    _open(ana, headers={"Sec-Purpose": "prefetch"})
    visit(ana.client, "ana-costa+")
    _open(ana, "ana-costa+")
    counted = {"clicks": 4, "uniqueClicks": 3}
    body = ana.get(f"/bio/{bio}")
    assert {name: body["data"][name] for name in counted} == counted
    assert (body["details"]["clicks"], body["details"]["uniqueclicks"]) == (4, 3)
    assert sums(ana, f"/bio/{bio}") == {**counted, "bots": 1, "previews": 1, "others": 2}
    assert ben.call("GET", f"/bio/{bio}/stats").status_code == 404
    assert ben.call("GET", f"/bio/{bio}").status_code == 404
    assert sums(ben, "") == {}


def test_every_block_that_leads_somewhere_is_counted_by_itself(ana: Person) -> None:
    bio = _new(ana)
    for agent in (CHROME, CHROME, FIREFOX, GOOGLEBOT):
        assert _follow(ana, bio, "Shop", agent=agent).headers["location"] == SHOP
    _follow(ana, bio, "Shop", method="HEAD")
    assert _follow(ana, bio, "mastodon").headers["location"] == MASTODON
    assert _follow(ana, bio, BLOCKS[4]["image"]).headers["location"] == "https://example.com/gallery"
    _follow(ana, bio, "Ana Costa")
    once = (1, 1)
    assert _clicks(ana, bio) == {"Shop": (3, 2), "mastodon": once, BLOCKS[4]["image"]: once, "Ana Costa": once}
    assert sums(ana, f"/bio/{bio}") == {}  # nobody has opened the page itself
    report = ana.get("/stats")["data"]
    assert (report["total"]["clicks"], report["dimensions"]["sources"]) == (6, {"bio": 6})


def test_a_block_keeps_its_clicks_when_the_page_changes(ana: Person) -> None:
    bio = _new(ana)
    old = {block["title"]: block["id"] for block in ana.get(f"/bio/{bio}")["blocks"]}
    for title in ("Shop", "Blog", "Blog"):
        _follow(ana, bio, title)
    news = {"type": "link", "title": "News", "url": "https://example.com/news"}
    moved = {**BLOCKS[0], "url": "https://example.com/new-shop"}
    renamed = {**BLOCKS[1], "title": "Diary"}
    ana.put(f"/bio/{bio}/update", {"blocks": [news, renamed, BLOCKS[2], moved]})
    assert _clicks(ana, bio) == {"Diary": (2, 1), "Shop": (1, 1)}
    new = {block["title"]: block["id"] for block in ana.get(f"/bio/{bio}")["blocks"]}
    assert (new["Diary"], new["Shop"]) == (old["Blog"], old["Shop"])
    assert new["News"] > max(old.values())
    assert visit(ana.client, f"ana-costa/{old['mastodon']}").status_code == 404  # it is gone
    assert _follow(ana, bio, "Shop").headers["location"] == "https://example.com/new-shop"
    ana.put(f"/bio/{bio}/update", {"title": "Ana"})
    assert _clicks(ana, bio) == {"Diary": (2, 1), "Shop": (2, 1)}


def test_blocks_belong_to_their_page_alone(ana: Person, ben: Person) -> None:
    bio, hers = _new(ana), _new(ben, "ben-costa")
    mine = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
    for path in (f"ben-costa/{mine}", "ana-costa/0", "ana-costa/-1", "ana-costa/" + "9" * 5000, "ana-costa/x", "x/1"):
        assert visit(ana.client, path).status_code == 404
    ana.delete(f"/bio/{bio}/delete")
    left = ana.database.read(lambda tx: tx.execute(select(bio_blocks.c.bio).distinct()).scalars().all())
    assert left == [hers]
    assert visit(ana.client, f"ana-costa/{mine}").status_code == 404


def test_a_block_may_lead_to_a_short_link_of_ours_but_not_in_circles(ana: Person) -> None:
    link = new_link(ana, "spring")
    bio = _new(ana, blocks=[{"type": "link", "title": "Sale", "url": f"{BASE}/spring"}])
    answer = _follow(ana, bio, "Sale")
    assert answer.headers["location"] == f"{BASE}/spring"
    visit(ana.client, answer.headers["location"])
    assert (ana.get(f"/url/{link}")["data"]["clicks"], _clicks(ana, bio)) == (1, {"Sale": (1, 1)})
    for url in (f"{BASE}/ana-costa/1", f"{BASE}/ana-costa/%31", f"{BASE.upper()}/x/2/"):
        body = {"blocks": [{"type": "link", "title": "x", "url": url}]}
        assert ana.call("PUT", f"/bio/{bio}/update", body).status_code == 400
    elsewhere = [{"type": "link", "title": "x", "url": "https://example.com/ana/1"}]
    ana.put(f"/bio/{bio}/update", {"blocks": elsewhere})


def test_the_card_is_a_file_for_the_address_book(ana: Person) -> None:
    bio = _new(ana)
    for path in ("ana-costa/vcard", f"ana-costa/{ana.get(f'/bio/{bio}')['blocks'][-1]['id']}"):
        card = visit(ana.client, path, agent=ANDROID)
        assert card.headers["content-type"] == "text/vcard; charset=utf-8"
        assert card.headers["content-disposition"].startswith('attachment; filename="Ana Costa.vcf"')
        assert "FN:Ana Costa\r\nORG:Costa & Co\r\nEMAIL;TYPE=INTERNET:ana@example.com\r\n" in card.text
    assert visit(ana.client, "ana-costa/vcard", agent=IPHONE).headers["content-disposition"].startswith("inline")
    assert _clicks(ana, bio) == {"Ana Costa": (3, 2)}


@ONCE
def test_a_card_of_anything_is_still_a_card(ana: Person) -> None:
    hostile = {"lname": "A;B,C\\D", "phone": "call me", "email": "nobody", "street": "1;2", "city": "\u202eX"}
    for told, line in (
        ({}, "FN:My page"),
        (hostile, "FN:A\\;B\\,C\\\\D"),
        ({"org": "x" * 200}, "FN:xxx"),
    ):
        bio = _new(ana, f"card-{len(told)}", blocks=[{"type": "vcard", **told}])
        card = visit(ana.client, f"card-{len(told)}/vcard").text
        assert line in card
        assert "TEL" not in card
        assert "EMAIL" not in card
        assert card.startswith("BEGIN:VCARD\r\n")
        assert card.endswith("END:VCARD\r\n")
        assert all(len(one.encode()) <= 75 for one in card.split("\r\n"))
        assert _open(ana, f"card-{len(told)}").status_code == 200
        ana.delete(f"/bio/{bio}/delete")
    _new(ana, blocks=[])
    assert visit(ana.client, "ana-costa/vcard").status_code == 404


@ONCE
@pytest.mark.parametrize("words", HOSTILE)
def test_nothing_that_an_owner_writes_breaks_out_of_its_place(ana: Person, words: str) -> None:
    blocks = [
        {"type": "heading", "text": words},
        {"type": "text", "text": words},
        {"type": "link", "title": words, "url": "https://example.com/'\"><script>alert(1)</script>"},
        {"type": "image", "image": "https://pictures.example/'\"onerror=alert(1)><script>", "alt": words},
        {"type": "social", "network": words, "url": 'https://example.com/"onclick=alert(1)'},
        {"type": "vcard", **dict.fromkeys(("fname", "lname", "org", "title"), words)},
    ]
    bio = _new(ana, name=words, title=words, description=words, blocks=blocks)
    answer = _open(ana)
    page = _Page(answer)
    assert {tag for tag, _ in page.elements} <= {
        *("html", "head", "meta", "title", "link", "style", "body", "main", "header", "svg", "rect", "text", "path"),
        *("h1", "h2", "p", "ul", "li", "a", "bdi", "figure", "img", "div", "footer"),
    }
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert answer.text.count("</style>") == 1
    assert page.text.count(words) >= 7  # as it was written, and nowhere as anything else
    hrefs = page.all("a", "href")
    assert hrefs.pop() == f"{BASE}/report?url=http%3A%2F%2Fgo.localhost%3A8000%2Fana-costa"
    assert all(re.fullmatch(r"/ana-costa/[0-9]+", href) for href in hrefs)
    policy = answer.headers["content-security-policy"]
    assert "script" not in policy
    assert "img-src data: https://pictures.example; " in policy
    for block in ana.get(f"/bio/{bio}")["blocks"]:
        followed = visit(ana.client, f"ana-costa/{block['id']}")
        assert followed.status_code in (200, 302)
        assert not set(followed.headers.get("location", "")) & set('"<>')


@ONCE
def test_texts_of_people_find_their_own_direction(ana: Person) -> None:
    _new(ana, title="\u05d0\u05e0\u05d4", description="\u05e9\u05dc\u05d5\u05dd")
    texts = [attributes for tag, attributes in _Page(_open(ana)).elements if tag in ("h1", "h2", "p")]
    assert all(attributes.get("dir") == "auto" for attributes in texts if attributes.get("class") != "about")


@ONCE
def test_a_page_loads_nothing_but_its_own_pictures(ana: Person) -> None:
    _new(ana)
    answer = _open(ana)
    told = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert told == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data: http://other.example https://pictures.example:8443",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    page = _Page(answer)
    assert page.all("img", "loading") == ["lazy"] * 2
    assert page.all("img", "referrerpolicy") == ["no-referrer"] * 2
    assert "url(" not in answer.text
    assert [href[:5] for href in page.all("link", "href")] == ["http:", "data:"]  # canonical, and the icon
    ana.put(f"/bio/{_new(ana, 'bare', blocks=[])}/update", {"theme": "ocean"})
    assert "img-src data:; " in _open(ana, "bare").headers["content-security-policy"]
    many = [{"type": "image", "image": f"https://{n}.example/{'x' * 100}"} for n in range(100)]
    _new(ana, "many", blocks=many)
    assert len(_open(ana, "many").headers["content-security-policy"]) < 1000


@ONCE
def test_a_page_tells_others_what_it_is(ana: Person) -> None:
    _new(ana, title="Ana Costa", description="Potter.\nLisbon.")
    page = _Page(_open(ana))
    metas = [attributes for tag, attributes in page.elements if tag == "meta" and "content" in attributes]
    told = {meta.get("property") or meta.get("name", ""): meta["content"] for meta in metas}
    same = {"title": "Ana Costa", "description": "Potter. Lisbon.", "url": f"{BASE}/ana-costa", "type": "profile"}
    assert {name: told[f"og:{name}"] for name in same} == same
    assert page.all("link", "href")[0] == f"{BASE}/ana-costa"
    assert page.all("html", "lang") == ["en"]
    assert _Page(_open(ana, headers={"Accept-Language": "de-AT,en;q=0.5"})).all("html", "lang") == ["de"]


def test_a_program_gets_the_page_as_json(ana: Person) -> None:
    bio = _new(ana, title="Ana Costa", sensitive=True)
    told = visit(ana.client, "ana-costa", agent=CURL).json()
    first = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
    assert told["blocks"][0] == {**BLOCKS[0], "visit": f"{BASE}/ana-costa/{first}"}
    assert told["blocks"][2] == BLOCKS[2]
    assert (told["error"], told["title"], told["sensitive"]) == (0, "Ana Costa", True)
    assert visit(ana.client, "ana-costa+").json() == {"error": 0, "url": f"{BASE}/ana-costa", "title": "Ana Costa"}


def test_visitors_of_a_sensitive_page_are_warned_and_counted_only_behind_the_warning(ana: Person) -> None:
    bio = _new(ana, title="Ana Costa", description="Secret words", sensitive=True)
    for agent in (CHROME, SLACK, GOOGLEBOT):
        gate = _open(ana, agent=agent)
        assert (gate.status_code, "Sensitive content" in gate.text) == (200, True)
        assert "Ana Costa" not in gate.text
        assert "Secret" not in gate.text
    assert sums(ana, f"/bio/{bio}") == {}
    answer = _open(ana, method="POST")
    assert (answer.status_code, answer.headers["location"]) == (303, "/ana-costa?sure=1")
    cookie = answer.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "Path=/ana-costa", "SameSite=lax"))
    assert "Secret words" in _open(ana).text  # by the cookie
    ana.client.cookies.clear()
    assert "Secret words" not in _open(ana).text
    assert "Secret words" in _open(ana, "ana-costa?sure=1").text  # for browsers that keep none
    assert sums(ana, f"/bio/{bio}") == {"clicks": 2, "uniqueClicks": 1}
    ana.client.cookies.clear()
    _new(ana, "other", sensitive=True)
    _open(ana, method="POST")
    assert "Sensitive content" in _open(ana, "other").text
    ana.put(f"/bio/{bio}/update", {"sensitive": None})
    ana.client.cookies.clear()
    assert "Secret words" in _open(ana).text


def test_a_change_is_in_force_at_the_next_visit_and_a_deleted_page_is_gone(ana: Person, ben: Person) -> None:
    bio = _new(ana, title="Before")
    assert "Before" in _open(ana).text
    ana.put(f"/bio/{bio}/update", {"title": "After", "blocks": []})
    assert "After" in _open(ana).text
    ana.put(f"/bio/{bio}/update", {"alias": "moved"})
    assert (_open(ana).status_code, _open(ana, "moved").status_code) == (404, 200)
    ana.delete(f"/bio/{bio}/delete")
    assert _open(ana, "moved").status_code == 404
    assert ben.call("POST", "/bio/add", {"name": "x", "alias": "moved"}).status_code == 400
    again = _new(ana, "moved")
    _open(ana, "moved")
    assert ana.get(f"/bio/{again}")["data"]["clicks"] == 1


@ONCE
def test_a_page_is_on_the_services_own_host_only(ana: Person) -> None:
    bio = _new(ana)
    ana.post("/domain/add", {"domain": "https://brand.example"})
    first = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
    for host in ("brand.example", "other.example"):
        for path in ("ana-costa", "ana-costa+", "ana-costa/vcard", f"ana-costa/{first}"):
            assert _open(ana, path, headers={"Host": host}).status_code == 404
    assert sums(ana, f"/bio/{bio}") == {}


@ONCE
def test_a_large_page_is_as_good_as_a_small_one(ana: Person) -> None:
    blocks = [{"type": "text", "text": "x" * 5000}, *[BLOCKS[0]] * 199]
    bio = _new(ana, blocks=blocks)
    hrefs = [href for href in _Page(_open(ana)).all("a", "href") if href.startswith("/ana-costa/")]
    assert len(hrefs) == len({b["id"] for b in ana.get(f"/bio/{bio}")["blocks"]}) == 199
    ana.put(f"/bio/{bio}/update", {"blocks": blocks[::-1]})
    assert _open(ana).status_code == 200


@ONCE
def test_an_app_that_the_operator_forbids_again_is_not_opened(ana: Person, settings: Settings) -> None:
    bio = _new(ana, blocks=[{"type": "link", "title": "Write", "url": "https://example.com/"}])
    block = ana.get(f"/bio/{bio}")["blocks"][0]["id"]
    for url in ("javascript:alert(1)", "mailto:ana@example.com", "data:text/html,x"):
        told = [{"type": "link", "title": "Write", "url": url, "id": block}]
        ana.write(partial(_set_blocks, blocks=told))
        ana.put(f"/bio/{bio}/update", {"title": url[:8]})  # so that nobody remembers the old one
        answer = visit(ana.client, f"ana-costa/{block}", headers=PAGE)
        assert (answer.status_code, "location" in answer.headers) == (403, False)
        assert url not in _open(ana).text


@ONCE
def test_every_theme_has_its_own_look_and_any_other_word_the_default_one(ana: Person) -> None:
    styles = {themes.style(name) for name in themes.THEMES}
    assert len(styles) == len(themes.THEMES) == 6
    for name in ("default", "no-such-theme", "x", "ocean-blue", "-dark"):
        assert themes.style(name) == themes.style("default")
    assert themes.style("dark") == themes.style("default-dark") != themes.style("default-light")
    bio = _new(ana)
    for name in (*themes.THEMES, "forest-light", "mono-dark"):
        ana.put(f"/bio/{bio}/update", {"theme": name})
        assert themes.style(name) in _open(ana).text


@pytest.mark.parametrize("name", themes.THEMES)
def test_every_text_can_be_read_in_every_theme(name: str) -> None:
    """WCAG 2.2: 4.5 to 1 for text, 3 to 1 for what shows where the focus is."""
    for palette in (themes.THEMES[name].light, themes.THEMES[name].dark):
        for under in (palette.sky, palette.ground, palette.card):
            assert min(_contrast(palette.ink, under), _contrast(palette.soft, under)) >= 4.5
            assert _contrast(palette.mark, under) >= 3
        assert _contrast(palette.label, palette.mark) >= 4.5


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_pages_from_before_blocks_were_counted_get_their_numbers(tmp_path: Path) -> None:
    blocks = [BLOCKS[2], BLOCKS[0], {"type": "image", "image": "https://a.example/", "link": ""}, BLOCKS[7]]
    with closing(Database(f"sqlite:///{tmp_path / 'old.db'}")) as old:
        old.write(lambda tx: upgrade.migrate(tx, "0004"))
        old.write(partial(_old_page, blocks=blocks))
        upgrade.upgrade(old)
        numbered = old.read(lambda tx: tx.execute(select(bios.c.blocks)).scalar_one())
        counted = old.read(lambda tx: tx.execute(select(bio_blocks.c.id, bio_blocks.c.clicks)).all())
    assert [block.pop("id", None) for block in numbered] == [None, 1, None, 2]
    assert numbered == blocks
    assert [tuple(row) for row in counted] == [(1, 0), (2, 0)]


def _old_page(tx: Connection, blocks: list[dict[str, Any]]) -> None:
    """An account and a bio page, as version 0004 has them."""
    found = MetaData()
    found.reflect(tx)
    blank = {str: "x", int: 1, bool: False}
    for name, more in (("accounts", {}), ("bios", {"blocks": blocks})):
        needed = [column for column in found.tables[name].columns if not column.nullable]
        row = {column.name: blank.get(column.type.python_type, 1) for column in needed}
        tx.execute(found.tables[name].insert().values({**row, **more}))
