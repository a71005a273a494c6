"""Rules for all dashboard pages: CSRF tokens, security headers, request limits and static files."""

import itertools
import re
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.databases import ON_SQLITE
from tests.support.visits import ACCEPT_HTML, CHROME
from waypost.dashboard.routing import PageRoute
from waypost.server.routers import DASHBOARD_PAGES


def _pages(method: str) -> list[PageRoute]:
    return [page for page in DASHBOARD_PAGES if page.method == method]


@ON_SQLITE
def test_post_without_valid_csrf_token_returns_403(ana: Person, dashboard: Browser, service: AsgiClient) -> None:
    anonymous = new_browser(service)
    foreign_token = hidden_field(anonymous.get("/signin"), "token")
    tokens: list[dict[str, str]] = [{}, {"token": ""}, {"token": foreign_token}, {"token": "é"}]
    forms = [page for page in _pages("POST") if not page.has_own_token]
    without_session = {"/dashboard/reports/unsubscribe", "/dashboard/reports/notices/unsubscribe"}
    assert {page.path for page in _pages("POST")} - {page.path for page in forms} == without_session
    for page, token in itertools.product(forms, tokens):
        path = page.path.replace("{id:int}", "1")
        fields = {**token, "url": "https://example.com/", "name": "x"}
        if page.stream_handler:  # an upload
            response = dashboard.client.post(path, files={name: (None, value) for name, value in fields.items()})
        else:
            response = dashboard.client.post(path, data=fields)
        assert response.status_code == 403, path
        assert "out of date" in response.text, path
    assert ana.get("/urls")["data"]["result"] == 0
    assert dashboard.get("").status_code == 200


FRAMED = ("/dashboard/bios/phone", "/dashboard/admin/brand/preview")
"""Pages in a frame of the dashboard. The second one is a page of visitors in a sandbox."""
PUBLIC_FILES = {"/dashboard/app.webmanifest": "public, max-age=86400", "/dashboard/service-worker.js": "no-cache"}


@ON_SQLITE
def test_every_page_has_security_headers_and_no_inline_code(ana: Person, browser: Browser) -> None:
    link = ana.add("url", url="https://example.com/", title="<script>alert(1)</script>")
    paths = {page.path.replace("{id:int}", str(link)): page for page in _pages("GET")}
    for path, page in paths.items():
        response = browser.client.get(path)
        _check_page(path, response)
        if not page.public:
            assert response.headers["location"].startswith("/dashboard/signin"), path
    browser.sign_in("ana")
    for path in paths:
        _check_page(path, browser.client.get(path))
    assert browser.client.get("/dashboard").status_code == 200  # no page has ended the session


def _check_page(path: str, response: Any) -> None:
    assert response.status_code in (200, 303, 400, 404), path
    headers = response.headers
    assert headers["cache-control"] == PUBLIC_FILES.get(path, "private, no-store"), path
    policy = headers["content-security-policy"]
    is_sandboxed = policy.endswith("; sandbox") and "style-src 'unsafe-inline'" in policy
    assert policy.count("unsafe") == is_sandboxed, path
    assert "default-src 'none'" in policy, path
    is_preview = path in FRAMED and response.status_code == 200
    ancestors = "'self'" if is_preview else "'none'"
    assert f"frame-ancestors {ancestors}" in policy, path
    assert headers["x-frame-options"] == ("SAMEORIGIN" if is_preview else "DENY"), path
    if headers.get("content-type", "").startswith("text/csv"):
        return
    assert "<script>alert" not in response.text, path
    assert " style=" not in response.text, path
    assert not re.search(r"<script(?![^>]*\bsrc=)", response.text), path
    assert not re.search(r"\son\w+=", response.text), path


@ON_SQLITE
def test_names_that_visitors_see_are_not_called_internal(ana: Person, dashboard: Browser, service: AsgiClient) -> None:
    ana.post("/url/add", {"url": "https://example.com/", "custom": "offer", "title": "Client X", "type": "splash"})
    ana.post("/bio/add", {"name": "Client Y", "alias": "our-page", "blocks": []})
    wifi = {"type": "wifi", "dynamic": True, "data": {"ssid": "net"}, "name": "Client Z", "custom": "net"}
    assert ana.post("/qr/add", wifi)["error"] == 0
    browser = {**ACCEPT_HTML, "User-Agent": CHROME}
    for alias, name, form in (("offer", "X", "/links/new"), ("our-page", "Y", "/bios/new"), ("net", "Z", "/qr/new")):
        assert f"Client {name}" in service.get(f"/{alias}", headers=browser).text
        text = dashboard.get(form).text
        assert "Visitors see it" in text, form
        assert "internal" not in text, form


@ON_SQLITE
def test_oversized_and_malformed_requests_return_4xx(ana: Person, dashboard: Browser) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for body, status in ((b"a=" + b"x" * 2_000_000, 413), (b"&".join([b"a=1"] * 6000), 400), (b"\xff\x00=%ff&;", 403)):
        assert dashboard.client.post("/dashboard/links/new", content=body, headers=headers).status_code == status
    assert dashboard.get("/links/99999999999999999999").status_code == 404
    assert dashboard.get("/links?page=99999999999&q=%00%ff&campaign=x&order=x&status=x").status_code == 200
    assert dashboard.client.put("/dashboard/links/new").status_code == 405


@ON_SQLITE
def test_forms_of_strangers_are_limited_to_16_kb(service: AsgiClient) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for path in ("signin", "register", "forgot", "reset", "theme", "timezone"):
        for size, is_accepted in ((16_000, True), (17_000, False)):
            response = service.post(f"/dashboard/{path}", content=b"a=" + b"x" * size, headers=headers)
            assert (response.status_code != 413) is is_accepted, path
    response = service.post("/dashboard/links/new", content=b"a=" + b"x" * 2_000_000, headers=headers)
    assert response.headers["location"].startswith("/dashboard/signin")  # the body was not read


@ON_SQLITE
def test_dashboard_on_branded_domain_returns_404(ana: Person, service: AsgiClient) -> None:
    ana.post("/domain/add", {"domain": "https://brand.example"})
    for path in ("/dashboard", "/dashboard/signin", "/dashboard/static/app.js"):
        assert service.get(path, headers={"Host": "brand.example"}).status_code == 404


CODINGS = (
    ("gzip, deflate, br", "br"),
    ("BR;q=0.1", "br"),
    ("gzip;q=1.0, br;q=0", "gzip"),
    ("gzip; q=0.0", ""),
    ("", ""),
)


@ON_SQLITE
@pytest.mark.parametrize(("accepted", "encoding"), CODINGS)
def test_page_is_compressed_as_client_accepts(browser: Browser, accepted: str, encoding: str) -> None:
    plain = browser.client.get("/dashboard/signin", headers={"Accept-Encoding": "identity"})
    response = browser.client.get("/dashboard/signin", headers={"Accept-Encoding": accepted})
    assert response.headers.get("content-encoding", "") == encoding
    assert (len(response.content), "content-encoding" in plain.headers) == (len(plain.content), False)
    assert bool(encoding) == (int(response.headers["content-length"]) < int(plain.headers["content-length"]) / 2)


@ON_SQLITE
def test_static_files_are_immutable_and_compressed(browser: Browser) -> None:
    page = browser.get("/signin").text
    paths = re.findall(r'(?:href|src)="(/dashboard/static/[^"]+\.(?:css|js))"', page)
    assert len(paths) == 2
    for path in paths:
        for accepted, encoding in CODINGS:
            response = browser.client.get(path, headers={"Accept-Encoding": accepted})
            assert response.status_code == 200
            assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert response.headers.get("content-encoding", "") == encoding
    for name in ("manifest.json", "nothing.js", "sources.sha256", "..%2fapp.py"):
        assert browser.get(f"/static/{name}").status_code == 404


def test_buttons_are_named_by_their_action(dashboard: Browser) -> None:
    assert ">Use dark colors</span>" in dashboard.get("").text
    dashboard.submit("/theme", at="/links", theme="dark")
    page = dashboard.get("").text
    assert ">Use light colors</span>" in page
    assert '<span class="visually-hidden">Choose dates, </span>' in page


@ON_SQLITE
def test_theme_redirects_to_referrer_path_of_the_dashboard_only(
    ana: Person, dashboard: Browser, service: AsgiClient
) -> None:
    other = new_browser(service)
    assert other.submit("/theme", at="/signin", theme="dark").headers["location"] == "/dashboard"
    assert 'data-theme="dark"' in other.get("/signin").text
    form = {"token": hidden_field(dashboard.get("/links"), "token"), "theme": "light"}
    foreign = dashboard.client.post(
        "/dashboard/theme", data=form, headers={"Referer": "https://evil.example/dashboard/links"}
    )
    assert foreign.headers["location"] == "/dashboard/links", "only the path of the referrer is used"


@pytest.mark.parametrize("path", ["/links/", "/channels//", "/links/?q=a%20b"])
def test_trailing_slash_redirects_to_page(dashboard: Browser, path: str) -> None:
    response = dashboard.get(path)
    page, mark, query = path.partition("?")
    assert response.headers["location"] == f"/dashboard{page.rstrip('/')}{mark}{query}"
    assert dashboard.get("/no-such-page/").headers["location"] == "/dashboard/no-such-page"
    assert dashboard.get("/no-such-page").status_code == 404


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("/links/bulk", "/links"),
        ("/links/delete", "/links"),
        ("/channels/7/star", "/channels/7"),
        ("/account/email", "/account"),
        ("/theme", ""),
    ],
)
def test_address_of_form_opened_as_page_redirects(dashboard: Browser, form: str, page: str) -> None:
    response = dashboard.get(form)
    assert (response.status_code, response.headers["location"]) == (303, f"/dashboard{page}")


def test_page_behind_last_one_redirects_to_last(ana: Person, dashboard: Browser) -> None:
    ana.add("bio", name="Page")
    assert dashboard.get("/bios?page=3").headers["location"] == "/dashboard/bios"
