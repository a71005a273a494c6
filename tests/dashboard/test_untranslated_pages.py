"""Pages in the pseudo-language: every text that is not from the data passes through the catalogs."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from sqlalchemy import Connection, select

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.dashboard_paths import SIGNED_OUT, dashboard_paths
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.public_pages import public_pages
from tests.support.visits import ACCEPT_HTML, visit
from waypost.app import build
from waypost.db.database import Database
from waypost.db.schema import metadata
from waypost.demo import content
from waypost.languages import PSEUDO_LANGUAGE
from waypost.moderation import reports
from waypost.settings import Settings

pytestmark = ON_SQLITE
_BEGIN, _END = "\u202e", "\u202c"  # of a translated text
# Names and values that are the same in every language.
_NAMES = frozenset(
    (
        f"waypost|python|{PSEUDO_LANGUAGE}|iphone|ipad|mac|svg|sha-256|cname|free|pro|wep|wpa, wpa2, wpa3|bitcoin|dash|"
        "bitcoin cash|litecoin|dogecoin|bitly|chhoto url|dub|kutt|rebrandly|shlink|yourls|linkedin|whatsapp|"
        "meta (facebook)|google analytics|google ads|google tag manager|pinterest|tiktok|microsoft advertising (bing)|"
        "x (twitter)|snapchat|reddit|quora|adroll|email|button|boots"
    )
    .casefold()
    .split("|")
)
_DATE = re.compile(r"\b\d{1,2} [A-Z][a-z]{2} \d{4}\b")
_VALUE = re.compile(
    r"[\d.]+ (?:bytes|[kMGT]B)|\S+[.:/@_=]\S+|(?<!\S)[\d#]\w+\S*|(?<!\S)\d"
)  # sizes, URLs, hosts, versions
_SKIPPED = frozenset({"script", "style", "code", "kbd", "datalist", "pre"})
_ATTRIBUTES = frozenset({"title", "aria-label", "placeholder", "alt", "data-done", "data-ask", "data-failed"})
_VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})


class _Texts(HTMLParser):
    """Collects the texts that a person reads, without those in a language of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[bool] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # Countries and languages have English names in the API and in the dashboard.
        skips = (
            tag in _SKIPPED
            or dict(attrs).get("id") in ("country", "language")
            or (tag != "html" and "lang" in dict(attrs))
        )
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
    parser.feed(page)
    texts = set()
    for text in parser.texts:
        without_site = text.removesuffix(" · waypost").removesuffix("...")
        rest = " ".join(_VALUE.sub(" ", _DATE.sub(" ", without_site)).split()).strip(" …·,:").casefold()
        if re.search(r"[^\W\d_]{2,}", rest) and rest not in data and rest not in _NAMES:
            texts.add(text.strip())
    return texts


def _stored_texts(tx: Connection) -> str:
    """Return everything that the database contains, as one text."""
    rows = [row for table in metadata.sorted_tables for row in tx.execute(select(table))]
    return (
        " ".join(" ".join(str(value) for value in row) for row in rows)
        .replace("\\n", " ")
        .replace("\n", " ")
        .casefold()
    )


@pytest.fixture
def pseudo(settings: Settings, database: Database, ingester: None, framed_site: FakeInternet) -> Iterator[AsgiClient]:
    """The service with the pseudo-language."""
    changes = {"pseudo_language": "on", "registration": "on", "pixel_consent": "on"}
    with AsgiClient(build(Settings.model_validate({**settings.model_dump(), **changes}), database)) as client:
        client.headers["Accept-Language"] = PSEUDO_LANGUAGE
        yield client


def test_dashboard_has_no_untranslated_text(ana: Person, pseudo: AsgiClient, settings: Settings) -> None:
    ana.write(lambda tx: content.add(tx, ana.account, settings))
    public_pages(ana)
    ana.write(lambda tx: reports.add(tx, host="", alias="x", reason="phishing", comment="Bad", reporter=b"somebody"))
    data = ana.database.read(_stored_texts)
    browser = Browser(pseudo)
    pages = {path: pseudo.get(path).text for path in SIGNED_OUT}
    browser.sign_in("ana")
    pages |= {path: pseudo.get(path).text for path in dashboard_paths()}
    assert {path: texts for path, page in pages.items() if (texts := _untranslated(page, data))} == {}


def test_public_pages_have_no_untranslated_text(ana: Person, pseudo: AsgiClient) -> None:
    paths = [page.path for page in public_pages(ana)]
    data = ana.database.read(_stored_texts)
    visitor = pseudo.another(raises=False)
    headers = {**ACCEPT_HTML, "Accept-Language": PSEUDO_LANGUAGE}
    pages = {path: visit(visitor, path, headers=headers).text for path in paths}
    assert {path: texts for path, page in pages.items() if (texts := _untranslated(page, data))} == {}
