"""Which clients get a page, and which the bytes or JSON: browsers, chats, search engines and programs."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.files import CONTENT, download, downloads_left, new_file
from tests.support.html import Page
from tests.support.load import add_ana
from tests.support.public_pages import shared_statistics
from tests.support.server import serving
from tests.support.system_packages import program
from tests.support.visits import ACCEPT_JSON, CHROME, CURL, DESTINATION, FIREFOX, GOOGLEBOT, SLACK, new_link, visit
from waypost.db.database import Database

CHATS = (
    *(SLACK, GOOGLEBOT, "WhatsApp/2.23.20.0", "Twitterbot/1.0", "TelegramBot (like TwitterBot)"),
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
    "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
    "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1"
    " Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",  # iMessage
    "http.rb/5.1.1 (Mastodon/4.2.0; +https://mastodon.example/)",
)
WGET2 = "Wget/2.1.0"
JAVA = "Java/17.0.21"
ACCEPT_WGET2 = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_JAVA = "text/html, image/gif, image/jpeg, */*; q=0.2"
_JAVA_PROGRAM = Path(__file__).parents[1] / "support" / "java" / "Download.java"


@pytest.fixture
def pasted(ana: Person) -> dict[str, str]:
    """Addresses that people paste into chats, with the titles of their cards."""
    ana.add("bio", name="Bio", alias="pot", title="My page")
    ana.add("bio", name="Shy", alias="shy", title="A secret", sensitive=True)
    campaign = ana.add("campaign", name="Reading", slug="reading", public=True)
    new_link(ana, "carded", metatitle="A card", campaign=campaign)
    new_link(ana, "locked", password="a password")
    new_link(ana, "off", status="disabled")
    new_file(ana, "notes.bin", CONTENT, custom="mine", maxdownloads=1)
    new_file(ana, "hidden.bin", CONTENT, custom="closed", password="a password")
    ana.post("/qr/add", {"type": "text", "data": "Some words", "custom": "words", "dynamic": True})
    shared, shared_locked, unknown_share = shared_statistics(ana)
    return {
        "pot": "My page",
        "shy": "Sensitive content",
        f"u/ana/reading-{campaign}": "Reading",
        "carded": "A card",
        "locked": "Password required",
        "off": "Disabled",
        "mine": "notes.bin",
        "closed": "Password required",
        "words": "Text",
        "carded+": "Link preview",
        "mine+": "notes.bin",
        "report": "Report a link",
        "unknown": "Not found",
        "u/ana": "No page here",
        shared: "Statistics of go.localhost",
        shared_locked: "Password required",
        unknown_share: "Statistics",
    }


@ON_SQLITE
@pytest.mark.parametrize("headers", [{"Accept": "*/*"}, {"Accept": ""}])
def test_every_pasted_address_has_its_card_in_every_chat(
    ana: Person, service: AsgiClient, pasted: dict[str, str], headers: dict[str, str]
) -> None:
    for path, title in pasted.items():
        for agent in CHATS:
            if path == "carded" and agent == GOOGLEBOT:
                continue  # search engines follow links
            page = Page(visit(service, path, agent=agent, headers=headers))
            shown = page.one("meta", property="og:title").attributes["content"]
            assert (shown or "").startswith(title), (path, agent)
    assert download(service, "mine").content == CONTENT  # no chat took the only download


@ON_SQLITE
def test_public_page_is_json_only_if_json_is_preferred(
    ana: Person, service: AsgiClient, pasted: dict[str, str]
) -> None:
    cases = {
        "*/*": "text/html",
        "": "text/html",
        "text/plain": "text/html",
        "application/*": "text/html",
        "APPLICATION/JSON, text/plain": "application/json",
        "application/json;q=0.1, */*;q=0.9": "application/json",
        "application/json, Text/HTML;q=0.1": "text/html",
        "application/json, text/html;q=0": "application/json",
        "application/json;charset=utf-8; q=0.000, */*": "text/html",
    }
    public = [path for path in pasted if path in ("pot", "off", "carded+", "unknown", "u/ana") or path.startswith("u/")]
    for accept, kind in cases.items():
        for path in public:
            response = visit(service, path, agent=CURL, headers={"Accept": accept})
            assert response.headers["content-type"].startswith(kind), (path, accept)


@ON_SQLITE
def test_only_browsers_get_page_of_file_and_password_form(ana: Person, service: AsgiClient) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine")
    new_file(ana, "b.bin", CONTENT, custom="closed", password="a password")
    new_link(ana, "locked", password="a password")
    html, any_type = {"Accept": "text/html"}, {"Accept": "*/*"}
    cases: list[tuple[str, dict[str, str], bool]] = [
        (CHROME, html, True),
        (FIREFOX, {"Accept": "TEXT/HTML;level=1, */*;q=0.1"}, True),
        ("Opera/9.80 (Windows NT 6.1) Presto/2.12.388 Version/12.18", html, True),
        ("MyBrowser/1.0", {**html, "Sec-Fetch-Mode": "Navigate"}, True),
        ("MyBrowser/1.0", {**html, "Sec-Fetch-Mode": "cors"}, False),
        ("MyBrowser/1.0", {**any_type, "Sec-Fetch-Mode": "navigate"}, False),
        (CHROME, any_type, False),
        (CHROME, {"Accept": "text/html;q=0, */*"}, False),
        (CHROME, {"Accept": "text/html; Q=0.0"}, False),
        (CHROME, {"Accept": ""}, False),
        (WGET2, {"Accept": ACCEPT_WGET2}, False),
        (JAVA, {"Accept": ACCEPT_JAVA}, False),
        (CURL, any_type, False),
        ("", html, False),
    ]
    for agent, headers, is_page in cases:
        response = visit(service, "mine", agent=agent, headers=headers)
        assert (b"<!DOCTYPE html>" in response.content, response.content == CONTENT) == (is_page, not is_page), agent
        for path in ("closed", "locked"):
            response = visit(service, path, agent=agent, headers=headers)
            kind = "text/html; charset=utf-8" if is_page else "application/json"
            assert (response.status_code, response.headers["content-type"]) == (401, kind), (path, agent, headers)
            assert ("www-authenticate" in response.headers) == (not is_page)
        gone = visit(service, "closed+", agent=agent, headers=headers)
        assert gone.status_code == 404


@ON_SQLITE
def test_program_that_accepts_html_is_redirected_before_splash_page(ana: Person, service: AsgiClient) -> None:
    new_link(ana, "wait", type="splash", title="Wait")
    response = visit(service, "wait", agent=WGET2, headers={"Accept": ACCEPT_WGET2})
    assert (response.status_code, response.headers["location"]) == (302, DESTINATION)
    assert visit(service, "wait", headers={"Accept": ACCEPT_WGET2}).status_code == 200


@ON_SQLITE
def test_errors_of_files_are_json_for_programs(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    assert download(service).content == CONTENT
    assert downloads_left(ana, file) == 0
    for agent, headers in ((CURL, {}), (JAVA, {"Accept": ACCEPT_JAVA}), (CURL, ACCEPT_JSON)):
        assert visit(service, "mine", agent=agent, headers=headers).json()["code"] == "gone"
    assert "</html>" in visit(service, "mine", headers={"Accept": ACCEPT_WGET2}).text


@pytest.fixture(scope="module")
def file_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The short URL of a file of a real server."""
    folder = tmp_path_factory.mktemp("negotiation")
    with serving(folder) as server:
        database = Database(f"sqlite:///{folder / 'waypost.db'}")
        key = database.write(add_ana)
        database.close()
        added = server.call("POST", "/api/files/upload/a.bin?custom=mine", key=key, content=CONTENT)
        assert added.status_code == 200, added.text
        yield f"{server.url}/mine"


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("wget2", ("wget2", "-q", "-O", "-")),
        ("wget", ("wget", "-q", "-O", "-")),
        ("curl", ("curl", "-sS")),
        ("openjdk-17-jdk-headless", ("java", str(_JAVA_PROGRAM))),
    ],
)
def test_real_program_gets_bytes_of_file(file_url: str, package: str, command: tuple[str, ...]) -> None:
    name, *arguments = command
    run = [program(name, package), *arguments, file_url]
    result = subprocess.run(run, capture_output=True, timeout=120, check=False)
    assert (result.returncode, result.stdout == CONTENT) == (0, True), (result.stdout[:200], result.stderr)


def test_real_server_sends_page_to_browser(file_url: str) -> None:
    agent = {"User-Agent": "Unknown/1.0", "Accept": "text/html", "Sec-Fetch-Mode": "navigate"}
    for headers in ({"User-Agent": CHROME, "Accept": "text/html"}, agent):
        assert "<!DOCTYPE html>" in httpx2.get(file_url, headers=headers).text
    assert httpx2.get(file_url, headers={**agent, "Sec-Fetch-Mode": "cors"}).content == CONTENT
