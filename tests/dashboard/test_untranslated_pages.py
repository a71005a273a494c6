"""Pages in the pseudo-language: every text that is not from the data passes through the catalogs."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from sqlalchemy import Connection, select

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.dashboard_paths import dashboard_paths
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.form_pages import form_pages, public_form_pages, signed_out_paths, submit
from tests.support.public_pages import ROOT_PAGE, public_pages
from tests.support.visits import ACCEPT_HTML, visit
from waypost.core.languages import PSEUDO_LANGUAGE
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import metadata
from waypost.items.moderation import reports
from waypost.server.app import build

pytestmark = ON_SQLITE
_BEGIN, _END = "\u202e", "\u202c"  # of a translated text
# Names and values that are the same in every language.
_NAMES = frozenset(
    (
        f"waypost|python|utc|{PSEUDO_LANGUAGE}|iphone|ipad|mac|svg|sha-256|cname|free|pro|wep|wpa, wpa2, wpa3|bitcoin|"
        "dash|bitcoin cash|litecoin|dogecoin|bitly|chhoto url|dub|kutt|rebrandly|shlink|yourls|linkedin|whatsapp|teams|"
        "meta (facebook)|google analytics|google ads|google tag manager|pinterest|tiktok|microsoft advertising (bing)|"
        "x (twitter)|snapchat|reddit|quora|adroll|email|button|boots|spring10|/stats/|xx|"
        "slack|discord|matomo|plausible|standard webhooks|hmac-sha256|ed25519"
    )
    .casefold()
    .split("|")
)
_DATE = re.compile(r"\b\d{1,2} [A-Z][a-z]{2}(?: \d{4})?\b")
_VALUE = re.compile(
    r"[\d.]+ (?:bytes|[kMGT]B)|\S+[.:/@_=]\S+|(?<!\S)[\d#]\w+\S*|(?<!\S)\d"
)  # sizes, URLs, hosts, versions
# Suggestions of fields have English names too, by which browsers find them.
_SKIPPED = frozenset({"script", "style", "code", "kbd", "datalist", "pre"})
_ATTRIBUTES = frozenset({"title", "aria-label", "placeholder", "alt", "data-done", "data-failed"})
_VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})


class _Texts(HTMLParser):
    """Collects the texts that a person reads, without those in a language of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[bool] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        skips = tag in _SKIPPED or (tag != "html" and "lang" in dict(attrs))
        if not any(self._open):
            values = [value for name, value in attrs if name in _ATTRIBUTES and value]
            self.texts += [value for value in values if _BEGIN not in value]
        if tag not in _VOID:
            self._open.append(skips)

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag not in _VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if any(self._open):
            return
        rest = ""
        for letter in data:  # elements can be inside of a translated text
            self._depth += (letter == _BEGIN) - (letter == _END)
            rest += " " if self._depth or letter == _END else letter
        self.texts.append(rest)


def _untranslated(page: str, data: str) -> set[str]:
    """Return the texts of a page that are neither translated nor part of the data."""
    parser = _Texts()
    parser.feed(page.replace("<wbr>", "").replace("</span><span>", ""))  # not the end of a text
    texts = set()
    for text in parser.texts:
        without_site = text.removesuffix(" · waypost").removesuffix("...")
        rest = " ".join(_VALUE.sub(" ", _DATE.sub(" ", without_site)).split()).strip(" …·,:").casefold()
        whole = " ".join(without_site.split()).casefold()  # a name can contain a value
        if re.search(r"[^\W\d_]{2,}", rest) and not (rest in data or whole in data or rest in _NAMES):
            texts.add(text.strip())
    return texts


def _stored_texts(tx: Connection) -> str:
    """Return everything that the database contains, as one text."""
    rows = [row for table in metadata.sorted_tables for row in tx.execute(select(table))]
    texts = " ".join(" ".join(str(value) for value in row) for row in rows)
    return " ".join(texts.replace("\\n", " ").split()).casefold()


@pytest.fixture
def pseudo(settings: Settings, database: Database, ingester: None, framed_site: FakeInternet) -> Iterator[AsgiClient]:
    """The service with the pseudo-language."""
    changes = {"pseudo_language": "on", "registration": "on", "pixel_consent": "on", "root_redirect": "page"}
    changes |= {"country_header": "X-Country"}  # a warning on the health page, because no proxy is trusted
    with AsgiClient(build(Settings.model_validate({**settings.model_dump(), **changes}), database)) as client:
        client.headers["Accept-Language"] = PSEUDO_LANGUAGE
        yield client


def test_dashboard_has_no_untranslated_text(ana: Person, pseudo: AsgiClient, sample: None) -> None:
    public_pages(ana)
    ana.write(lambda tx: reports.add(tx, host="", alias="x", reason="phishing", comment="Bad", reporter=b"somebody"))
    assert ana.get("/stats")["data"]["total"]["clicks"]  # waits until the visits are counted
    posted = form_pages(ana)
    data = ana.database.read(_stored_texts)
    browser = Browser(pseudo)
    pages = {path: pseudo.get(path).text for path in signed_out_paths(ana)}
    browser.sign_in("ana")
    pages |= {path: pseudo.get(path).text for path in dashboard_paths()}
    pages |= {form_page.name: submit(pseudo, form_page) for form_page in posted}
    assert "WÁYPÓST_CÓÚNTRY_HÉÁDÉR" in pages["/dashboard/admin/health"], "a warning is shown"
    assert {path: texts for path, page in pages.items() if (texts := _untranslated(page, data))} == {}


def test_public_pages_have_no_untranslated_text(ana: Person, pseudo: AsgiClient) -> None:
    paths = [page.path for page in (*public_pages(ana), ROOT_PAGE)]
    data = ana.database.read(_stored_texts)
    visitor = pseudo.another(raises=False)
    headers = {**ACCEPT_HTML, "Accept-Language": PSEUDO_LANGUAGE}
    pages = {path: visit(visitor, path, headers=headers).text for path in paths}
    for form_page in public_form_pages(ana, "before-poll"):
        pages[form_page.name] = submit(visitor, form_page, PSEUDO_LANGUAGE)
    assert {path: texts for path, page in pages.items() if (texts := _untranslated(page, data))} == {}
