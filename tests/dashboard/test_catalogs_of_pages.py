"""Pages in German: the catalog has every text that a page translates, also those in variables."""

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.dashboard_paths import dashboard_paths
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.form_pages import form_pages, public_form_pages, signed_out_paths, submit
from tests.support.public_pages import ROOT_PAGE, public_pages
from tests.support.visits import ACCEPT_HTML, visit
from waypost.core.languages import _Formatted
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

pytestmark = ON_SQLITE


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The texts that were to be translated, but are not in the catalogs."""
    texts: set[str] = set()
    original = _Formatted.gettext

    def gettext(catalog: _Formatted, message: str) -> str:
        text = original(catalog, message)
        if text == message and message not in catalog._messages:
            texts.add(message)
        return text

    monkeypatch.setattr(_Formatted, "gettext", gettext)
    return texts


@pytest.fixture
def german(settings: Settings, database: Database, ingester: None, framed_site: FakeInternet) -> AsgiClient:
    """The service, for a client that prefers German."""
    changes = {"registration": "on", "pixel_consent": "on", "root_redirect": "page", "country_header": "X-Country"}
    client = AsgiClient(build(Settings.model_validate({**settings.model_dump(), **changes}), database))
    client.headers["Accept-Language"] = "de"
    return client


def test_every_text_of_the_dashboard_is_in_the_catalog(
    ana: Person, german: AsgiClient, sample: None, missing: set[str]
) -> None:
    public_pages(ana)
    posted = form_pages(ana)
    with german as client:
        browser = Browser(client)
        for path in signed_out_paths(ana):
            client.get(path)
        browser.sign_in("ana")
        assert 'lang="de"' in browser.get("/links").text
        for path in dashboard_paths():
            client.get(path)
        for form_page in posted:
            submit(client, form_page)
    assert not missing, "\n".join(sorted(missing))


def test_every_text_for_visitors_is_in_the_catalog(ana: Person, german: AsgiClient, missing: set[str]) -> None:
    headers = {**ACCEPT_HTML, "Accept-Language": "de"}
    pages = (*public_pages(ana), ROOT_PAGE)
    with german as client:
        visitor = client.another(raises=False)
        for page in pages:
            visit(visitor, page.path, headers=headers)
        for form_page in public_form_pages(ana, "before-poll"):
            submit(visitor, form_page, "de")
    assert not missing, "\n".join(sorted(missing))
