"""Branded domains (API document, section Branded domains; decision 39)."""

from typing import Any

import pytest

from tests.conftest import BASE, Person
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from waypost.core.settings import Settings

TAKEN = "That domain is in use already."


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """Those of every test, with what a test's parameter says instead."""
    return Settings(**{**settings.model_dump(exclude_unset=True), **getattr(request, "param", {})})


def _add(person: Person, domain: str, **fields: Any) -> int:
    return person.add("domain", **{"domain": domain, **fields})


FORMS = {
    "https://go.brand.example": "https://go.brand.example",
    "http://go2.brand.example": "http://go2.brand.example",
    "HTTPS://Go3.Brand.Example": "https://go3.brand.example",
    "https://go4.brand.example/": "https://go4.brand.example",
    "https://go5.brand.example.": "https://go5.brand.example",
    " https://go6.brand.example\n": "https://go6.brand.example",
    "https://b\u00fccher.example": "https://xn--bcher-kva.example",
    "https://B\u00dcCHER2.example": "https://xn--bcher2-3ya.example",
    "https://\uff47\uff4f7.brand.example": "https://go7.brand.example",
    "https://xn--nxasmm1c.example": "https://xn--nxasmm1c.example",
    "https://a_b.brand.example": "https://a_b.brand.example",
    "http://brand.localhost": "http://brand.localhost",
    f"https://{'x' * 63}.example": f"https://{'x' * 63}.example",
}
NOT_FORMS = (
    *("", " ", "brand.example", "go.brand.example/", "//brand.example", "https:brand.example", "https:/brand.example"),
    *("ftp://brand.example", "javascript://brand.example", "ws://brand.example", "https://", "https:///", "https://."),
    *(
        "https://brand",
        "https://localhost",
        "https://brand..example",
        "https://.brand.example",
        "https://brand.example..",
    ),
    *("https://brand.example/path", "https://brand.example//", "https://brand.example?x", "https://brand.example#x"),
    *(
        "https://brand.example:443",
        "https://brand.example:8443",
        "https://brand.example:",
        "https://user@brand.example",
    ),
    *(
        "https://user:pass@brand.example",
        "https://bra nd.example",
        "https://brand.example\\x",
        "https://*.brand.example",
    ),
    *("https://-brand.example", "https://brand-.example", "https://br%61nd.example", "https://brand\uff0fx.example"),
    *(
        "https://127.0.0.1",
        "https://8.8.8.8",
        "https://2130706433",
        "https://0x7f.1",
        "https://127.1",
        "https://0177.0.0.1",
    ),
    *(
        "https://\uff11\uff12\uff17.0.0.1",
        "https://8.8.8.8.",
        "https://[::1]",
        "https://[2606:4700::1111]",
        "https://1.2",
    ),
    *("https://brand.123", "https://brand.0x1f", f"https://{'x' * 64}.example", f"https://{'x.' * 130}example"),
    *("https://go.localhost", "http://GO.localhost", "https://go.localhost./", "https://\uff47o.localhost"),
    *("https://a.example https://b.example", "https://brand.example\x00", "https://brand.exa\tmple"),
)


@ON_SQLITE
def test_domain_is_stored_in_lower_case_idna(ana: Person) -> None:
    assert {form: ana.details("domain", _add(ana, form))["domain"] for form in FORMS} == FORMS


@ON_SQLITE
def test_invalid_host_name_is_rejected(ana: Person) -> None:
    responses = {form: ana.call("POST", "/domain/add", {"domain": form}) for form in NOT_FORMS}
    status_and_field = {
        form: (response.status_code, response.json().get("field")) for form, response in responses.items()
    }
    assert status_and_field == dict.fromkeys(NOT_FORMS, (400, "domain"))
    assert ana.get("/domains")["data"]["result"] == 0


@ON_SQLITE
@pytest.mark.parametrize(
    "settings", [{"base_url": "https://go.example.com:8443", "domain_check": "off"}], indirect=True, ids=["port"]
)
def test_own_host_is_rejected_as_domain(ana: Person) -> None:
    for form in ("https://go.example.com", "http://GO.example.com/", "https://go.example.com."):
        refused(ana.call("POST", "/domain/add", {"domain": form}), 400, "domain")
    assert _add(ana, "https://www.go.example.com")


@ON_BOTH_DATABASES
def test_domain_is_unique_in_installation(ana: Person, ben: Person) -> None:
    item = _add(ana, "https://go.brand.example")
    for form in (
        "https://go.brand.example",
        "http://go.brand.example",
        "https://GO.BRAND.example./",
        "http://\uff47o.brand.example",
    ):
        for person in (ana, ben):
            response = person.call("POST", "/domain/add", {"domain": form})
            assert refused(response, 400, "domain") == TAKEN
            assert response.json()["code"] == "taken"
    _add(ben, "https://brand.example")
    ana.remove("domain", item)
    again = _add(ben, "http://go.brand.example")
    assert again != item
    assert ben.details("domain", again)["domain"] == "http://go.brand.example"


def test_domain_redirects_are_applied(ana: Person) -> None:
    item = _add(ana, "https://go.brand.example", redirectroot=" https://brand.example/ ")
    assert ana.details("domain", item) == {
        "id": item,
        "domain": "https://go.brand.example",
        "redirectroot": "https://brand.example/",
        "redirect404": "",
        "alsowww": False,
        **dict.fromkeys(("brandname", "brandcolor", "brandlogo"), ""),
    }
    ana.update("domain", item, redirect404="https://brand.example/404", domain="https://ignored.example")
    ana.update("domain", item, redirectroot="")
    assert ana.details("domain", item) == {
        "id": item,
        "domain": "https://go.brand.example",
        "redirectroot": "",
        "redirect404": "https://brand.example/404",
        "alsowww": False,
        **dict.fromkeys(("brandname", "brandcolor", "brandlogo"), ""),
    }


@ON_SQLITE
@pytest.mark.parametrize("field", ["redirectroot", "redirect404"])
def test_domain_redirect_loop_is_rejected(field: str, ana: Person, ben: Person) -> None:
    item = _add(ana, "https://go.brand.example")
    _add(ana, "https://other.example")
    _add(ben, "https://b\u00fccher.example")
    redirect_loops = (
        *(
            "https://go.brand.example",
            "http://GO.brand.example./x",
            "https://go.brand.example:8443/",
            "https://u@go.brand.example",
        ),
        *(" https://go.brand.example/", "\u00a0https://go.brand.example/", "https://\uff47o.brand.example/"),
        *(
            "https://other.example/",
            " https://other.example/",
            "https://b\u00fccher.example/",
            "https://xn--bcher-kva.example",
        ),
        *(f"{BASE}/", "http://GO.localhost:8000/x", f" {BASE}/", "http://127.0.0.1:8000/", "http://[::1]:8000/"),
    )
    for url in redirect_loops:
        refused(ana.call("PUT", f"/domain/{item}/update", {field: url}), 400, field)
    for url in (*redirect_loops, "https://new.example/", " https://NEW.example/x"):
        refused(ana.call("POST", "/domain/add", {"domain": "https://new.example", field: url}), 400, field)
    assert ana.details("domain", item)[field] == ""
    ana.put(f"/domain/{item}/update", {field: "https://brand.example/?u=https://go.brand.example"})


def test_redirect_target_host_can_be_added_by_others(ana: Person, ben: Person) -> None:
    _add(ana, "https://go.brand.example", redirectroot="https://his.example/")
    item = _add(ben, "https://his.example")
    refused(
        ben.call("PUT", f"/domain/{item}/update", {"redirectroot": "https://go.brand.example/"}), 400, "redirectroot"
    )
