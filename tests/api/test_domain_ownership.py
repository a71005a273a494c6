"""Must a branded domain point at the service? Asked of the domain itself, past the guard (decision 39)."""

import itertools
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.assertions import refused
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import PUBLIC, FakeInternet, Responder, moved, ok, server
from waypost.core.settings import Settings

_OTHER = "93.184.216.35"
CHECKED = pytest.mark.parametrize("settings", [{"domain_check": "on"}], indirect=True, ids=["on"])


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings of every test, overridden by the parameter of a test."""
    return Settings(**{**settings.model_dump(exclude_unset=True), **getattr(request, "param", {})})


def _add(person: Person, domain: str) -> int:
    return person.add("domain", domain=domain)


@pytest.mark.parametrize(
    ("base", "setting", "checked"),
    [
        ("https://go.example.com", "auto", True),
        ("http://go.example.com:8080", "auto", True),
        ("", "auto", False),
        ("http://localhost:8000", "auto", False),
        ("http://go.localhost:8000", "auto", False),
        ("http://waypost", "auto", False),
        ("http://waypost.local", "auto", False),
        ("http://waypost.home.arpa", "auto", False),
        ("https://links.corp.internal", "auto", False),
        ("http://127.0.0.1:8000", "auto", False),
        ("http://203.0.113.5", "auto", False),
        ("http://[2606:4700::1111]:8000", "auto", False),
        ("https://localhost.example.com", "auto", True),
        ("https://go.example.com", "off", False),
        ("http://localhost:8000", "on", True),
    ],
)
def test_domain_check_applies_to_public_service_or_by_setting(base: str, setting: Any, checked: object) -> None:
    assert Settings(base_url=base, domain_check=setting).checks_domains is checked


@ON_SQLITE
def test_disabled_check_accepts_unknown_domain(ana: Person, internet: FakeInternet) -> None:
    _add(ana, "https://go.brand.example")
    assert internet.connections == []


@ON_SQLITE
@CHECKED
def test_domain_with_internal_address_is_rejected(ana: Person, internet: FakeInternet) -> None:
    address_lists = (["127.0.0.1"], ["192.168.1.1"], ["::1"], ["::ffff:10.0.0.1"], [PUBLIC, "127.0.0.1"])
    internet.names = {f"go{number}.brand.example": addresses for number, addresses in enumerate(address_lists)}
    reasons = {
        **dict.fromkeys(internet.names, "has an internal address"),
        "brand.example": "has no address in the DNS",
    }
    for host, scheme in itertools.product(reasons, ("http", "https")):
        message = refused(ana.call("POST", "/domain/add", {"domain": f"{scheme}://{host}"}), 400, "domain")
        assert f"{host} {reasons[host]}" in message
    assert internet.connections == []
    assert ana.get("/domains")["data"]["result"] == 0


def _service_behind(person: Person, host: str, request: list[str]) -> Any:
    """Run a web server for `host` that forwards requests to this service."""

    def answer(head: bytes) -> list[bytes]:
        path = head.split()[1].decode()
        request.append(path)
        return [ok(person.client.get(path, headers={"Host": host}).content)]

    return server(answer)


@CHECKED
def test_domain_pointing_to_service_is_accepted(ana: Person, internet: FakeInternet) -> None:
    requests: list[str] = []
    internet.add_host("go.brand.example", PUBLIC)
    with _service_behind(ana, "go.brand.example", requests) as internet.routes[PUBLIC]:
        item = _add(ana, "http://Go.Brand.example/")
        ana.remove("domain", item)
        _add(ana, "http://go.brand.example")
    assert all(path.startswith("/.well-known/waypost/") for path in requests)
    assert len(set(requests)) == 2  # never the same question twice
    assert set(internet.connections) == {PUBLIC}


@ON_SQLITE
@CHECKED
def test_international_domain_is_checked_in_idna_form(ana: Person, internet: FakeInternet) -> None:
    internet.add_host("xn--bcher-kva.example", PUBLIC)
    with _service_behind(ana, "xn--bcher-kva.example", []) as internet.routes[PUBLIC]:
        assert _add(ana, "http://b\u00fccher.example")


@ON_SQLITE
@CHECKED
def test_domain_redirecting_to_service_is_accepted(ana: Person, internet: FakeInternet) -> None:
    internet.add_host("go.brand.example", PUBLIC)
    internet.add_host("www.brand.example", _OTHER)
    with _service_behind(ana, "www.brand.example", []) as internet.routes[_OTHER]:
        path = b"http://www.brand.example"
        with server(lambda head: [moved(path + head.split()[1])]) as internet.routes[PUBLIC]:
            assert _add(ana, "http://go.brand.example")


def _server_that_sends(response: bytes) -> Responder:
    return lambda _: [response]


@ON_SQLITE
@CHECKED
def test_domain_of_another_service_is_rejected(ana: Person, internet: FakeInternet) -> None:
    internet.add_host("go.brand.example", PUBLIC)
    bodies = (b"", b"hello", b"0" * 64, b"\xff" * 64, b"x" * 5000)
    for response in (*map(ok, bodies), b"no HTTP at all", moved(b"http://[")):
        with server(_server_that_sends(response)) as internet.routes[PUBLIC]:
            message = refused(ana.call("POST", "/domain/add", {"domain": "http://go.brand.example"}), 400, "domain")
        assert message.startswith("domain must point at this service before it is added; go.brand.example does not")
    assert ana.get("/domains")["data"]["result"] == 0


@CHECKED
@pytest.mark.parametrize(
    ("main", "other"), [("brand.example", "www.brand.example"), ("www.brand.example", "brand.example")]
)
def test_other_host_must_point_at_service_too(ana: Person, internet: FakeInternet, main: str, other: str) -> None:
    """The option is refused, by a new domain and by a change, and asks only when it is turned on."""

    def refusals() -> set[str]:
        both = {"domain": f"http://{main}", "alsowww": True}
        changed = ana.call("PUT", f"/domain/{item}/update", {"alsowww": True})
        ana.remove("domain", item)
        added = ana.call("POST", "/domain/add", both)
        return {refused(response, 400, "alsowww") for response in (changed, added)}

    internet.add_host(main, PUBLIC)
    with _service_behind(ana, main, []) as internet.routes[PUBLIC]:
        item = _add(ana, f"http://{main}")
        assert ["has no address in the DNS" in message for message in refusals()] == [True]
        internet.add_host(other, _OTHER)
        item = _add(ana, f"http://{main}")
        with server(_server_that_sends(ok(b"hello"))) as internet.routes[_OTHER]:
            (message,) = refusals()
        assert message.startswith(f"alsowww cannot be turned on until {other} points at this service: another service")
        item = _add(ana, f"http://{main}")
        requests: list[str] = []
        with _service_behind(ana, other, requests) as internet.routes[_OTHER]:
            ana.update("domain", item, alsowww=True)
            ana.update("domain", item, alsowww=True, redirectroot="https://home.example/")
            assert len(requests) == 1
            ana.remove("domain", item)
            assert ana.add("domain", domain=f"http://{main}", alsowww=True)
        assert len(requests) == 2
    assert ana.get("/domains")["data"]["result"] == 1


@ON_SQLITE
@CHECKED
def test_invalid_domain_is_rejected_without_request(ana: Person, internet: FakeInternet) -> None:
    internet.add_host("go.localhost", PUBLIC)
    for domain in ("http://go.localhost", "http://127.0.0.1", "http://go.brand.example/path"):
        refused(ana.call("POST", "/domain/add", {"domain": domain}), 400, "domain")
    assert internet.connections == []
