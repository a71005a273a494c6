"""The HTML of every page, by the Nu HTML checker, and every link, by linkinator."""

import re
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.conftest import Person
from tests.support.browser import served
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.form_pages import form_pages, public_form_pages, signed_out_paths, submit
from tests.support.html_tools import crawl, html_faults
from tests.support.load import until
from tests.support.public_pages import ROOT_PAGE, public_pages
from tests.support.visits import ACCEPT_HTML, visit
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

pytestmark = ON_SQLITE
_MIN_PAGES = 220
_FILTERS = ("country", "referrer", "browser", "os", "device", "language", "source", "visited", "kind", "sort")
_PERIOD_AND_LIST = r"[?&](next=.*&period=|period=.*&next=)"
_GROUP = r"(campaign|channel|domain|utm_\w+)="
_GROUP_AND_OTHERS = rf"/stat(istic)?s\?(.*&{_GROUP}|{_GROUP}.*&)"
"""Statistics of a group of items with other parameters: there are as many as for the statistics of the account."""
_LATER_ITEM = r"/dashboard/\w+/(?!1\b)\d+[^?]*\?|[?&](campaign|channel)=(?!1\b)\d"
"""Parameters of pages of items, and filters by items, are followed for the first item of each kind."""
_PAGES_OF_LATER_LINKS = r"/dashboard/(links|shares/link)/(?!1\b)\d+/(delete|trial|qr)|/dashboard/shares/link/(?!1\b)\d"
"""Pages that differ from those of the first link in its names only. The links themselves are all followed."""
_FRAME_WARNING = "Setting both “allow-scripts” and “allow-same-origin”"
"""Harmless for the frame of a framed link, because it contains another site."""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Settings with pixel consent, registration and a public root page."""
    return settings.model_copy(update={"pixel_consent": "on", "registration": "on", "root_redirect": "page"})


def test_every_page_is_valid_and_the_dashboard_has_no_broken_link(
    ana: Person, dashboard: Browser, settings: Settings, sample: None, framed_site: FakeInternet, tmp_path: Path
) -> None:
    pages = _dashboard_pages(dashboard, settings)  # of the demo only: later items would be more pages of the same kinds
    visitor = ana.client.another(raises=False)
    shown = {page.path: visit(visitor, page.path, headers=ACCEPT_HTML).text for page in public_pages(ana)}
    paths = (ROOT_PAGE.path, "dashboard/unknown", *(path.lstrip("/") for path in signed_out_paths(ana)))
    shown |= {path: visit(visitor, path, headers=ACCEPT_HTML).text for path in paths}
    shown |= {form_page.name: submit(visitor, form_page) for form_page in public_form_pages(ana, "before-poll")}
    pages |= {form_page.name: submit(dashboard.client, form_page) for form_page in form_pages(ana)}
    assert not shown.keys() & pages.keys()
    faults = [(page, text) for page, texts in html_faults({**pages, **shown}, tmp_path).items() for text in texts]
    assert [(page, text) for page, text in faults if page in pages or _FRAME_WARNING not in text] == []


def _dashboard_pages(dashboard: Browser, settings: Settings) -> dict[str, str]:
    """Follow all links of the dashboard. Return the HTML of its pages by path and query."""
    headers = {"Cookie": f"waypost={dashboard.cookie}"}
    until(lambda: bool(re.search(r"/visits\?before=\d+", dashboard.get("/visits").text)))
    second_page = re.findall(r"/visits\?(before=\d+)", dashboard.get("/visits").text)[0]
    # Links of the preview cannot be followed in it, other sites are not requested, QR codes of lists are the same, and
    # values that filter statistics and visits have too many combinations, as have periods with lists to return to. The
    # third page of visits has nothing that the second one does not have.
    skip = ["/juniper/", r"/qr\?next=", rf"[?&]({'|'.join(_FILTERS)})=", _PERIOD_AND_LIST, _PAGES_OF_LATER_LINKS]
    skip += [_LATER_ITEM, _GROUP_AND_OTHERS, rf"[?&]before=(?!{second_page.removeprefix('before=')}\b)"]
    pages: dict[str, str] = {}
    with served(_keeping_pages(build(settings, Database(settings.database)), pages)) as address:
        base = address.replace("go.localhost", "127.0.0.1")
        skip.append(f"^(?!{re.escape(base)}/)")
        links = crawl(f"{base}/dashboard", headers=headers, skip=skip)
    assert [(link["parent"], link["url"], link["status"]) for link in links if link["state"] == "BROKEN"] == []
    assert len(pages) > _MIN_PAGES
    assert f"/dashboard/visits?{second_page}" in pages
    items = [match.groups() for page in pages if (match := re.match(r"/dashboard/(\w+)/(\d+)\b[^?]*\?", page))]
    assert {number for _, number in items} == {"1"}
    assert {noun for noun, _ in items} >= {"bios", "campaigns", "links", "qr"}
    return pages


def _keeping_pages(app: ASGIApp, pages: dict[str, str]) -> ASGIApp:
    """Return the app; it keeps the HTML of each page that it serves, by path and query."""

    async def keeping(scope: Scope, receive: Receive, send: Send) -> None:
        body: list[bytes] = []
        is_page = False

        async def keep(message: Message) -> None:
            nonlocal is_page
            if message["type"] == "http.response.start":
                media_type = dict(message["headers"]).get(b"content-type", b"")
                is_page = message["status"] == 200 and media_type.startswith(b"text/html")
            elif message["type"] == "http.response.body" and is_page:
                body.append(message.get("body", b""))
                if not message.get("more_body"):
                    query = scope["query_string"].decode()
                    pages[scope["raw_path"].decode() + (f"?{query}" if query else "")] = b"".join(body).decode()
            await send(message)

        uncompressed = [(name, value) for name, value in scope.get("headers", []) if name != b"accept-encoding"]
        is_http = scope["type"] == "http"
        await app({**scope, "headers": uncompressed} if is_http else scope, receive, keep if is_http else send)

    return keeping
