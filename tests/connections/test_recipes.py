"""Files and snippets for other programs: downloaded from the page of a new key, and used against the service."""

import html
import json
import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.conftest import BASE, PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
_DOWNLOAD = re.compile(r'download="([^"]+)"\s+href="data:[a-z/-]+,([^"]*)"')


def _downloads(page: Any) -> dict[str, str]:
    """Return the contents of the files that a page offers, by name."""
    return {name: unquote(html.unescape(content)) for name, content in _DOWNLOAD.findall(page.text)}


@pytest.fixture
def files(dashboard: Browser) -> dict[str, str]:
    fields = {"name": "other programs", "scope": "write", "expires": "", "password": PASSWORD}
    files = _downloads(dashboard.submit("/account/keys", **fields))
    assert sorted(files) == ["waypost-n8n.json", "waypost-shorten.sxcu", "waypost-upload.sxcu", "waypost.php"]
    return files


def _field(path: str, response: Any) -> str:
    """Return what ShareX reads for `{json:path}`."""
    match = re.fullmatch(r"\{json:(\w+)\}", path)
    assert match is not None
    return str(response.json()[match[1]])


def test_sharex_uploads_a_file(ana: Person, service: AsgiClient, files: dict[str, str]) -> None:
    uploader = json.loads(files["waypost-upload.sxcu"])
    assert uploader["Body"] == "Binary"
    url = uploader["RequestURL"].replace("{filename}", "picture.png").removeprefix(BASE)
    response = service.request(uploader["RequestMethod"], url, headers=uploader["Headers"], content=b"a picture")
    short_url = _field(uploader["URL"], response)
    assert service.get(short_url.removeprefix(BASE)).status_code == 200
    assert [item["name"] for item in ana.call("GET", "/files").json()["list"]] == ["picture.png"]


def test_sharex_shortens_a_url_and_shows_errors(ana: Person, service: AsgiClient, files: dict[str, str]) -> None:
    shortener = json.loads(files["waypost-shorten.sxcu"])

    def shorten(text: str) -> Any:
        body = shortener["Data"].replace("{input}", text)
        headers = {**shortener["Headers"], "Content-Type": "application/json"}
        return service.request(
            shortener["RequestMethod"], shortener["RequestURL"].removeprefix(BASE), headers=headers, content=body
        )

    short_url = _field(shortener["URL"], shorten("https://example.com/page"))
    assert service.get(short_url.removeprefix(BASE)).headers["location"] == "https://example.com/page"
    assert "url" in _field(shortener["ErrorMessage"], shorten("no address"))
    assert len(ana.call("GET", "/urls").json()["data"]["urls"]) == 1


def test_n8n_workflow_shortens_a_url(service: AsgiClient, files: dict[str, str]) -> None:
    workflow = json.loads(files["waypost-n8n.json"])
    (node,) = [node for node in workflow["nodes"] if node["type"] == "n8n-nodes-base.httpRequest"]
    assert [target["node"] for target in workflow["connections"]["Start"]["main"][0]] == [node["name"]]
    request = node["parameters"]
    headers = {header["name"]: header["value"] for header in request["headerParameters"]["parameters"]}
    body = json.loads(request["jsonBody"])
    response = service.request(request["method"], request["url"].removeprefix(BASE), headers=headers, json=body)
    assert response.json()["error"] == 0


def test_wordpress_plugin_requests_one_link_for_a_post(service: AsgiClient, files: dict[str, str]) -> None:
    plugin = files["waypost.php"]
    assert plugin.count("(") == plugin.count(")")
    assert plugin.startswith("<?php\n")
    (url,) = re.findall(r"wp_remote_post\('([^']+)'", plugin)
    headers = dict(re.findall(r"'([A-Za-z-]+)' => '([^']+)'(?! \.)", plugin.partition("'headers'")[2]))
    assert sorted(headers) == ["Authorization", "Content-Type"]
    names = re.findall(r"'(\w+)' => get_", plugin)
    body = dict(zip(names, ["https://blog.example/post", "A post"], strict=True))
    key = {"Idempotency-Key": "wordpress-1"}
    answers = [service.post(url.removeprefix(BASE), headers={**headers, **key}, json=body).json() for _ in range(2)]
    assert answers[0]["shorturl"] == answers[1]["shorturl"]


def test_page_of_connections_contains_no_key(ana: Person, dashboard: Browser) -> None:
    page = dashboard.get("/account/connections")
    files = _downloads(page)
    assert len(files) == 4
    assert all("YOUR_API_KEY" in content for content in files.values())
    assert ana.key not in page.text


def test_bookmarklet_and_search_keyword_open_a_filled_form(ana: Person, dashboard: Browser) -> None:
    page = html.unescape(dashboard.get("/account/connections").text)
    (target,) = re.findall(r"javascript:void\(open\('([^']+)'\+encodeURIComponent\(location\.href\)", page)
    (search,) = re.findall(r"<code>([^<]*%s)</code>", page)
    typed = "https://example.com/?a=b&c=d"
    for url in (f"{target}https%3A%2F%2Fexample.com%2F%3Fa%3Db%26c%3Dd&title=A%20%3Cpage%3E", search % typed):
        parts = urlsplit(url)
        form = html.unescape(dashboard.client.get(f"{parts.path}?{parts.query}").text)
        assert f'value="{parse_qs(parts.query)["url"][0]}"' in form
    assert 'value="A &lt;page&gt;"' in dashboard.get("/links/new?url=x&title=A%20%3Cpage%3E").text
