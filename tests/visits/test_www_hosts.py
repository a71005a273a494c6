"""A domain with `alsowww` is one domain under two host names, with and without `www.` (decisions 39 and 49)."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.assertions import refused
from tests.support.dashboard_client import Browser, form_version, hidden_field
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.load import until
from tests.support.protocol import protocol_client
from tests.support.visits import ACCEPT_HTML, DESTINATION, click_totals, clicks, new_link, visit
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build
from waypost.urls import hostnames

pytestmark = ON_BOTH_DATABASES  # the indexes differ by database
BARE, WWW = "https://brand.example", "https://www.brand.example"
TAKEN = "That domain is in use already."
BOTH = pytest.mark.parametrize(("main", "other"), [(BARE, WWW), (WWW, BARE)])


@pytest.mark.parametrize(
    ("host", "other"),
    [
        ("brand.example", "www.brand.example"),
        ("www.brand.example", "brand.example"),
        ("go.brand.example", "www.go.brand.example"),
        ("www.www.brand.example", ""),
        ("www.example", ""),
        ("example", ""),
        ("", ""),
        (f"{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 58}.e", ""),
    ],
)
def test_other_host_has_or_lacks_www(host: str, other: str) -> None:
    assert hostnames.other_host(host) == other
    assert not other or hostnames.other_host(other) == host


@BOTH
def test_both_hosts_answer_alike(ana: Person, service: AsgiClient, main: str, other: str) -> None:
    domain = ana.add("domain", domain=main, alsowww=True, redirectroot="https://home.example/", ignorecase=True)
    link = new_link(ana, "spring", domain=main)
    assert ana.details("domain", domain)["alsowww"] is True
    for host in (other, main, other.upper().replace("HTTPS", "http") + ":8443", other + "."):
        assert visit(service, f"{host}/spring").headers["location"] == DESTINATION
        assert visit(service, f"{host}/SPRING").headers["location"] == DESTINATION
        assert visit(service, f"{host}/").headers["location"] == "https://home.example/"
        assert DESTINATION in visit(service, f"{host}/spring+", headers=ACCEPT_HTML).text
        assert visit(service, f"{host}/spring/qr").headers["content-type"] == "image/png"
        assert visit(service, f"{host}/missing").status_code == 404
    assert visit(service, "https://www.www.brand.example/spring").status_code == 404
    assert clicks(ana, link)[0] == 8
    assert click_totals(ana, f"/domain/{domain}")["clicks"] == 4  # of the unknown alias


@ON_SQLITE
def test_first_visits_of_a_process_are_answered_by_both_hosts(settings: Settings, database: Database) -> None:
    """The cache of the fast path is empty: neither host, nor case of aliases, is known."""
    options = Settings(**settings.model_dump(exclude_unset=True))
    with protocol_client(options, database) as client:
        domain = {"domain": BARE, "alsowww": True, "ignorecase": True}
        client.add_link("first")
        assert client.request(client.api_request("POST", "/api/domain/add", domain))[9:12] == b"200"
        for number, host in enumerate((b"www.brand.example", b"brand.example")):
            client.add_link(f"link{number}", domain=BARE)
            for alias in (b"LINK%d" % number, b"link%d" % number):
                client.request(client.api_request("PUT", "/api/domain/1/update", {"redirect404": ""}))  # clears caches
                for _ in range(2):
                    response = client.request(b"GET /%b HTTP/1.1\r\nHost: %b\r\n\r\n" % (alias, host))
                    assert response[9:12] == b"302", (alias, host)


def test_option_applies_at_once_in_both_directions(
    ana: Person, service: AsgiClient, tmp_path: Path, database_url: str
) -> None:
    domain = ana.add("domain", domain=BARE)
    new_link(ana, "spring", domain=BARE)
    settings = Settings(data_dir=tmp_path, base_url=BASE, database_url=database_url)
    with AsgiClient(build(settings, Database(database_url))) as second:
        for is_on, status in ((True, 302), (False, 404), (True, 302)):
            ana.update("domain", domain, alsowww=is_on)
            assert visit(service, f"{WWW}/spring").status_code == status
            assert visit(service, f"{BARE}/spring").status_code == 302
            until(lambda: visit(second, f"{WWW}/spring").status_code == status)  # noqa: B023  # called at once
        ana.remove("domain", domain)
        assert visit(service, f"{WWW}/spring").status_code == 404


@BOTH
def test_certificates_are_allowed_for_other_host_while_it_is_answered(ana: Person, main: str, other: str) -> None:
    def ask() -> int:
        return int(visit(ana.client, "tls/ask", params={"domain": other.partition("://")[2]}).status_code)

    domain = ana.add("domain", domain=main)
    assert ask() == 404
    ana.update("domain", domain, alsowww=True)
    assert ask() == 200
    ana.remove("domain", domain)
    assert ask() == 404


@BOTH
def test_other_host_belongs_to_one_domain_only(ana: Person, ben: Person, main: str, other: str) -> None:
    domain = ana.add("domain", domain=main, alsowww=True)
    for person, fields in ((ben, {}), (ben, {"alsowww": True}), (ana, {}), (ana, {"alsowww": True})):
        message = refused(person.call("POST", "/domain/add", {"domain": other, **fields}), 400, "domain")
        assert message == TAKEN
    assert refused(ben.call("POST", "/domain/add", {"domain": main}), 400, "domain") == TAKEN
    ana.update("domain", domain, alsowww=False)
    foreign = ben.add("domain", domain=other)
    host = other.partition("://")[2]
    in_use = f"alsowww cannot be turned on: {host} is in use already."
    assert refused(ana.call("PUT", f"/domain/{domain}/update", {"alsowww": True}), 400, "alsowww") == in_use
    ana.remove("domain", domain)
    both = {"domain": main, "alsowww": True}
    assert refused(ana.call("POST", "/domain/add", both), 400, "alsowww") == in_use
    domain = ana.add("domain", domain=main)
    ben.remove("domain", foreign)
    ana.update("domain", domain, alsowww=True)
    ana.remove("domain", domain)
    assert ben.add("domain", domain=other, alsowww=True)
    assert refused(ana.call("POST", "/domain/add", {"domain": main}), 400, "domain") == TAKEN


def test_one_of_parallel_owners_gets_both_hosts(ana: Person, ben: Person) -> None:
    for number in range(5):
        bare = f"https://brand{number}.example"
        bodies = [{"domain": bare, "alsowww": True}, {"domain": bare.replace("://", "://www."), "alsowww": True}]
        with ThreadPoolExecutor(4) as pool:
            calls = [(person, body) for body in bodies for person in (ana, ben)]
            answers = list(pool.map(lambda call: call[0].call("POST", "/domain/add", call[1]).status_code, calls))
        assert sorted(answers) == [200, 400, 400, 400]


@ON_SQLITE
@pytest.mark.parametrize("domain", ["https://www.go.localhost", "https://www.example", "https://www.www.brand.example"])
def test_host_that_cannot_be_answered_is_rejected(ana: Person, domain: str) -> None:
    item = ana.add("domain", domain=domain)
    refused(ana.call("PUT", f"/domain/{item}/update", {"alsowww": True}), 400, "alsowww")
    ana.remove("domain", item)
    refused(ana.call("POST", "/domain/add", {"domain": domain, "alsowww": True}), 400, "alsowww")


def test_redirects_to_other_host_are_rejected_as_loops(ana: Person, ben: Person) -> None:
    domain = ana.add("domain", domain=BARE, redirectroot=f"{WWW}/home")
    refused(ana.call("PUT", f"/domain/{domain}/update", {"alsowww": True}), 400, "alsowww")
    both = {"alsowww": True, "redirectroot": f"{WWW}/"}
    refused(ana.call("PUT", f"/domain/{domain}/update", both), 400, "redirectroot")
    ana.update("domain", domain, alsowww=True, redirectroot="")
    refused(ana.call("PUT", f"/domain/{domain}/update", {"redirect404": f"{WWW}/x"}), 400, "redirect404")
    refused(ben.call("POST", "/url/add", {"url": f"{WWW}/x"}), 400, "url")
    results = ben.post(
        "/bulk", {"items": [{"action": "create", "noun": "url", "fields": {"url": f"{WWW}/{n}"}} for n in "ab"]}
    )
    assert {item["status"] for item in results["results"]} == {400}


def test_other_host_names_the_domain(ana: Person, ben: Person, dashboard: Browser) -> None:
    """In fields for domains, in short URLs, in searches, and in reports of abuse."""
    domain = ana.add("domain", domain=BARE, alsowww=True)
    link = new_link(ana, "spring", domain=WWW)
    assert ana.details("url", link)["shorturl"] == f"{BARE}/spring"
    assert ana.get("/urls", short=f"{WWW}/spring")["details"]["id"] == link
    refused(ben.call("POST", "/url/add", {"url": "https://example.com/", "domain": WWW}), 400, "domain")
    ana.update("domain", domain, alsowww=False)
    refused(ana.call("POST", "/url/add", {"url": "https://example.com/", "domain": WWW}), 400, "domain")


def test_trash_releases_other_host_and_restores_it(ana: Person, ben: Person, dashboard: Browser) -> None:
    domain = ana.add("domain", domain=BARE, alsowww=True)

    def delete() -> str:
        response = dashboard.submit(f"/domains/{domain}/delete")
        return hidden_field(dashboard.client.get(response.headers["location"]), "batch")

    def undo(batch: str) -> str:
        return dashboard.submit_for_message("/trash/undo", at="/domains", batch=batch)

    assert undo(delete()) == "The item was restored."
    assert visit(ana.client, "tls/ask", params={"domain": "www.brand.example"}).status_code == 200
    batch = delete()
    foreign = ben.add("domain", domain=WWW)
    assert "cannot be restored" in undo(batch)
    ben.remove("domain", foreign)
    assert undo(batch) == "The item was restored."
    assert visit(ana.client, "tls/ask", params={"domain": "www.brand.example"}).status_code == 200


@ON_SQLITE
def test_dashboard_offers_other_host(ana: Person, dashboard: Browser) -> None:
    page = dashboard.get(f"/domains/new?domain={WWW}")
    assert "Also for brand.example" in page.text
    assert "alsowww" not in dashboard.get("/domains/new?domain=https://www.go.localhost").text
    response = dashboard.submit("/domains/new", at=f"/domains/new?domain={BARE}", domain=BARE, alsowww="on")
    assert response.status_code == 303
    assert ana.details("domain", 1)["alsowww"] is True
    assert f"{BARE}, {WWW}" in dashboard.get("/domains").text
    version = form_version(dashboard.get("/domains/1"), "/domains/1")
    assert dashboard.submit("/domains/1", version=version).status_code == 303
    assert ana.details("domain", 1)["alsowww"] is False
