"""The blocklist: matching URLs are rejected, and existing links to them return 403."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.html import open_page
from tests.support.protocol import protocol_client
from tests.support.server import serving
from tests.support.url_fields import EVIL, URL_FIELDS
from tests.support.visits import ACCEPT_HTML, ACCEPT_JSON, IPHONE, SLACK, clicks, new_link, visit
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.moderation import blocklist
from waypost.urls import blocklist as entries
from waypost.urls.blocklist import HOST, WORD, Blocklist
from waypost.visits.cache import Cache

pytestmark = ON_BOTH_DATABASES


def _block(person: Person, value: str = "evil.example", kind: str = HOST) -> None:
    """Block in another process; a later change of this process that visitors see applies it at once."""
    person.write(lambda tx: blocklist.block(tx, value, kind=kind))
    person.add("url", url="https://example.com/seen")


@pytest.mark.parametrize(
    ("url", "is_blocked"),
    [
        ("https://evil.example", True),
        ("http://EVIL.example./x", True),
        ("https://a.b.evil.example:8443/x", True),
        ("https://user:evil@evil.example/", True),
        ("https://\uff45vil.example/", True),
        ("https://xn--bcher-kva.example/", True),
        ("https://bücher.example/", True),
        ("http://3405803783/", True),
        ("http://0xCB007107/", True),
        ("https://notevil.example/", False),
        ("https://evil.example.com/", False),
        ("https://example.com/?u=evil.example", False),
        ("https://example.com/CASINO", True),
        ("https://example.com/c%61sino", True),
        ("https://example.com/c%2561sino", True),
        ("https://example.com/\uff43asino", True),
        ("https://online-casino.example/", True),
        ("tel:casino", True),
        ("https://example.com/cas-ino", False),
        ("https://[::1/", False),
    ],
)
def test_blocklist_matches_subdomains_and_disguised_words(
    url: str,
    is_blocked: bool,  # noqa: FBT001  # a case
) -> None:
    hosts = frozenset({"evil.example", "xn--bcher-kva.example", "203.0.113.7"})
    assert Blocklist(hosts, ("casino",)).blocks(url) is is_blocked
    assert not Blocklist().blocks(url)


@pytest.mark.parametrize(
    ("noun", "body", "field"), URL_FIELDS, ids=lambda value: value if isinstance(value, str) else ""
)
@ON_SQLITE
def test_blocked_url_is_rejected_in_every_field(noun: str, body: dict[str, Any], field: str, ana: Person) -> None:
    item = ana.post(f"{noun}/add", body)["id"]
    _block(ana)
    assert "evil.example" in refused(ana.call("POST", f"{noun}/add", body), 400, field)
    update = {name: value for name, value in body.items() if name not in ("domain", "type") or noun == "/qr"}
    assert "evil.example" in refused(ana.call("PUT", f"{noun}/{item}/update", update), 400, field)


def test_blocked_word_is_named_in_error(ana: Person) -> None:
    _block(ana, " Casino ", WORD)
    message = refused(ana.call("POST", "/url/add", {"url": "https://example.com/CASINO"}), 400, "url")
    assert message == "url must not contain the word casino, which the administrator of this service has blocked."


def test_link_with_blocked_destination_returns_403(service: AsgiClient, ana: Person) -> None:
    link = new_link(ana, "one", url=EVIL, title="One")
    assert visit(service, "one").status_code == visit(service, "one").status_code == 302
    _block(ana)
    response = visit(service, "one", headers=ACCEPT_HTML)
    assert (response.status_code, "location" in response.headers) == (403, False)
    assert "Blocked" in response.text
    assert "evil.example" not in response.text
    assert visit(service, "one", headers=ACCEPT_JSON).json()["code"] == "blocked"
    assert visit(service, "one+").status_code == 403
    assert clicks(ana, link)[0] == 2
    ana.update("url", link, title="Still there")
    assert visit(service, "one").status_code == 403
    ana.update("url", link, url="https://example.com/")
    assert visit(service, "one").status_code == 302
    ana.write(lambda tx: blocklist.unblock(tx, "evil.example", kind=HOST))


def test_only_blocked_targeting_destination_is_rejected(service: AsgiClient, ana: Person) -> None:
    new_link(ana, "one", devicetarget=[{"device": "iphone", "link": EVIL}], expiryurl=EVIL, clicklimit=1)
    _block(ana)
    assert visit(service, "one", agent=IPHONE).status_code == 403
    assert visit(service, "one").status_code == 302
    assert visit(service, "one").status_code == 403  # over its limit, and its expiryurl is blocked


def test_query_of_visitor_is_not_matched_by_blocklist(service: AsgiClient, ana: Person) -> None:
    new_link(ana, "one")
    _block(ana, "casino", WORD)
    assert visit(service, "one?q=casino").status_code == 302


def test_codes_and_domains_with_blocked_url_return_403(service: AsgiClient, ana: Person) -> None:
    ana.post("/qr/add", {"type": "link", "data": EVIL, "custom": "code"})
    domain = {"domain": "https://go.brand.example", "redirectroot": EVIL, "redirect404": EVIL}
    ana.post("/domain/add", domain)
    paths = [("code", BASE), ("", "https://go.brand.example"), ("nothing", "https://go.brand.example")]

    def statuses() -> set[int]:
        hosts = [(path, base.partition("://")[2]) for path, base in paths]
        return {visit(service, path, headers={"Host": host}).status_code for path, host in hosts}

    assert statuses() == {302}
    _block(ana)
    assert statuses() == {403}
    assert visit(service, "code+").status_code == 403


def test_rotator_skips_blocked_links(service: AsgiClient, ana: Person) -> None:
    campaign = ana.add("campaign", slug="spring")
    new_link(ana, "one", url=EVIL, campaign=campaign)
    new_link(ana, "two", campaign=campaign)
    _block(ana)
    assert {visit(service, "r/spring").headers["location"] for _ in range(12)} == {"https://example.com/page"}


@ON_SQLITE
def test_fast_path_drops_blocked_redirect(settings: Settings, database: Database) -> None:
    with protocol_client(settings, database) as client:
        client.add_link("one", url=EVIL)
        get = b"GET /one HTTP/1.1\r\nHost: go.localhost\r\n\r\n"
        assert [client.request(get)[9:12] for _ in range(3)] == [b"302"] * 3
        assert client.worker_state.hits == 2
        database.write(lambda tx: blocklist.block(tx, "evil.example", kind=HOST))
        client.add_link("seen")  # a change that visitors see applies that of another process at once
        assert [client.request(get)[9:12] for _ in range(3)] == [b"403"] * 3


@ON_SQLITE
def test_blocklist_change_reaches_every_process_within_a_second(
    database: Database, database_url: str, tmp_path: Path, ana: Person
) -> None:
    new_link(ana, "one", url=EVIL)
    with serving(tmp_path / "node", database_url=database_url, workers=2) as server:
        for _ in range(20):
            assert server.call("GET", "/one", headers={"Connection": "close"}).status_code == 302
        database.write(lambda tx: blocklist.block(tx, "evil.example", kind=HOST))
        time.sleep(1)
        statuses = {server.call("GET", "/one", headers={"Connection": "close"}).status_code for _ in range(20)}
    assert statuses == {403}


def test_outdated_blocklist_is_not_cached() -> None:
    memory = Cache()
    version = memory.version
    memory.invalidate([("", "")])
    memory.put_blocklist(Blocklist(), version=version)
    assert memory.blocklist is None


@pytest.mark.parametrize(
    ("value", "kind", "stored"),
    [
        ("Evil.Example", HOST, "evil.example"),
        ("https://evil.example:8443/x?y", HOST, "evil.example"),
        ("*.evil.example", HOST, "evil.example"),
        ("bücher.example", HOST, "xn--bcher-kva.example"),
        ("https://b%C3%BCcher.example/page", HOST, "xn--bcher-kva.example"),
        ("  CaSino ", WORD, "casino"),
        ("not a host", HOST, None),
        ("", HOST, None),
        ("https://", HOST, None),
        ("ab", WORD, None),
        ("   ", WORD, None),
    ],
)
def test_blocklist_entry_is_normalized(value: str, kind: str, stored: str | None, database: Database) -> None:
    if stored is None:
        with pytest.raises(Problem):
            database.write(lambda tx: blocklist.block(tx, value, kind=kind))
        return
    for _ in range(2):
        database.write(lambda tx: blocklist.block(tx, value, kind=kind))
    assert [(block.kind, block.value) for block in database.read(blocklist.list_all)] == [(kind, stored)]
    database.write(lambda tx: blocklist.unblock(tx, value, kind=kind))
    assert database.read(entries.read) == Blocklist()
    with pytest.raises(Problem):
        database.write(lambda tx: blocklist.unblock(tx, value, kind=kind))


def _new_splash_or_overlay(person: Person, kind: str) -> None:
    """Create an interstitial with a blocked button and image before an allowed destination, and a rotator to it."""
    fields: dict[str, dict[str, Any]] = {
        "splash": {"link": EVIL, "banner": f"{EVIL}/b.png", "logo": "https://good.example/l.png", "counter": 0},
        "overlay": {"type": "image", "link": EVIL, "image": f"{EVIL}/b.png", "label": "Look", "message": "Hello"},
    }
    item = person.add(kind, **{"name": "x", **fields[kind]})
    campaign = person.add("campaign", slug="spring")
    new_link(person, "one", type=f"overlay-{item}" if kind == "overlay" else str(item), campaign=campaign)


@pytest.mark.parametrize("kind", ["splash", "overlay"])
def test_blocked_button_and_image_are_hidden(kind: str, ana: Person) -> None:
    _new_splash_or_overlay(ana, kind)
    for path in ("one", "r/spring"):
        page = open_page(ana, path)
        assert EVIL in [link.attributes["href"] for link in page.all("a")]
        assert "https://sub.evil.example" in page.policy["img-src"]
    _block(ana)
    for path in ("one", "r/spring"):
        page = open_page(ana, path)
        assert (page.status, "evil.example" in page.response.text) == (200, False)
        assert "evil.example" not in page.response.headers["content-security-policy"]
        assert "https://example.com/page" in [link.attributes["href"] for link in page.all("a")]
        assert ("https://good.example/l.png" in page.response.text) == (kind == "splash")
    ana.write(lambda tx: blocklist.unblock(tx, "evil.example", kind=HOST))
    _block(ana, "something", WORD)
    assert EVIL in open_page(ana, "one").response.text


def test_blocked_social_card_image_is_hidden(ana: Person) -> None:
    new_link(ana, "one", metatitle="A title", metaimage=f"{EVIL}/b.png")
    assert "evil.example" in open_page(ana, "one", agent=SLACK).response.text
    _block(ana)
    page = open_page(ana, "one", agent=SLACK)
    assert ("A title" in page.response.text, "evil.example" in page.response.text) == (True, False)


def test_blocked_continue_link_is_hidden(ana: Person) -> None:
    item = ana.add("overlay", name="x", type="newsletter", message="Hello")
    new_link(ana, "one", url=EVIL, type=f"overlay-{item}")
    page = open_page(ana, "one")
    form = {field.attributes["name"]: field.attributes["value"] for field in page.all("input", type="hidden")}
    form["email"] = "zoe@example.com"
    assert EVIL in visit(ana.client, f"overlay/{item}", "POST", data=form, headers=ACCEPT_HTML).text
    _block(ana)
    response = visit(ana.client, f"overlay/{item}", "POST", data=form, headers=ACCEPT_HTML)
    assert (response.status_code, "evil.example" in response.text) == (403, False)


def test_blocked_bio_blocks_are_hidden_and_return_403(ana: Person) -> None:
    blocks = [
        {"type": "link", "title": "Good", "url": "https://example.com/"},
        {"type": "link", "title": "Bad", "url": EVIL},
        {"type": "image", "image": f"{EVIL}/b.png", "link": "https://example.com/", "alt": "A picture"},
        {"type": "image", "image": "https://good.example/b.png", "link": EVIL, "alt": "Another"},
        {"type": "social", "network": "Mastodon", "url": EVIL},
        {"type": "vcard", "fname": "Zoe", "site": EVIL},
    ]
    bio = ana.add("bio", name="x", alias="ana-costa", blocks=blocks)
    ids = [block["id"] for block in ana.get(f"/bio/{bio}")["blocks"]]
    page = open_page(ana, "ana-costa")
    assert all(word in page.response.text for word in ("Good", "Bad", "A picture", "Another", "Mastodon", "Zoe"))
    _block(ana)
    page = open_page(ana, "ana-costa")
    assert "Good" in page.response.text
    assert not any(word in page.response.text for word in ("Bad", "A picture", "Another", "Mastodon", "Zoe", "evil"))
    assert page.policy["img-src"] == ["data:", "'self'"]
    response = visit(ana.client, "ana-costa", headers=ACCEPT_JSON)
    assert ([block["title"] for block in response.json()["blocks"]], "evil" in response.text) == (["Good"], False)
    statuses = [visit(ana.client, f"ana-costa/{part}", headers=ACCEPT_HTML).status_code for part in (*ids, "vcard")]
    assert statuses == [302, *[403] * 6]
    assert [block["clicks"] for block in ana.get(f"/bio/{bio}")["blocks"]] == [1, 0, 0, 0, 0, 0]
