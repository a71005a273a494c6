"""What every page of the dashboard keeps to, whoever asks: whose forms it takes, and what a browser may do with it."""

import re
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.asgi_client import Inside
from tests.support.dashboard_client import Browser, hidden, window
from waypost.routers import DASHBOARD_PAGES

ONLY_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def _paths(method: str) -> list[Any]:
    return [pytest.param(page, id=page.path) for page in DASHBOARD_PAGES if page.method == method]


@pytest.mark.parametrize("page", _paths("POST"))
@ONLY_SQLITE
def test_no_form_is_taken_that_we_did_not_show_to_this_browser(
    ana: Person, inside: Browser, service: Inside, page: Any
) -> None:
    path = page.path.replace("{id:int}", "1")
    stranger = window(service)
    theirs = hidden(stranger.get("/signin"), "token")
    for token in ({}, {"token": ""}, {"token": theirs}, {"token": "é"}):
        fields = {**token, "url": "https://example.com/", "name": "x"}
        if page.stream_handler:  # an upload
            answer = inside.client.post(path, files={name: (None, value) for name, value in fields.items()})
        else:
            answer = inside.client.post(path, data=fields)
        assert answer.status_code == 403, path
        assert "out of date" in answer.text
    assert ana.get("/urls")["data"]["result"] == 0
    assert inside.get("").status_code == 200


@pytest.mark.parametrize("page", _paths("GET"))
@ONLY_SQLITE
def test_every_page_is_private_framed_by_nobody_and_runs_no_words_of_others(
    ana: Person, browser: Browser, page: Any
) -> None:
    link = ana.post("/url/add", {"url": "https://example.com/", "title": "<script>alert(1)</script>"})["id"]
    path = page.path.replace("{id:int}", str(link))
    answers = [browser.client.get(path)]
    if not page.public:
        assert answers[0].headers["location"].startswith("/dashboard/signin")
    browser.sign_in("ana")
    answers.append(browser.client.get(path))
    for answer in answers:
        assert answer.status_code in (200, 303, 400, 404), path
        headers = answer.headers
        assert headers["cache-control"] == "private, no-store"
        assert "unsafe" not in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]
        is_preview = path == "/dashboard/bios/phone" and answer.status_code == 200
        framers = "'self'" if is_preview else "'none'"
        assert f"frame-ancestors {framers}" in headers["content-security-policy"]
        assert headers["x-frame-options"] == ("SAMEORIGIN" if is_preview else "DENY")
        assert "<script>alert" not in answer.text
        assert " style=" not in answer.text
        assert not re.search(r"<script(?![^>]*\bsrc=)", answer.text)
        assert not re.search(r"\son\w+=", answer.text)


@ONLY_SQLITE
def test_a_form_is_at_most_a_megabyte_and_a_strange_one_is_no_fault_of_ours(ana: Person, inside: Browser) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for body, status in ((b"a=" + b"x" * 2_000_000, 413), (b"&".join([b"a=1"] * 6000), 400), (b"\xff\x00=%ff&;", 403)):
        assert inside.client.post("/dashboard/links/new", content=body, headers=headers).status_code == status
    assert inside.get("/links/99999999999999999999").status_code == 404
    assert inside.get("/links?page=99999999999&q=%00%ff&campaign=x&order=x&status=x").status_code == 200
    assert inside.client.put("/dashboard/links/new").status_code == 405


@ONLY_SQLITE
def test_a_branded_domain_has_no_dashboard(ana: Person, service: Inside) -> None:
    ana.post("/domain/add", {"domain": "https://brand.example"})
    for path in ("/dashboard", "/dashboard/signin", "/dashboard/static/app.js"):
        assert service.get(path, headers={"Host": "brand.example"}).status_code == 404


@ONLY_SQLITE
def test_built_files_are_kept_for_ever_and_come_compressed(browser: Browser) -> None:
    page = browser.get("/signin").text
    paths = re.findall(r'(?:href|src)="(/dashboard/static/[^"]+)"', page)
    assert len(paths) == 2
    for path in paths:
        for encoding in ("br", "gzip", ""):
            answer = browser.client.get(path, headers={"Accept-Encoding": encoding})
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.headers.get("content-encoding", "") == encoding
    for name in ("manifest.json", "nothing.js", "sources.sha256", "..%2fapp.py"):
        assert browser.get(f"/static/{name}").status_code == 404


@ONLY_SQLITE
def test_pages_know_the_way_without_a_referrer(ana: Person, inside: Browser, service: Inside) -> None:
    other = window(service)
    assert other.send("/theme", at="/signin", theme="dark").headers["location"] == "/dashboard"
    assert 'data-theme="dark"' in other.get("/signin").text
    form = {"token": hidden(inside.get("/links"), "token"), "theme": "light"}
    far = inside.client.post("/dashboard/theme", data=form, headers={"Referer": "https://evil.example/dashboard/links"})
    assert far.headers["location"] == "/dashboard/links", "a path of ours, whatever the host was"
