"""Aliases on branded domains: letters and digits of any script, dots and slashes (decision 61)."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from sqlalchemy import Connection

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.visits import ACCEPT_HTML, DESTINATION, clicks, new_link, visit
from waypost.urls import alias_namespace, alias_rules

pytestmark = ON_BOTH_DATABASES  # look-ups in any case, and a race
BRAND = "https://brand.example"


def _brand(person: Person, domain: str = BRAND) -> int:
    return person.add("domain", domain=domain)


def _location(service: AsgiClient, path: str, origin: str = BRAND) -> str:
    """Return the destination of a visit, which is in memory from the second time on."""
    locations = {str(visit(service, f"{origin}/{path}").headers.get("location", "")) for _ in range(3)}
    (location,) = locations
    return location


@pytest.mark.parametrize(
    "alias",
    [
        "x",
        "a.b",
        "2030/spring/sale",
        "gr\u00fc\u00dfe",
        "\u65e5\u672c/1",
        "~ana",
        "x" * 190,
        "😢👍",
    ],
)
def test_alias_is_found_and_its_short_url_is_encoded(ana: Person, service: AsgiClient, alias: str) -> None:
    _brand(ana)
    link = ana.post("/url/add", {"url": DESTINATION, "custom": alias, "domain": BRAND})
    assert link["shorturl"] == f"{BRAND}/{quote(alias, safe='/~')}"
    details = ana.details("url", link["id"])
    assert (details["alias"], details["shorturl"]) == (alias, link["shorturl"])
    assert _location(service, link["shorturl"].removeprefix(f"{BRAND}/")) == DESTINATION
    for short in (link["shorturl"], f"{BRAND}/{alias}"):
        assert ana.get("/urls", short=short)["details"]["id"] == link["id"]
    assert clicks(ana, link["id"])[0] == 3


def test_alias_with_symbols_is_found_in_every_form(ana: Person, service: AsgiClient) -> None:
    _brand(ana)
    new_link(ana, "\u2764\ufe0f", domain=BRAND)
    for path in ("%E2%9D%A4", "%E2%9D%A4%EF%B8%8F", "%E2%9D%A4!", "%E2%9D%A4%EF%B8%8F."):
        assert _location(service, path) == DESTINATION, path
    assert visit(service, f"{BRAND}/%E2%9D%A4+", headers=ACCEPT_HTML).status_code == 200  # the preview
    assert visit(service, f"{BRAND}/%E2%9D%A4/qr").headers["content-type"] == "image/png"
    assert refused(ana.call("POST", "/url/add", {"url": DESTINATION, "custom": "\u2764"}), 400, "custom")


def test_every_encoding_of_alias_reaches_same_link(ana: Person, service: AsgiClient) -> None:
    _brand(ana)
    link = new_link(ana, "gr\u00fc/a.b", domain=BRAND)
    forms = ("gr%C3%BC/a.b", "gr%c3%bc/a.b", "%67r%C3%BC/a%2Eb", "gr%C3%BC%2Fa.b", "gru%CC%88/a.b", "gr%C3%BC%2fa%2eb")
    for form in forms:
        assert _location(service, form) == DESTINATION
    assert clicks(ana, link)[0] == 3 * len(forms)
    ana.update("url", link, url="https://example.com/changed")
    for form in forms:
        assert _location(service, form) == "https://example.com/changed"
    for form in ("gr%FC/a.b", "gr%C3%BC//a.b", "gr%C3%BC", "gr%25C3%25BC/a.b"):
        assert visit(service, f"{BRAND}/{form}").status_code == 404


@ON_SQLITE
def test_reserved_words_are_free_on_domains(ana: Person, service: AsgiClient) -> None:
    _brand(ana)
    assert visit(service, f"{BRAND}/api").json()["error"] == 1
    words = [*sorted(alias_rules.RESERVED), "api/account", "dashboard/links", "api/docs", "qr/spring", "u/ana/list-1"]
    for word in words:
        new_link(ana, word, domain=BRAND, url=f"https://example.com/{word}")
    for word in words:
        assert _location(service, word) == f"https://example.com/{word}"
        own = visit(service, f"https://go.localhost/{word}").headers.get("location", "")
        assert not own.startswith("https://example.com/")


def test_api_answers_on_domain_where_no_alias_is(ana: Person, service: AsgiClient) -> None:
    _brand(ana)
    key = {"Authorization": f"Bearer {ana.key}"}
    assert service.get(f"{BRAND}/api/account", headers=key).status_code == 200
    new_link(ana, "api/account", domain=BRAND)
    assert _location(service, "api/account") == DESTINATION
    assert service.get(f"{BRAND}/api/plans", headers=key).status_code != 302
    assert ana.call("GET", "/account").status_code == 200


def test_longer_alias_leaves_preview_and_qr_code_reachable(ana: Person, service: AsgiClient) -> None:
    _brand(ana)
    new_link(ana, "a", domain=BRAND, url="https://example.com/a")
    assert visit(service, f"{BRAND}/a/qr").headers["content-type"] == "image/png"
    new_link(ana, "a/qr", domain=BRAND, url="https://example.com/a-qr")
    new_link(ana, "a/vcard", domain=BRAND, url="https://example.com/a-vcard")
    assert _location(service, "a") == "https://example.com/a"
    assert _location(service, "a/qr") == "https://example.com/a-qr"
    assert _location(service, "a/vcard") == "https://example.com/a-vcard"
    assert visit(service, f"{BRAND}/a/qr/qr").headers["content-type"] == "image/png"
    for alias, url in (("a", "https://example.com/a"), ("a/qr", "https://example.com/a-qr")):
        preview = visit(service, f"{BRAND}/{alias}+", headers=ACCEPT_HTML)
        assert (preview.status_code, url in preview.text) == (200, True)
    assert visit(service, f"{BRAND}/missing/qr").status_code == visit(service, f"{BRAND}/missing+").status_code == 404


def test_bio_page_keeps_its_paths_on_own_host(ana: Person, service: AsgiClient) -> None:
    blocks = [{"type": "vcard", "fname": "Ana"}, {"type": "link", "title": "L", "url": "https://example.com/"}]
    ana.post("/bio/add", {"name": "Ana", "alias": "a", "blocks": blocks})
    assert visit(service, "a/vcard").headers["content-type"].startswith("text/vcard")
    assert visit(service, "a/qr").headers["content-type"] == "image/png"


def test_alias_of_domain_cannot_move_to_own_host(ana: Person) -> None:
    _brand(ana)
    link = new_link(ana, "2030/spring", domain=BRAND)
    response = ana.call("PUT", f"/url/{link}/update", {"domain": None})
    assert 'cannot have "/"' in refused(response, 400, "custom")
    assert ana.details("url", link)["alias"] == "2030/spring"
    assert ana.update("url", link, domain=None, custom="spring")["shorturl"].endswith("/spring")


def test_file_has_alias_with_slashes(ana: Person, service: AsgiClient) -> None:
    _brand(ana)
    query = {"custom": "docs/pr\u00e9sentation.pdf", "domain": BRAND}
    uploaded = ana.call("POST", "/files/upload/a.txt", content=b"content", params=query).json()
    assert uploaded["shorturl"] == f"{BRAND}/docs/pr%C3%A9sentation.pdf"
    assert visit(service, uploaded["shorturl"]).content == b"content"


def test_unknown_path_of_domain_redirects(ana: Person, service: AsgiClient) -> None:
    domain = _brand(ana)
    ana.update("domain", domain, redirect404="https://home.example/404")
    for path in ("a/b", "a/", "a/b/c", "\u00fc", "x" * 300, "a.b", "login"):
        assert _location(service, quote(path)) == "https://home.example/404"


def test_domain_that_ignores_case_finds_alias_in_any_case(ana: Person, service: AsgiClient) -> None:
    domain = _brand(ana)
    link, french = new_link(ana, "Spring/Sale", domain=BRAND), new_link(ana, "\u00c9t\u00e9", domain=BRAND)
    generated = ana.post("/url/add", {"url": DESTINATION, "domain": BRAND})["shorturl"].removeprefix(f"{BRAND}/")
    assert visit(service, f"{BRAND}/spring/sale").status_code == 404
    ana.update("domain", domain, ignorecase=True)
    for path in (
        "Spring/Sale",
        "spring/sale",
        "SPRING/SALE",
        "%C3%89t%C3%A9",
        "%C3%A9t%C3%A9",
        generated,
        generated.upper(),
    ):
        assert _location(service, path) == DESTINATION
    assert [ana.details("url", item)["alias"] for item in (link, french)] == ["spring/sale", "\u00e9t\u00e9"]
    assert ana.get("/urls", short=f"{BRAND}/SPRING/Sale")["details"]["id"] == link
    assert visit(service, f"{BRAND}/SPRING/SALE/qr").headers["content-type"] == "image/png"
    ana.update("url", link, url="https://example.com/changed")
    for path in ("Spring/Sale", "spring/sale"):
        assert _location(service, path) == "https://example.com/changed"
    new = ana.post("/url/add", {"url": DESTINATION, "custom": "New", "domain": BRAND})
    assert new["shorturl"] == f"{BRAND}/new"
    assert _location(service, "nEW") == DESTINATION


def test_domain_that_ignores_case_has_no_aliases_that_differ_by_case(ana: Person, service: AsgiClient) -> None:
    domain = _brand(ana)
    one, other = new_link(ana, "Sale", domain=BRAND), new_link(ana, "sALE", domain=BRAND)
    refusal = refused(ana.call("PUT", f"/domain/{domain}/update", {"ignorecase": True}), 400, "ignorecase")
    assert ("Sale" in refusal, "sALE" in refusal) == (True, True)
    assert ana.details("url", one)["alias"] == "Sale"
    ana.update("url", other, custom="Summer")
    ana.update("domain", domain, ignorecase=True)
    assert [ana.details("url", item)["alias"] for item in (one, other)] == ["sale", "summer"]
    body = {"url": DESTINATION, "custom": "SALE", "domain": BRAND}
    refused(ana.call("POST", "/url/add", body), 400, "custom")
    refused(ana.call("PUT", f"/url/{other}/update", {"custom": "SalE"}), 400, "custom")
    assert ana.update("url", one, custom="SALE")["shorturl"] == f"{BRAND}/sale"
    assert _location(service, "Summer") == DESTINATION


def test_previous_aliases_stay_reserved_on_domain_that_ignores_case(ana: Person, service: AsgiClient) -> None:
    domain = _brand(ana)
    link = new_link(ana, "Sale", domain=BRAND)
    for alias in ("SALE", "sale", "Other"):
        ana.update("url", link, custom=alias)
    ana.update("domain", domain, ignorecase=True)
    assert _location(service, "other") == DESTINATION
    assert visit(service, f"{BRAND}/sale").status_code == 404
    new_link(ana, "Sale", domain=BRAND)
    assert _location(service, "sale") == DESTINATION


@pytest.mark.parametrize(("before", "meanwhile"), [("Sale", "SALE"), ("SALE", "sale")])
def test_alias_of_other_case_cannot_appear_while_domain_begins_to_ignore_case(
    ana: Person, before: str, meanwhile: str
) -> None:
    domain, is_claimed = _brand(ana), threading.Event()
    link = new_link(ana, before, domain=BRAND)
    other = new_link(ana, "other", domain=BRAND)

    def rename(tx: Connection) -> None:
        alias_namespace.claim(tx, ana.account, "link", other, host="brand.example", alias=meanwhile)
        is_claimed.set()
        time.sleep(0.3)  # until the request waits for this transaction

    with ThreadPoolExecutor(1) as threads:
        renamed = threads.submit(ana.database.write, rename)
        assert is_claimed.wait(10)
        response = ana.call("PUT", f"/domain/{domain}/update", {"ignorecase": True})
        renamed.result()
    assert response.status_code in (400, 503)
    assert refused(ana.call("PUT", f"/domain/{domain}/update", {"ignorecase": True}), 400, "ignorecase")
    assert ana.details("url", link)["alias"] == before
