"""Public splash pages."""

import base64
import hashlib
import time

import pytest
from sqlalchemy import Connection, insert, select

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.html import SANDBOX, open_page
from tests.support.visits import (
    ACCEPT_HTML,
    CHROME,
    CURL,
    DESTINATION,
    GOOGLEBOT,
    SLACK,
    click_totals,
    clicks,
    new_link,
    visit,
)
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import changes, links
from waypost.server.app import build

WORDS = {"title": "Before you go", "message": "Two\nlines", "counter": 7, "link": "https://shop.example/product"}
PICTURES = {"banner": "https://pictures.example/b.png", "logo": "https://logos.example:8443/l.png"}
NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{7*7}}\u202e"


def _splash(person: Person, **fields: object) -> int:
    return person.add("splash", **{"name": "A page", **fields})


def _link(person: Person, alias: str, splash: int | str, **fields: object) -> int:
    return new_link(person, alias, type=str(splash), **fields)


def test_splash_page_is_shown_with_countdown(ana: Person) -> None:
    link = _link(ana, "spring", _splash(ana, **WORDS, **PICTURES))
    page = open_page(ana, "spring")
    assert page.status == 200
    assert page.one("h1").text == WORDS["title"]
    assert page.one("p", class_="message").text == WORDS["message"]
    assert [image.attributes["src"] for image in page.all("img")] == list(PICTURES.values())
    assert page.one("a", target="_blank").attributes["href"] == WORDS["link"]
    assert page.one("a", class_="button").attributes["href"] == DESTINATION
    assert (page.script_data["url"], page.script_data["count"], page.script_data["pixels"]) == (DESTINATION, 7, [])
    assert clicks(ana, link) == (1, 1)


def test_splash_page_redirects_without_scripts(ana: Person) -> None:
    _link(ana, "spring", _splash(ana, counter=7))
    page = open_page(ana, "spring")
    assert page.one("meta", http_equiv="refresh").attributes["content"] == f"7; url={DESTINATION}"
    assert "<noscript><meta http-equiv" in page.response.text
    assert page.one("strong", id="left").text == "7"


@ON_SQLITE
def test_splash_page_without_counter_waits_for_click(ana: Person) -> None:
    _link(ana, "spring", _splash(ana, title="Read this"))
    page = open_page(ana, "spring")
    assert page.all("meta", http_equiv="refresh") == page.all("script") == []
    assert page.one("a", class_="button").text == "Continue"


@ON_SQLITE
def test_skip_button_appears_after_delay_or_never(ana: Person) -> None:
    splash = _splash(ana, counter=10, skip=4)
    assert ana.details("splash", splash)["skip"] == 4
    _link(ana, "spring", splash)
    button = open_page(ana, "spring").one("a", class_="button later")
    assert (button.text, button.attributes["style"]) == ("Skip", "animation-delay: 4s")
    ana.update("splash", splash, skip=10)
    assert [a for a in open_page(ana, "spring").all("a") if "button" in a.attributes["class"]] == []
    for wrong in (-1, 3601, "four", 1.5, True):
        refused(ana.call("PUT", f"/splash/{splash}/update", {"skip": wrong}), 400, "skip")


def test_splash_type_without_id_shows_title_and_description(ana: Person) -> None:
    link = _link(ana, "spring", "splash", title="My title", metadescription="My words")
    page = open_page(ana, "spring")
    assert (page.one("h1").text, page.one("p", class_="message").text) == ("My title", "My words")
    assert page.script_data["count"] == 5
    assert clicks(ana, link) == (1, 1)


def test_csp_of_splash_page_lists_only_used_sources(ana: Person) -> None:
    _link(ana, "spring", _splash(ana, **WORDS, **PICTURES))
    page = open_page(ana, "spring")
    assert page.policy == {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "script-src": ["HASH"],
        "img-src": ["data:", "https://pictures.example", "https://logos.example:8443"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "sandbox": SANDBOX,
    }
    headers = page.response.headers
    assert headers["cache-control"] == "private, no-store"
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    digest = hashlib.sha256(page.all("script")[1].text.encode()).digest()
    assert f"'sha256-{base64.b64encode(digest).decode()}'" in headers["content-security-policy"]
    assert "nonce" not in page.response.text


@pytest.mark.parametrize("field", ["title", "message"])
@ON_SQLITE
def test_splash_page_texts_are_escaped(ana: Person, field: str) -> None:
    text = NASTY if field == "title" else f"{NASTY}\n{NASTY}"
    _link(ana, "spring", _splash(ana, **{field: text}, counter=3), title=NASTY)
    page = open_page(ana, "spring", params={"x": NASTY})
    assert page.one("h1").text == NASTY
    assert [script.attributes.get("id", "") for script in page.all("script")] == ["script-config", ""]
    assert page.all("img") == []
    assert not [name for e in page.elements for name in e.attributes if name.startswith("on")]
    assert page.script_data["url"].startswith(f"{DESTINATION}?x=%3C%2Fscript%3E")


@ON_SQLITE
def test_splash_page_urls_are_escaped(ana: Person) -> None:
    odd = "https://example.com/\"'><script>alert(1)</script>;url=javascript:alert(1)"
    _link(ana, "spring", _splash(ana, counter=3, link=odd, banner=odd, logo=odd), url=odd)
    page = open_page(ana, "spring")
    assert [image.attributes["src"] for image in page.all("img")] == [
        "https://example.com/%22'%3E%3Cscript%3Ealert(1)%3C/script%3E;url=javascript:alert(1)"
    ] * 2
    refresh = page.one("meta", http_equiv="refresh").attributes["content"]
    assert refresh == f"3; url={page.script_data['url']}"
    assert page.script_data["url"].startswith("https://example.com/%22'%3E%3Cscript%3E")
    assert len(page.all("script")) == 2


def test_programs_and_crawlers_skip_splash_page(ana: Person, service: AsgiClient) -> None:
    link = _link(ana, "spring", _splash(ana, counter=3))
    for agent in (GOOGLEBOT, SLACK):
        response = visit(service, "spring", agent=agent, headers=ACCEPT_HTML)
        assert (response.status_code, response.headers["location"]) == (302, DESTINATION)
    assert visit(service, "spring", agent=CURL).headers["location"] == DESTINATION
    assert visit(service, "spring", "HEAD", headers=ACCEPT_HTML).status_code == 200
    assert open_page(ana, "spring", headers={"Sec-Purpose": "prefetch"}).status == 200
    assert clicks(ana, link) == (1, 1)  # the tool's
    totals = {"clicks": 1, "uniqueClicks": 1, "bots": 1, "previews": 1, "others": 2}
    assert click_totals(ana, f"/url/{link}") == totals


def test_limit_password_and_expiry_precede_splash_page(ana: Person, service: AsgiClient) -> None:
    splash = _splash(ana, title="Secret words", counter=3)
    _link(ana, "once", splash, clicklimit=1)
    assert open_page(ana, "once", agent=GOOGLEBOT).status == 302
    assert [open_page(ana, "once").status for _ in range(2)] == [200, 410]
    locked = _link(ana, "locked", splash, password="open sesame")
    assert open_page(ana, "locked").status == 401
    assert "Secret words" not in open_page(ana, "locked").response.text
    opened = visit(service, "locked", "POST", data={"password": "open sesame"}, headers=ACCEPT_HTML)
    assert (opened.status_code, "Secret words" in opened.text) == (200, True)
    assert clicks(ana, locked) == (1, 1)
    off = _link(ana, "off", splash, status="disabled")
    assert open_page(ana, "off").status == 403
    assert clicks(ana, off) == (0, 0)


def test_link_of_deleted_splash_page_redirects(ana: Person) -> None:
    splash = _splash(ana, counter=3)
    link = _link(ana, "spring", splash)
    assert open_page(ana, "spring").status == 200
    ana.remove("splash", splash)
    page = open_page(ana, "spring")
    assert (page.status, page.response.headers["location"]) == (302, DESTINATION)
    assert ana.details("url", link)["type"] == "direct"
    assert clicks(ana, link) == (2, 1)


@ON_BOTH_DATABASES
def test_splash_page_change_reaches_all_processes(ana: Person, settings: Settings, database_url: str) -> None:
    splash = _splash(ana, title="Old", counter=3)
    _link(ana, "spring", splash)
    _link(ana, "other", "direct")
    other = build(settings, Database(database_url))
    with AsgiClient(other) as client:
        assert "Old" in open_page(ana, "spring").response.text
        assert "Old" in visit(client, "spring", headers=ACCEPT_HTML).text
        ana.update("splash", splash, title="Shiny")
        assert "Shiny" in open_page(ana, "spring").response.text
        for _ in range(100):
            if "Shiny" in visit(client, "spring", headers=ACCEPT_HTML).text:
                break
            time.sleep(0.02)
        else:
            pytest.fail("the other process goes on showing the old page")


@ON_SQLITE
def test_change_of_splash_page_with_many_links_is_one_log_entry(ana: Person) -> None:
    splash = _splash(ana, counter=3)
    first = _link(ana, "many-0", splash)

    def copy(tx: Connection) -> None:
        link = tx.execute(select(links).where(links.c.id == first)).one()._asdict()
        del link["id"]
        tx.execute(insert(links), [{**link, "alias": f"many-{number}"} for number in range(1, 1001)])

    ana.write(copy)

    def logged() -> list[tuple[str, str]]:
        names = ana.database.read(lambda tx: tx.execute(select(changes.c.host, changes.c.alias)).all())
        return [(row.host, row.alias) for row in names]

    before = len(logged())
    assert "New" not in open_page(ana, "many-0").response.text
    ana.update("splash", splash, title="New")
    assert logged()[before:] == [("", "")]
    assert "New" in open_page(ana, "many-0").response.text


def test_splash_page_of_other_account_is_rejected(ana: Person, ben: Person) -> None:
    splash = _splash(ana, title="Ana's", counter=3)
    _link(ana, "spring", splash)
    refused(ben.call("POST", "/url/add", {"url": DESTINATION, "type": splash}), 400, "type")
    assert ben.call("PUT", f"/splash/{splash}/update", {"title": "Ben's"}).status_code == 404
    assert ben.call("DELETE", f"/splash/{splash}/delete").status_code == 404
    assert open_page(ana, "spring").one("h1").text == "Ana's"


@ON_SQLITE
def test_plain_link_has_no_interstitial(ana: Person, service: AsgiClient) -> None:
    new_link(ana, "plain")
    response = visit(service, "plain", agent=CHROME, headers=ACCEPT_HTML)
    assert dict(response.headers) == {
        "location": DESTINATION,
        "cache-control": "private, no-store",
        "content-length": "0",
    }


@pytest.mark.parametrize("url", ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x"])
@ON_SQLITE
def test_invalid_stored_url_is_not_rendered(ana: Person, url: str) -> None:
    _link(ana, "spring", _splash(ana, counter=3))
    ana.write(lambda tx: tx.exec_driver_sql("UPDATE links SET url = ?", (url,)))
    page = open_page(ana, "spring")
    assert (page.status, page.response.content) == (302, b"")  # which no browser follows
