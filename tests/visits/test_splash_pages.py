"""Splash pages: what a visitor reads for some seconds before the target."""

import time

import pytest
from sqlalchemy import Connection, insert, select

from tests.conftest import Person
from tests.support.asgi_client import Inside
from tests.support.assertions import refused
from tests.support.html import walk
from tests.support.visits import CHROME, CURL, GOOGLEBOT, PAGE, SLACK, TARGET, clicks, new_link, sums, visit
from waypost.app import build
from waypost.db.database import Database
from waypost.db.schema import changes, links
from waypost.settings import Settings

ONCE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
WORDS = {"title": "Before you go", "message": "Two\nlines", "counter": 7, "link": "https://shop.example/product"}
PICTURES = {"banner": "https://pictures.example/b.png", "logo": "https://logos.example:8443/l.png"}
NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{7*7}}\u202e"


def _splash(person: Person, **fields: object) -> int:
    return int(person.post("/splash/add", {"name": "A page", **fields})["id"])


def _link(person: Person, alias: str, splash: int | str, **fields: object) -> int:
    return new_link(person, alias, type=str(splash), **fields)


def test_a_visitor_reads_a_splash_page_and_goes_on(ana: Person) -> None:
    link = _link(ana, "spring", _splash(ana, **WORDS, **PICTURES))
    page = walk(ana, "spring")
    assert page.status == 200
    assert page.one("h1").text == WORDS["title"]
    assert page.one("p", class_="message").text == WORDS["message"]
    assert [image.attributes["src"] for image in page.all("img")] == list(PICTURES.values())
    assert page.one("a", target="_blank").attributes["href"] == WORDS["link"]
    assert page.one("a", class_="button").attributes["href"] == TARGET
    assert (page.way["url"], page.way["count"], page.way["pixels"]) == (TARGET, 7, [])
    assert clicks(ana, link) == (1, 1)


def test_without_scripts_a_splash_page_goes_on_too(ana: Person) -> None:
    _link(ana, "spring", _splash(ana, counter=7))
    page = walk(ana, "spring")
    assert page.one("meta", http_equiv="refresh").attributes["content"] == f"7;url={TARGET}"
    assert "<noscript><meta http-equiv" in page.response.text
    assert page.one("strong", id="left").text == "7"


@ONCE
def test_a_page_without_a_countdown_waits_for_its_reader(ana: Person) -> None:
    _link(ana, "spring", _splash(ana, title="Read this"))
    page = walk(ana, "spring")
    assert page.all("meta", http_equiv="refresh") == page.all("script") == []
    assert page.one("a", class_="button").text == "Continue"


@ONCE
def test_the_button_comes_after_some_seconds_or_not_at_all(ana: Person) -> None:
    splash = _splash(ana, counter=10, skip=4)
    assert ana.get(f"/splash/{splash}")["details"]["skip"] == 4
    _link(ana, "spring", splash)
    button = walk(ana, "spring").one("a", class_="button later")
    assert (button.text, button.attributes["style"]) == ("Skip", "animation-delay: 4s")
    ana.put(f"/splash/{splash}/update", {"skip": 10})
    assert [a for a in walk(ana, "spring").all("a") if "button" in a.attributes["class"]] == []
    for wrong in (-1, 3601, "4", 1.5, True):
        refused(ana.call("PUT", f"/splash/{splash}/update", {"skip": wrong}), 400, "skip")


def test_a_link_of_type_splash_has_a_plain_page_in_its_own_words(ana: Person) -> None:
    link = _link(ana, "spring", "splash", title="My title", description="My words")
    page = walk(ana, "spring")
    assert (page.one("h1").text, page.one("p", class_="message").text) == ("My title", "My words")
    assert page.way["count"] == 5
    assert clicks(ana, link) == (1, 1)


def test_the_policy_of_a_splash_page_names_what_it_loads_and_nothing_else(ana: Person) -> None:
    _link(ana, "spring", _splash(ana, **WORDS, **PICTURES))
    page = walk(ana, "spring")
    assert page.policy == {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "script-src": ["NONCE"],
        "img-src": ["data:", "https://pictures.example", "https://logos.example:8443"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
    headers = page.response.headers
    assert headers["cache-control"] == "private, no-store"
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    nonces = [script.attributes["nonce"] for p in (page, walk(ana, "spring")) for script in p.all("script")[1:]]
    assert len(set(nonces)) == 2
    assert f"'nonce-{nonces[0]}'" in headers["content-security-policy"]


@pytest.mark.parametrize("field", ["title", "message"])
@ONCE
def test_no_text_of_a_splash_page_becomes_markup(ana: Person, field: str) -> None:
    text = NASTY if field == "title" else f"{NASTY}\n{NASTY}"
    _link(ana, "spring", _splash(ana, **{field: text}, counter=3), title=NASTY)
    page = walk(ana, "spring", params={"x": NASTY})
    assert page.one("h1").text == NASTY
    assert [script.attributes.get("id", "") for script in page.all("script")] == ["way", ""]
    assert page.all("img") == []
    assert not [name for e in page.elements for name in e.attributes if name.startswith("on")]
    assert page.way["url"].startswith(f"{TARGET}?x=%3C%2Fscript%3E")


@ONCE
def test_a_url_in_a_splash_page_cannot_break_out_of_its_attribute(ana: Person) -> None:
    odd = "https://example.com/\"'><script>alert(1)</script>;url=javascript:alert(1)"
    _link(ana, "spring", _splash(ana, counter=3, link=odd, banner=odd, logo=odd), url=odd)
    page = walk(ana, "spring")
    assert [image.attributes["src"] for image in page.all("img")] == [odd, odd]
    refresh = page.one("meta", http_equiv="refresh").attributes["content"]
    assert refresh == f"3;url={page.way['url']}"
    assert page.way["url"].startswith("https://example.com/%22'%3E%3Cscript%3E")
    assert len(page.all("script")) == 2


def test_only_people_read_splash_pages(ana: Person, service: Inside) -> None:
    link = _link(ana, "spring", _splash(ana, counter=3))
    for agent in (GOOGLEBOT, SLACK):
        answer = visit(service, "spring", agent=agent, headers=PAGE)
        assert (answer.status_code, answer.headers["location"]) == (302, TARGET)
    assert visit(service, "spring", agent=CURL).headers["location"] == TARGET
    assert visit(service, "spring", "HEAD", headers=PAGE).status_code == 200
    assert walk(ana, "spring", headers={"Sec-Purpose": "prefetch"}).status == 200
    assert clicks(ana, link) == (1, 1)  # the tool's
    told = {"clicks": 1, "uniqueClicks": 1, "bots": 1, "previews": 1, "others": 2}
    assert sums(ana, f"/url/{link}") == told


def test_limit_password_and_expiry_come_before_any_page(ana: Person, service: Inside) -> None:
    splash = _splash(ana, title="Secret words", counter=3)
    _link(ana, "once", splash, clicklimit=1)
    assert walk(ana, "once", agent=GOOGLEBOT).status == 302
    assert [walk(ana, "once").status for _ in range(2)] == [200, 410]
    locked = _link(ana, "locked", splash, password="open sesame")
    assert walk(ana, "locked").status == 401
    assert "Secret words" not in walk(ana, "locked").response.text
    opened = visit(service, "locked", "POST", data={"password": "open sesame"}, headers=PAGE)
    assert (opened.status_code, "Secret words" in opened.text) == (200, True)
    assert clicks(ana, locked) == (1, 1)
    off = _link(ana, "off", splash, status="disabled")
    assert walk(ana, "off").status == 403
    assert clicks(ana, off) == (0, 0)


def test_a_link_whose_splash_page_is_deleted_leads_straight_to_its_target(ana: Person) -> None:
    splash = _splash(ana, counter=3)
    link = _link(ana, "spring", splash)
    assert walk(ana, "spring").status == 200
    ana.delete(f"/splash/{splash}/delete")
    page = walk(ana, "spring")
    assert (page.status, page.response.headers["location"]) == (302, TARGET)
    assert ana.get(f"/url/{link}")["details"]["type"] == "direct"
    assert clicks(ana, link) == (2, 1)


def test_a_change_to_a_splash_page_shows_at_once_here_and_soon_elsewhere(
    ana: Person, settings: Settings, database_url: str
) -> None:
    splash = _splash(ana, title="Old", counter=3)
    _link(ana, "spring", splash)
    _link(ana, "other", "direct")
    other = build(settings, Database(database_url))
    with Inside(other) as client:
        assert "Old" in walk(ana, "spring").response.text
        assert "Old" in visit(client, "spring", headers=PAGE).text
        ana.put(f"/splash/{splash}/update", {"title": "Shiny"})
        assert "Shiny" in walk(ana, "spring").response.text
        for _ in range(100):
            if "Shiny" in visit(client, "spring", headers=PAGE).text:
                break
            time.sleep(0.02)
        else:
            pytest.fail("the other process goes on showing the old page")


@ONCE
def test_a_change_to_a_page_of_very_many_links_is_one_line_in_the_log(ana: Person) -> None:
    splash = _splash(ana, counter=3)
    first = _link(ana, "many-0", splash)

    def copy(tx: Connection) -> None:
        made = tx.execute(select(links).where(links.c.id == first)).one()._asdict()
        del made["id"]
        tx.execute(insert(links), [{**made, "alias": f"many-{number}"} for number in range(1, 1001)])

    ana.write(copy)

    def logged() -> list[tuple[str, str]]:
        found = ana.database.read(lambda tx: tx.execute(select(changes.c.host, changes.c.alias)).all())
        return [(row.host, row.alias) for row in found]

    before = len(logged())
    assert "New" not in walk(ana, "many-0").response.text
    ana.put(f"/splash/{splash}/update", {"title": "New"})
    assert logged()[before:] == [("", "")]
    assert "New" in walk(ana, "many-0").response.text


def test_a_splash_page_of_somebody_else_cannot_be_used_or_changed(ana: Person, ben: Person) -> None:
    splash = _splash(ana, title="Ana's", counter=3)
    _link(ana, "spring", splash)
    refused(ben.call("POST", "/url/add", {"url": TARGET, "type": splash}), 400, "type")
    assert ben.call("PUT", f"/splash/{splash}/update", {"title": "Ben's"}).status_code == 404
    assert ben.call("DELETE", f"/splash/{splash}/delete").status_code == 404
    assert walk(ana, "spring").one("h1").text == "Ana's"


@ONCE
def test_a_plain_link_is_untouched_by_all_this(ana: Person, service: Inside) -> None:
    new_link(ana, "plain")
    answer = visit(service, "plain", agent=CHROME, headers=PAGE)
    assert dict(answer.headers) == {"location": TARGET, "cache-control": "private, no-store", "content-length": "0"}


@pytest.mark.parametrize("url", ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x"])
@ONCE
def test_a_script_that_came_past_the_api_stands_on_no_page(ana: Person, url: str) -> None:
    _link(ana, "spring", _splash(ana, counter=3))
    ana.write(lambda tx: tx.exec_driver_sql("UPDATE links SET url = ?", (url,)))
    page = walk(ana, "spring")
    assert (page.status, page.response.content) == (302, b"")  # which no browser follows
