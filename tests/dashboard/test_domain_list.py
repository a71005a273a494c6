"""The list of domains: the links of each domain, and the result of its daily check."""

import re

import pytest
from sqlalchemy import insert

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.visits import new_link
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import domain_checks
from waypost.server.app import build

pytestmark = ON_BOTH_DATABASES


def test_list_counts_the_links_of_each_domain(dashboard: Browser, ana: Person, ben: Person) -> None:
    used, unused = (ana.add("domain", domain=f"https://{host}.example") for host in ("go.brand", "idle.brand"))
    for alias in ("spring", "summer"):
        new_link(ana, alias, domain="https://go.brand.example")
    new_link(ana, "own-host")
    ben.add("domain", domain="https://ben.example")
    new_link(ben, "foreign", domain="https://ben.example")
    page = dashboard.get("/domains").text
    assert [_row(page, domain) for domain in (used, unused)] == [
        "go.brand.example https://go.brand.example None 2 2 links",
        "idle.brand.example https://idle.brand.example None 0 0 links",
    ]
    filtered = dashboard.get("/links?domain=go.brand.example").text
    assert '<a href="/dashboard/links?domain=go.brand.example">' in page
    assert ("spring" in filtered, "own-host" in filtered) == (True, False)


@pytest.mark.parametrize("check", ["on", "off"])
def test_list_shows_the_daily_check_while_checks_are_on(
    ana: Person, settings: Settings, database: Database, check: str
) -> None:
    tags = {
        ("", -1): "Not checked yet",
        ("", 0): "Works",
        ("", 1): "",
        ("elsewhere", 2): "Does not point to this server",
        ("unreachable", 2): "Cannot be reached",
        ("certificate", 3): "Certificate is not valid",
        ("expiring", 1): "Certificate expires within 7 days",
    }
    ids = [ana.add("domain", domain=f"https://go{number}.example") for number in range(len(tags) + 1)]
    rows = [
        {"account": ana.account, "domain": domain, "due": 0, "failures": failures, "problem": problem}
        for domain, (problem, failures) in zip(ids, tags, strict=False)
    ]
    database.write(lambda tx: tx.execute(insert(domain_checks), rows))
    changed = Settings(**{**settings.model_dump(exclude_unset=True), "domain_check": check})
    with AsgiClient(build(changed, database), settings.base_url) as client:
        browser = Browser(client)
        browser.sign_in("ana")
        page = browser.get("/domains").text
    shown = [_row(page, domain).partition(" None ")[0] for domain in ids]
    expected = [*tags.values(), "Not checked yet"] if check == "on" else [""] * len(ids)
    assert shown == [f"go{n}.example https://go{n}.example {tag}".strip() for n, tag in enumerate(expected)]


def _row(page: str, domain: int) -> str:
    row = page.partition(f'href="/dashboard/domains/{domain}"')[2].partition('<td class="row-actions">')[0]
    return " ".join(re.sub(r"<[^>]+>", " ", row.partition(">")[2]).split())
