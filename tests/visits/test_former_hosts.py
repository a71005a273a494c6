"""Host names that the base URL had before: short URLs with them work as with the one of today."""

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.assertions import refused
from tests.support.visits import ACCEPT_HTML, DESTINATION, clicks, new_link, visit
from waypost.admin import system_checks
from waypost.core.settings import Settings
from waypost.db import crud, schema
from waypost.urls.hostnames import has_dashboard

FORMER = "https://old.example"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The settings of every test, after a change of the base URL."""
    return Settings(**{**settings.model_dump(exclude_unset=True), "former_hosts": "Old.example, b\u00fcro.example"})


def test_short_url_of_former_host_still_works(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring", domain="old.example")
    assert ana.details("url", link)["shorturl"].endswith("go.localhost:8000/spring")
    for origin in (FORMER, "http://OLD.example.:80", "https://xn--bro-hoa.example"):
        for _ in range(2):  # the second one is in memory
            assert visit(service, f"{origin}/spring").headers["location"] == DESTINATION
    assert visit(service, f"{FORMER}/spring+", headers=ACCEPT_HTML).status_code == 200
    assert visit(service, f"{FORMER}/spring/qr").headers["content-type"] == "image/png"
    assert visit(service, f"{FORMER}/missing").status_code == 404
    assert clicks(ana, link)[0] == 6


def test_former_host_is_known_like_own_host(ana: Person, service: AsgiClient) -> None:
    link = new_link(ana, "spring")
    assert service.get(f"{FORMER}/api/account", headers={"Authorization": f"Bearer {ana.key}"}).status_code == 200
    assert ana.get("/urls", short=f"{FORMER}/spring")["details"]["id"] == link
    assert [item["id"] for item in ana.get("/urls", q=f"{FORMER}/spring")["data"]["urls"]] == [link]
    assert service.get("/tls/ask", params={"domain": "old.example"}).status_code == 200
    assert "own host" in refused(ana.call("POST", "/domain/add", {"domain": FORMER}), 400, "domain")
    assert "loop" in refused(ana.call("POST", "/url/add", {"url": f"{FORMER}/spring"}), 400, "url")
    referrer = {"Referer": f"{FORMER}/page"}
    visit(service, "spring", headers=referrer)
    assert ana.get(f"/url/{link}")["data"]["topReferrers"] == {"Direct": "1"}


def test_former_host_has_no_dashboard(service: AsgiClient, settings: Settings) -> None:
    assert visit(service, f"{FORMER}/").headers["location"] == f"{settings.base}/dashboard"
    assert not has_dashboard("old.example", settings)
    assert has_dashboard("go.localhost:8000", settings)


def test_destination_on_former_host_is_a_loop_at_every_port(ana: Person) -> None:
    assert "loop" in refused(ana.call("POST", "/url/add", {"url": f"{FORMER}:8080/spring"}), 400, "url")


def test_check_names_domain_that_is_a_former_host(ana: Person, settings: Settings) -> None:
    ana.write(lambda tx: crud.add(tx, schema.domains, ana.account, {"host": "old.example", "scheme": "https"}))
    findings = [each for check in system_checks.of_installation(settings, ana.database) for each in check.findings]
    assert [each.id for each in findings if "old.example" in each.text] == ["W025"]


@pytest.mark.parametrize("is_stored_first", [False, True])
def test_former_host_is_no_other_host_of_a_domain(ana: Person, settings: Settings, is_stored_first: bool) -> None:  # noqa: FBT001  # a case
    domain = ana.add("domain", domain="https://www.old.example")
    message = refused(ana.call("PUT", f"/domain/{domain}/update", {"alsowww": True}), 400, "alsowww")
    assert message == "alsowww cannot be turned on: old.example is this service's own host."
    if is_stored_first:  # before the base URL was changed
        ana.write(lambda tx: tx.execute(schema.domains.update().values(alsowww=True)))
    findings = [each for check in system_checks.of_installation(settings, ana.database) for each in check.findings]
    assert [each.id for each in findings if "old.example" in each.text] == ["W025"] * is_stored_first
