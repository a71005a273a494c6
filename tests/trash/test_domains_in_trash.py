"""Branded domains in the trash: their links answer again after Undo, unless someone else has the domain."""

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.trash import delete_in_dashboard, entries
from tests.support.visits import visit

_HOST = "go.brand.example"
_ORIGIN = f"https://{_HOST}"


def _delete(dashboard: Browser, domain: int) -> str:
    """Delete a domain, and return the batch of the Undo button."""
    response = dashboard.submit(f"/domains/{domain}/delete")
    page = dashboard.client.get(response.headers["location"])
    return hidden_field(page, "batch")


def _undo(dashboard: Browser, batch: str) -> str:
    return dashboard.submit_for_message("/trash/undo", at="/domains", batch=batch)


def _status(service: AsgiClient, alias: str) -> int:
    return int(visit(service, alias, headers={"Host": _HOST}).status_code)


def test_links_answer_again_after_undo(ana: Person, service: AsgiClient, dashboard: Browser) -> None:
    domain = ana.add("domain", domain=_ORIGIN, redirect404="https://example.com/lost", ignorecase=True)
    ana.add("url", url="https://example.com/", custom="Spring", domain=_ORIGIN)
    before = ana.get("/domains")["data"]["domains"]
    assert _status(service, "SPRING") == 302
    batch = _delete(dashboard, domain)
    assert (_status(service, "spring"), ana.get("/domains")["data"]["result"]) == (404, 0)
    assert _undo(dashboard, batch) == "The item was restored."
    assert (_status(service, "SPRING"), ana.get("/domains")["data"]["domains"]) == (302, before)


@pytest.mark.parametrize("is_own", [True, False])
def test_domain_that_was_added_again_is_not_restored(
    ana: Person, ben: Person, dashboard: Browser, *, is_own: bool
) -> None:
    batch = _delete(dashboard, ana.add("domain", domain=_ORIGIN))
    (ana if is_own else ben).add("domain", domain=_ORIGIN)
    message = "This domain, or the same with or without www., was added after it was deleted, so it cannot be restored."
    assert _undo(dashboard, batch) == message
    assert len(entries(ana.database, ana)) == 1


def test_domain_that_ignores_case_is_not_restored_with_aliases_in_both_cases(
    ana: Person, ben: Person, dashboard: Browser
) -> None:
    batch = _delete(dashboard, ana.add("domain", domain=_ORIGIN, ignorecase=True))
    other = ben.add("domain", domain=_ORIGIN)
    for alias in ("Secret", "secret"):
        ben.add("url", url="https://example.com/", custom=alias, domain=_ORIGIN)
    ben.remove("domain", other)
    message = "Aliases that differ only by case were added to this domain, so it cannot be restored: it ignores case."
    assert _undo(dashboard, batch) == message
    assert ana.get("/domains")["data"]["result"] == 0


def test_domain_and_link_with_capitals_are_restored_together(
    ana: Person, service: AsgiClient, dashboard: Browser
) -> None:
    domain = ana.add("domain", domain=_ORIGIN, ignorecase=True)
    link = ana.add("url", url="https://example.com/", custom="spring", domain=_ORIGIN)
    _delete(dashboard, domain)
    ana.update("url", link, custom="Sale")
    delete_in_dashboard(dashboard, "url", link)
    ids = entries(ana.database, ana)
    message = dashboard.submit_for_message("/trash/bulk", at="/trash", action="restore", id=ids)
    assert message == "2 items were restored."
    assert [_status(service, alias) for alias in ("Sale", "SALE", "spring")] == [302, 302, 404]
    assert ana.details("url", link)["alias"] == "sale"
