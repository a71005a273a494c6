"""XSS: stored texts stay text on every public page, in a real browser."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from sqlalchemy import Connection, Table, select, update

from tests.conftest import BASE, Person
from tests.support.assertions import refused
from tests.support.browser import served, window
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.public_pages import public_pages
from tests.support.url_fields import EVIL, URL_FIELDS
from tests.support.visits import ACCEPT_HTML, CHROME, visit
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import bios, campaigns, files, links, overlays, qrs, splashes
from waypost.server.app import build

pytestmark = ON_SQLITE
NASTY = (
    "\"'>--></title></style></script></textarea></svg><script>window.hacked=1</script>"
    "<img src=x onerror=window.hacked=1><svg onload=window.hacked=1><a href=javascript:window.hacked=1>x</a>"
    "<iframe srcdoc=x></iframe><base href=//wild.example><meta http-equiv=refresh content=0;url=//wild.example>"
    "{{7*7}}{% raw %}*/}body{display:none}\u202e\u2066gpj.exe"
)
_KEPT = frozenset({"type", "url", "image", "link", "id"})  # fields of a block that are not free text
_WORDS: dict[Table, tuple[str, ...]] = {
    splashes: ("title", "message"),
    overlays: ("message", "label", "button", "thanks", "code"),
    links: ("title", "description", "metatitle", "metadescription"),
    files: ("name", "filename"),
    bios: ("name", "title", "description"),
}
# The structure of a page: elements, attributes, and values of links and resources. Form tokens differ.
_SKELETON = """() => {
    const leads = /^(href|src|action|method|rel|target|sandbox|http-equiv)$/, ours = /\\d{5,}|[\\w-]{22,}/g;
    const told = (one, {name, value}) => !leads.test(name) || one.tagName === "LINK" ? name
        : `${name}=${value.replace(ours, "…")}`;
    return [...document.querySelectorAll("*")].map(
        one => [one.tagName, ...[...one.attributes].map(attribute => told(one, attribute))].join(" "));
}"""
# Right-to-left text, and neighboring texts that it could reverse.
_REDIRECTED = """() => {
    const found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        let one = texts.currentNode.parentElement;
        if (!texts.currentNode.data.includes("\\u202e") || one.closest("script, style, textarea")) continue;
        while (!/isolate|plaintext/.test(getComputedStyle(one).unicodeBidi)) one = one.parentElement;
        const beside = [...one.childNodes].filter(other => !other.textContent.includes("\\u202e"));
        if (beside.some(other => /\\w{2}/.test(other.textContent))) found.push(one.outerHTML.slice(0, 200));
    }
    return found;
}"""
_IS_WHOLE = "window.hacked === undefined && getComputedStyle(document.body).display !== 'none'"
_TRICKS = (
    *(
        "//wild.example",
        "//wild.example/",
        "///wild.example/..",
        "/%2F%2Fwild.example",
        "/%5C%5Cwild.example",
    ),
    *(
        "/\\wild.example",
        "/http://wild.example",
        "/one//wild.example",
        "/u//wild.example/x-1",
        "/ana-costa//wild.example",
    ),
    *("/report?url=https://wild.example", "/?next=https://wild.example", "/one?url=https://wild.example"),
    *(
        "/one?@wild.example",
        "/one?.wild.example",
        "/one+?url=//wild.example",
        "/one/qr?to=//wild.example",
    ),
    *("/r/spring?url=//wild.example", "/u/ana/x-1?q=//wild.example", "/u/ana//wild.example-1"),
    *(
        "/locked?url=//wild.example",
        "/ana-costa?sure=1&url=//wild.example",
        "/overlay/1?url=//wild.example",
    ),
    "/one%0d%0aLocation:%20//wild.example",
)


@contextmanager
def _opened_page(chrome: Browser, settings: Settings) -> Iterator[tuple[Page, str]]:
    """A browser page and the address of a service with an empty cache."""
    consent_settings = Settings(**{**settings.model_dump(), "pixel_consent": "on"})
    context = chrome.new_context(user_agent=CHROME)
    app = build(consent_settings, Database(settings.database))
    with served(app) as address, window(chrome, context=context, stays=True) as opened_window:
        opened_window.page.on("dialog", lambda dialog: opened_window.console_errors.append(dialog.message))
        yield opened_window.page, address
    context.close()


def _write(tx: Connection, text: str) -> None:
    """Write every text an owner can set directly to the database, bypassing validation."""
    for table, names in _WORDS.items():
        tx.execute(update(table).values({name: f"{text} {name}" for name in names}))
    tx.execute(update(overlays).where(overlays.c.type == "poll").values(options=[text, f"{text} again"]))
    for row in tx.execute(select(campaigns.c.id)).all():
        tx.execute(update(campaigns).where(campaigns.c.id == row.id).values(name=f"{text} {row.id}"))
    for row in tx.execute(select(bios.c.id, bios.c.blocks).where(bios.c.alias != "broken")).all():
        blocks = [{name: value if name in _KEPT else text for name, value in block.items()} for block in row.blocks]
        tx.execute(update(bios).where(bios.c.id == row.id).values(blocks=blocks))
    tx.execute(update(qrs).where(qrs.c.type == "text").values(data=text))


def test_stored_text_does_not_change_page_structure(
    ana: Person, chrome: Browser, settings: Settings, framed_site: FakeInternet
) -> None:
    paths = [sight.path for sight in public_pages(ana) if sight.status == 200 and "?" not in sight.path]
    structures: list[dict[str, list[str]]] = []
    for text in ("Plain words", NASTY):
        ana.write(partial(_write, text=text))
        structures.append({})
        with _opened_page(chrome, settings) as (tab, address):
            for path in paths:
                tab.goto(f"{address}/{path}")
                structures[-1][path] = tab.evaluate(_SKELETON)
                assert tab.evaluate(_IS_WHOLE), path
                assert tab.evaluate(_REDIRECTED) == [], path
    assert len(paths) > 30
    for path in paths:
        assert structures[0][path] == structures[1][path], path


def test_visitor_input_is_escaped(ana: Person, chrome: Browser, settings: Settings) -> None:
    public_pages(ana)
    with _opened_page(chrome, settings) as (tab, address):
        for path, field, most in (("report", "url", 2048), ("u/ana/reading-1", "q", 255)):
            tab.goto(f"{address}/{path}?{field}=plain")
            plain = tab.evaluate(_SKELETON)
            tab.evaluate("words => { location.search = new URLSearchParams(words) }", {field: NASTY})
            tab.wait_for_url(f"{address}/{path}?{field}=%22*")
            assert tab.evaluate(_SKELETON) == plain
            assert tab.evaluate(_IS_WHOLE)
            assert tab.evaluate(_REDIRECTED) == []
            assert tab.input_value(f"[name={field}]") == NASTY[:most]


def test_every_page_forbids_framing_and_foreign_scripts(ana: Person, framed_site: FakeInternet) -> None:
    quiet = ana.client.another(raises=False)
    for sight in public_pages(ana):
        headers = visit(quiet, sight.path, headers=ACCEPT_HTML).headers
        parts = {name: rest for name, *rest in map(str.split, headers["content-security-policy"].split(";"))}
        assert (parts["default-src"], parts["frame-ancestors"], parts["base-uri"]) == (["'none'"],) * 3, sight.path
        assert not {"'unsafe-inline'", "'unsafe-eval'", "*", "data:", "https:"}.intersection(
            parts.get("script-src", ())
        )
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", " JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "//x"]
)
def test_script_url_is_rejected_everywhere(ana: Person, url: str) -> None:
    tried = 0
    for noun, body, field in URL_FIELDS:
        body_with_url = json.loads(json.dumps(body).replace(EVIL, url))
        if body != body_with_url and noun != "/qr":  # a code can contain any text; its redirects have their own tests
            refused(ana.call("POST", f"{noun}/add", body_with_url), 400, field)
            tried += 1
    assert tried > 15


@pytest.mark.parametrize(
    "color", ["red;} body{display:none", "#fff;}", "#12345", "url(//x)", "#GGGGGG", "var(--x)", "#000000;", "#00000\n0"]
)
@pytest.mark.parametrize("field", ["color", "background"])
def test_color_cannot_inject_css(ana: Person, color: str, field: str) -> None:
    body: dict[str, Any] = {"name": "x", "type": "message", "message": "x", field: color}
    refused(ana.call("POST", "/overlay/add", body), 400, field)


@pytest.mark.parametrize("path", _TRICKS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_endpoint_is_open_redirect(ana: Person, path: str, method: str) -> None:
    campaign = ana.add("campaign", slug="spring", public=True)
    for alias, fields in (("one", {"campaign": campaign}), ("locked", {"password": "a password"})):
        ana.post("/url/add", {"url": "https://example.com/page", "custom": alias, **fields})
    ana.post("/bio/add", {"name": "x", "alias": "ana-costa", "sensitive": True})
    forged = {
        "X-Forwarded-Host": "wild.example",
        "X-Forwarded-Proto": "https",
        "Referer": "https://wild.example/",
    }
    form = {
        "url": "https://wild.example/",
        "next": "//wild.example",
        "ticket": "x",
        "link": "1",
        "overlay": "1",
    }
    for headers in (ACCEPT_HTML, {**ACCEPT_HTML, **forged}):
        form_or_none = form if method == "POST" else None
        response = ana.client.request(method, f"{BASE}{path}", headers=headers, data=form_or_none)
        goes = response.headers.get("location", "/one")
        assert goes.startswith(
            ("https://example.com/page", "/one", "/locked", "/ana-costa", "/dashboard", f"{BASE}/")
        ), goes
        assert not goes.startswith(("https://example.com/page@", "https://example.com/page.")), goes
        assert "evil" not in "".join(value for name, value in response.headers.items() if name != "location")
