"""Aliases of links on every host, and reserved previous aliases (decisions 19, 20 and 39)."""

from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from waypost.db import schema
from waypost.urls import alias_rules

pytestmark = ON_BOTH_DATABASES  # the unique namespace of aliases
TAKEN = "That alias is taken. Please choose another one."
BRAND = "https://go.brand.example"


def _link(person: Person, custom: str | None = None, **more: Any) -> int:
    return person.add("url", **{"url": "https://example.com/", "custom": custom, **more})


def _assert_taken(person: Person, custom: str, **more: Any) -> None:
    response = person.call("POST", "/url/add", {"url": "https://example.com/", "custom": custom, **more})
    assert refused(response, 400, "custom") == TAKEN
    assert response.json()["code"] == "taken"


def _add_domain(person: Person, domain: str = BRAND) -> int:
    return person.add("domain", domain=domain)


def test_link_without_alias_gets_generated_alias(ana: Person) -> None:
    created = [
        ana.post("/url/add", body)
        for body in ({"url": "https://a.example/"}, {"url": "https://a.example/", "custom": None})
    ]
    for link in created:
        alias = ana.details("url", link["id"])["alias"]
        assert alias_rules.check(alias, field="custom") == alias
        assert link["shorturl"] == link["short"] == f"{BASE}/{alias}"
    assert created[0]["shorturl"] != created[1]["shorturl"]


def test_alias_is_stored_exactly(ana: Person) -> None:
    for alias in ("x", "xy", "abc", "Abc", "ABC", "a-b", "a_b", "---", "x" * 50, "123"):
        link = ana.post("/url/add", {"url": "https://example.com/", "custom": alias})
        assert link["shorturl"] == f"{BASE}/{alias}"
        assert ana.details("url", link["id"])["alias"] == alias


@ON_SQLITE
def test_invalid_alias_is_rejected_on_create_and_update(ana: Person) -> None:
    link = _link(ana, "spring")
    reserved = sorted(alias_rules.RESERVED)
    malformed = [" ", "x" * 51, "a b", " abc", "abc ", "a/b", "a.b", "ünï", "a+b"]
    for alias in (*malformed, *reserved, "API", "Login", "qR"):
        refused(ana.call("POST", "/url/add", {"url": "https://example.com/", "custom": alias}), 400, "custom")
        refused(ana.call("PUT", f"/url/{link}/update", {"custom": alias}), 400, "custom")
    assert ana.details("url", link)["alias"] == "spring"
    assert ana.get("/urls")["data"]["result"] == 1


def test_alias_is_unique_across_accounts(ana: Person, ben: Person) -> None:
    _link(ana, "spring")
    for person in (ana, ben):
        _assert_taken(person, "spring")
    capitalized = _link(ben, "Spring")
    assert (
        refused(ben.call("PUT", f"/url/{capitalized}/update", {"custom": "spring", "title": "x"}), 400, "custom")
        == TAKEN
    )
    assert (ben.details("url", capitalized)["alias"], ben.details("url", capitalized)["title"]) == ("Spring", "")
    assert ben.get("/urls", short="Spring")["details"]["id"] == capitalized


def test_links_and_bio_pages_share_one_namespace(ana: Person, ben: Person) -> None:
    _link(ana, "a-link")
    ana.post("/bio/add", {"name": "Ana", "alias": "a-bio"})
    for person in (ana, ben):
        _assert_taken(person, "a-bio")
        response = person.call("POST", "/bio/add", {"name": "x", "alias": "a-link"})
        assert refused(response, 400, "alias") == TAKEN


def test_changing_alias_keeps_other_fields(ana: Person) -> None:
    link = _link(ana, "spring", title="Title")
    before = ana.details("url", link)
    changed = ana.update("url", link, custom="summer")
    assert changed.pop("message")
    assert changed == {"error": 0, "id": link, "shorturl": f"{BASE}/summer", "short": f"{BASE}/summer"}
    assert ana.details("url", link) == {**before, "alias": "summer", "shorturl": f"{BASE}/summer"}
    assert ana.call("GET", "/urls", params={"short": "spring"}).json()["error"] == 1


def test_update_with_current_alias_is_accepted(ana: Person) -> None:
    link = _link(ana, "spring")
    for alias in ("spring", None):
        assert ana.update("url", link, custom=alias, title="x")["shorturl"] == f"{BASE}/spring"


@pytest.mark.parametrize("how", ["deleted", "changed", "moved"])
def test_previous_alias_stays_reserved_and_new_link_starts_without_clicks(how: str, ana: Person, ben: Person) -> None:
    _add_domain(ana)
    old, table = _link(ana, "spring"), schema.links
    set_clicks = update(table).where(table.c.id == old).values(clicks=9, uniqueclicks=5)
    ana.write(lambda tx: tx.execute(set_clicks))
    if how == "deleted":
        ana.remove("url", old)
    else:
        ana.put(f"/url/{old}/update", {"custom": "summer"} if how == "changed" else {"domain": BRAND})
    assert ana.call("GET", "/urls", params={"short": "spring"}).json()["error"] == 1
    _assert_taken(ben, "spring")
    assert refused(ben.call("POST", "/bio/add", {"name": "x", "alias": "spring"}), 400, "alias") == TAKEN
    new = _link(ana, "spring")
    body = ana.get("/urls", short="spring")
    assert body["details"]["id"] == new != old
    assert (body["details"]["clicks"], body["details"]["uniqueclicks"]) == (0, 0)
    assert (body["data"]["clicks"], body["data"]["uniqueClicks"]) == (0, 0)
    if how != "deleted":
        assert ana.details("url", old)["clicks"] == 9
    _assert_taken(ana, "spring")


def test_previous_alias_of_link_can_be_used_by_own_bio_page(ana: Person) -> None:
    for _ in range(2):
        ana.remove("url", _link(ana, "spring"))
        ana.delete(f"/bio/{ana.post('/bio/add', {'name': 'x', 'alias': 'spring'})['id']}/delete")
    assert ana.get("/urls", short=f"{BASE}/{ana.details('url', _link(ana, 'spring'))['alias']}")


def test_rejected_link_does_not_claim_alias(ana: Person, ben: Person) -> None:
    for body in ({"campaign": 999999}, {"expiryurl": "http://go.localhost:8000/x"}, {"channel": [999999]}):
        response = ana.call("POST", "/url/add", {"url": "https://example.com/", "custom": "spring", **body})
        refused(response, 400, next(iter(body)))
    assert _link(ben, "spring")


def test_same_alias_can_exist_on_every_host(ana: Person, ben: Person) -> None:
    _add_domain(ana)
    _add_domain(ana, "http://two.example")
    own = _link(ben, "spring")
    links = {domain: _link(ana, "spring", domain=domain) for domain in (BRAND, "http://two.example")}
    for domain, link in links.items():
        details = ana.details("url", link)
        assert (details["shorturl"], details["domain"], details["alias"]) == (f"{domain}/spring", domain, "spring")
        assert ana.get("/urls", short=f"{domain}/spring")["details"]["id"] == link
        _assert_taken(ana, "spring", domain=domain)
    assert ben.get("/urls", short="spring")["details"]["id"] == own
    _assert_taken(ana, "spring")


DOMAIN_FORMS = {
    BRAND: (
        *("go.brand.example", "https://go.brand.example", "http://go.brand.example", "https://go.brand.example/"),
        *("GO.Brand.Example", "HTTPS://GO.BRAND.EXAMPLE/", "go.brand.example:8443", "http://go.brand.example:80/"),
        *("go.brand.example.", " go.brand.example ", "\uff47o.brand.example", "go.brand.example:"),
    ),
    "http://xn--bcher-kva.example": ("b\u00fccher.example", "https://B\u00dcCHER.example:1/", "xn--bcher-kva.example"),
    BASE: (
        *("go.localhost", "http://go.localhost:8000", "https://go.localhost", "GO.LOCALHOST:1", "go.localhost./", None),
    ),
}
INVALID_DOMAINS = (
    *(" ", "https://", "//", "/", ":8000", "brand.example", "x.go.brand.example", "elsewhere.example", "*"),
    *("go.brand.example.evil.example", "evil.example/go.brand.example", "go.brand.example@evil.example", "..", "%"),
    *("evil.example@go.brand.example", "https://go.brand.example/path", "go.brand.example?x", "go.brand.example#x"),
    *("ftp://go.brand.example", "javascript://go.brand.example", "go brand example", "https://[::1", "8.8.8.8"),
    *("his.example", "https://his.example", "http://go.localhost/path", "xgo.localhost", "1", "xn--bucher.example"),
)


@ON_SQLITE
def test_domain_is_accepted_in_every_form(ana: Person) -> None:
    _add_domain(ana)
    _add_domain(ana, "http://b\u00fccher.example")
    short_urls = {}
    for domain, forms in DOMAIN_FORMS.items():
        for form in forms:
            short_urls[form] = ana.details("url", _link(ana, domain=form))["domain"]
            link = _link(ana)
            ana.update("url", link, domain=form)
            assert ana.details("url", link)["domain"] == short_urls[form], form
        assert {form: short_urls[form] for form in forms} == dict.fromkeys(forms, domain)


@ON_SQLITE
def test_unknown_or_foreign_domain_is_rejected(ana: Person, ben: Person) -> None:
    _add_domain(ana)
    _add_domain(ben, "https://his.example")
    link = _link(ana)
    for form in INVALID_DOMAINS:
        body = {"url": "https://example.com/", "domain": form}
        refused(ana.call("POST", "/url/add", body), 400, "domain")
        refused(ana.call("PUT", f"/url/{link}/update", body), 400, "domain")
    unknown = refused(ana.call("POST", "/url/add", {**body, "domain": "unknown.example"}), 400, "domain")
    assert refused(ana.call("POST", "/url/add", {**body, "domain": "his.example"}), 400, "domain") == unknown


def test_link_can_be_moved_to_another_host_and_back(ana: Person, ben: Person) -> None:
    _add_domain(ana)
    link = _link(ana, "spring")
    assert ana.update("url", link, domain=BRAND)["shorturl"] == f"{BRAND}/spring"
    assert ana.update("url", link, title="x")["shorturl"] == f"{BRAND}/spring"
    assert ana.update("url", link, domain=None)["shorturl"] == f"{BASE}/spring"
    moved = ana.update("url", link, domain=BRAND, custom="summer")
    assert moved["shorturl"] == f"{BRAND}/summer"
    _link(ben, "summer")
    assert refused(ana.call("PUT", f"/url/{link}/update", {"domain": "go.localhost"}), 400, "custom") == TAKEN
    assert ana.details("url", link)["shorturl"] == f"{BRAND}/summer"


def test_link_on_deleted_domain_is_kept_and_can_be_moved(ana: Person) -> None:
    domain = _add_domain(ana)
    links = [_link(ana, f"spring-{number}", domain=BRAND) for number in (1, 2)]
    ana.remove("domain", domain)
    assert [link["id"] for link in ana.get("/urls")["data"]["urls"]] == links[::-1]
    assert ana.details("url", links[0])["shorturl"] == f"{BRAND}/spring-1"
    body = {"url": "https://example.com/", "domain": BRAND}
    refused(ana.call("POST", "/url/add", body), 400, "domain")
    ana.update("url", links[0], title="still mine")
    assert ana.update("url", links[0], domain=None)["shorturl"] == f"{BASE}/spring-1"
    _add_domain(ana)
    assert ana.get("/urls", short=f"{BRAND}/spring-2")["details"]["id"] == links[1]


def test_aliases_stay_reserved_when_another_account_adds_the_domain(ana: Person, ben: Person) -> None:
    domain = _add_domain(ana)
    kept = _link(ana, "spring", domain=BRAND)
    ana.remove("url", _link(ana, "summer", domain=BRAND))
    ana.remove("domain", domain)
    _add_domain(ben)
    for alias in ("spring", "summer"):
        _assert_taken(ben, alias, domain=BRAND)
    assert _link(ben, "autumn", domain=BRAND)
    assert ben.call("GET", "/urls", params={"short": f"{BRAND}/spring"}).json()["error"] == 1
    assert ana.get("/urls", short=f"{BRAND}/spring")["details"]["id"] == kept
    refused(ana.call("PUT", f"/url/{_link(ana)}/update", {"domain": BRAND}), 400, "domain")
