"""Headers of responses that are no pages, the host of the dashboard, HTTPS only, and what strangers learn."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.assertions import refused
from tests.support.databases import ON_SQLITE
from tests.support.files import new_file
from tests.support.html import open_page
from tests.support.visits import ACCEPT_HTML, ACCEPT_JSON, new_link, visit
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

pytestmark = ON_SQLITE
ISOLATED = ("default-src 'none'; sandbox", "same-origin", "nosniff")
DASHBOARD = "https://dash.example.com"
LINKS = "https://go.example.com"


@contextmanager
def _running(settings: Settings, address: str = "testclient", **changes: Any) -> Iterator[AsgiClient]:
    changed = Settings(**{**settings.model_dump(), **changes})
    base = changes.get("base_url", "http://go.localhost:8000")
    with AsgiClient(build(changed, Database(settings.database)), base_url=base, address=address) as client:
        yield client


@pytest.mark.parametrize(
    "path",
    [
        *("/robots.txt", "/favicon.ico", "/healthz", "/readyz", "/metrics", "/api/account", "/api/unknown", "/api"),
        *("/api/openapi.json", "/api/docs/start.js", "/unknown", "/u/ana/avatar.svg", "/tls/ask", "/overlay/1"),
        *("/dashboard/static/unknown", "/.well-known/waypost/x", "/a/b/c", "/report?format=json"),
    ],
)
def test_response_without_page_is_isolated(ana: Person, path: str) -> None:
    headers = ana.client.get(path, headers=ACCEPT_JSON).headers
    assert headers["x-content-type-options"] == "nosniff"
    if path == "/dashboard/static/unknown" or path.startswith(("/u/", "/report", "/.")):
        assert "default-src 'none'" in headers["content-security-policy"]
    else:
        policies = (headers["content-security-policy"], headers["cross-origin-opener-policy"])
        assert policies == ISOLATED[:2]


def test_api_response_is_isolated_and_readable_by_other_sites(ana: Person) -> None:
    response = ana.call("GET", "/account", headers={"Origin": "https://elsewhere.example"})
    headers = response.headers
    policies = tuple(
        headers[name] for name in ("content-security-policy", "cross-origin-opener-policy", "x-content-type-options")
    )
    assert (response.status_code, policies, headers["access-control-allow-origin"]) == (200, ISOLATED, "*")


def test_api_documentation_forgets_keys(ana: Person) -> None:
    assert "persistAuthorization: false" in ana.client.get("/api/docs/start.js").text
    page = ana.client.get("/api/docs")
    assert page.headers["cross-origin-opener-policy"] == "same-origin"
    assert "sandbox" not in page.headers["content-security-policy"]
    assert ana.client.get("/api/docs", headers={"Host": "unknown.example"}).status_code == 404


def test_overlay_response_is_readable_by_page_without_origin_only(ana: Person) -> None:
    for origin, allowed in (("null", "null"), ("https://evil.example", None), (None, None)):
        headers = {"Origin": origin} if origin else {}
        response = ana.client.post("/overlay/1", headers=headers)
        assert (response.status_code, response.headers.get("access-control-allow-origin")) == (404, allowed)
    assert "access-control-allow-origin" not in ana.client.get("/spring", headers={"Origin": "null"}).headers


@pytest.mark.parametrize("ticket", ["", "x", "x.y", "W10.x"])
def test_consent_with_invalid_ticket_returns_404(ana: Person, ticket: str) -> None:
    for answer in ("yes", "no", "maybe", ""):
        response = visit(ana.client, f"pixel/consent?ticket={ticket}&answer={answer}", headers=ACCEPT_HTML)
        assert (response.status_code, "set-cookie" in response.headers) == (404, False)


def test_consent_for_disabled_or_deleted_link_is_refused(ana: Person, settings: Settings) -> None:
    pixel = ana.add("pixel", type="qapixel", name="x", tag="TAG-1")
    link = new_link(ana, "spring", pixels=[pixel])
    with _running(settings, pixel_consent="on") as client:
        asking = Person(ana.account, ana.username, ana.key, client, ana.database)
        consent = open_page(asking, "spring").script_data["consent"][1:]
        assert visit(client, f"{consent}yes", headers=ACCEPT_HTML).status_code == 200
        assert visit(client, f"{consent}other", headers=ACCEPT_HTML).status_code == 404
        ana.update("url", link, status="disabled")
        assert visit(client, f"{consent}yes", headers=ACCEPT_HTML).status_code == 403
        ana.remove("url", link)
        assert visit(client, f"{consent}no", headers=ACCEPT_HTML).status_code == 404


def test_https_base_url_sends_hsts_for_own_hosts_only(ana: Person, settings: Settings) -> None:
    ana.add("domain", domain="https://brand.example.net")
    with _running(settings, base_url=LINKS, dashboard_url=DASHBOARD, domain_check="off") as client:
        for url in (LINKS, DASHBOARD):
            for path in ("/healthz", "/api/account", "/robots.txt", "/", "/unknown", "/dashboard/signin"):
                headers = client.get(f"{url}{path}").headers
                assert headers["strict-transport-security"] == "max-age=31536000"
        for url in ("https://brand.example.net", "https://127.0.0.1"):
            assert "strict-transport-security" not in client.get(f"{url}/healthz").headers
    assert "strict-transport-security" not in ana.client.get("/healthz").headers


def test_every_cookie_is_secure_with_https_base_url(ana: Person, settings: Settings) -> None:
    new_file(ana, "a.txt", b"x", custom="guarded", password="open sesame")
    ana.post("/bio/add", {"name": "x", "alias": "sensitive", "sensitive": True})
    new_link(ana, "spring", pixels=[ana.add("pixel", type="qapixel", name="x", tag="TAG-1")])
    campaign = ana.add("campaign", name="x", slug="turns", sticky=True)
    new_link(ana, "turning", campaign=campaign)
    with _running(settings, base_url=LINKS, pixel_consent="on") as client:
        asking = Person(ana.account, ana.username, ana.key, client, ana.database)
        consent = open_page(asking, f"{LINKS}/spring").script_data["consent"][1:]
        responses = [
            client.get("/dashboard/signin"),
            visit(client, "guarded", "POST", data={"password": "open sesame"}, headers=ACCEPT_HTML),
            visit(client, "sensitive", "POST", headers=ACCEPT_HTML),
            visit(client, f"{consent}yes", headers=ACCEPT_HTML),
            visit(client, "r/turns", headers=ACCEPT_HTML),
            visit(client, "guarded?download=1", headers=ACCEPT_HTML),
        ]
    cookies = [cookie for response in responses for cookie in response.headers.get_list("set-cookie")]
    names = {cookie.partition("=")[0] for cookie in cookies}
    assert {"__Host-waypost", "wp_sure", "wp_consent", "wp_turn", "wp_opened"} <= names
    assert [cookie for cookie in cookies if "; Secure" not in cookie] == []


def test_dashboard_url_moves_dashboard_and_documentation(ana: Person, settings: Settings) -> None:
    pixel = ana.add("pixel", type="qapixel", name="x", tag="TAG-1")
    new_link(ana, "spring", pixels=[pixel])
    with _running(settings, base_url=LINKS, dashboard_url=DASHBOARD) as client:
        for path in ("/dashboard", "/dashboard/signin", "/api/docs", "/api/docs/start.js"):
            assert client.get(f"{LINKS}{path}").status_code == 404, path
            assert client.get(f"{DASHBOARD}{path}").status_code in (200, 303), path
            assert client.get(f"https://127.0.0.1{path}").status_code == 404, path
        assert client.get(f"{LINKS}/").headers["location"] == f"{DASHBOARD}/dashboard"
        assert client.get(f"{DASHBOARD}/").headers["location"] == "/dashboard"
        assert client.get(f"{LINKS}/api/account", headers={"Authorization": ana.key}).status_code == 200
        there = Person(ana.account, ana.username, ana.key, client, ana.database)
        assert "sandbox" not in open_page(there, f"{LINKS}/spring").policy
        assert "allow-same-origin" not in open_page(there, f"{DASHBOARD}/spring").policy["sandbox"]
        for host in ("dash.example.com", "DASH.example.com", "go.example.com"):
            body = {"domain": f"https://{host}"}
            refused(there.call("POST", "/domain/add", body), 400, "domain")
            refused(there.call("POST", "/url/add", {"url": f"https://{host}/dashboard"}), 400, "url")
        token = client.get(f"{DASHBOARD}/dashboard/signin").text.partition('name="token" value="')[2].partition('"')[0]
        form = {"token": token, "name": "ana", "password": PASSWORD}
        assert client.post(f"{DASHBOARD}/dashboard/signin", data=form).status_code == 303


@pytest.mark.parametrize(
    ("proxies", "headers", "is_monitor"),
    [
        ("", {}, True),
        ("", {"X-Forwarded-For": "127.0.0.1"}, False),
        ("", {"X-Real-IP": "127.0.0.1"}, False),
        ("", {"Via": "1.1 proxy"}, False),
        ("", {"Forwarded": "for=127.0.0.1"}, False),
        ("127.0.0.1", {}, False),
        ("127.0.0.1", {"X-Forwarded-For": "203.0.113.7"}, False),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, True),
    ],
)
def test_metrics_and_details_are_for_known_monitors(
    ana: Person, settings: Settings, proxies: str, headers: dict[str, str], *, is_monitor: bool
) -> None:
    changes = {"metrics_networks": "127.0.0.1", "trusted_proxies": proxies}
    with _running(settings, "127.0.0.1", **changes) as client:
        assert client.get("/metrics", headers=headers).status_code == (200 if is_monitor else 404)
        body = client.get("/readyz", headers=headers).json()
    assert body == {
        "status": "ok",
        **({"database": "ok", "storage": "ok", "clicks_lost": 0, "maintenance": False} if is_monitor else {}),
    }


def test_readiness_tells_strangers_no_revision(ana: Person) -> None:
    ana.write(lambda tx: tx.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'"))
    response = ana.client.get("/readyz")
    assert (response.status_code, response.json()) == (503, {"status": "unavailable"})
