"""A fake server of each link shortener, with the answers of its API as its documentation describes them."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.threads import in_thread

TOKEN = "secret-token-1234"
SHOP = "https://example.com/shop"
Parameters = dict[str, str]
Answer = Callable[[Parameters], Any]


@dataclass
class Service:
    """A running server. `requests` are the paths with queries, `answers` those by path; `statuses` are sent first."""

    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    statuses: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    auth: str = "Authorization"
    raw: bytes | None = None


@contextmanager
def running(service: Service) -> Iterator[Service]:
    """Serve on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            self._answer({name: values[0] for name, values in parse_qs(body).items()})

        def _answer(self, form: Parameters) -> None:
            parts = urlsplit(self.path)
            service.requests.append(self.path)
            parameters = {**{name: values[0] for name, values in parse_qs(parts.query).items()}, **form}
            is_allowed = TOKEN in (self.headers.get(service.auth, "") + form.get("signature", ""))
            headers: dict[str, str] = {}
            status, value = 200, None
            if service.statuses:
                status, headers = service.statuses.pop(0)
            elif not is_allowed:
                status = 401
            elif parts.path in service.answers:
                value = service.answers[parts.path](parameters)
            if status == 200 and value is None:
                status = 404
            content = service.raw if service.raw is not None else json.dumps(value).encode()
            self.send_response(status)
            for name, text in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            """Keep the output of the tests clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_port}"
    with in_thread(server):
        yield service


def bitly() -> Service:
    """Two pages of bitlinks: one with two aliases and tags, one without a destination."""
    first = {
        "id": "bit.ly/3abCdE",
        "link": "https://bit.ly/3abCdE",
        "custom_bitlinks": ["https://go.localhost/spring", "http://bit.ly/spring-24"],
        "long_url": SHOP,
        "title": "Spring",
        "archived": True,
        "created_at": "2020-10-26T17:20:40+0000",
        "tags": ["mail", "2020"],
    }
    second = {"id": "bit.ly/2Zz", "link": "https://bit.ly/2Zz", "custom_bitlinks": [], "tags": []}
    pages = {"": ([first], "abc"), "abc": ([second], "")}

    def bitlinks(parameters: Parameters) -> Any:
        links, after = pages[parameters.get("search_after", "")]
        return {"links": links, "pagination": {"search_after": after}}

    days = [{"clicks": 3, "date": "2020-10-27T00:00:00+0000"}, {"clicks": 4, "date": "2020-10-28T00:00:00+0000"}]
    answers: dict[str, Answer] = {
        "/groups": lambda _: {"groups": [{"guid": "Bxyz", "name": "Marketing"}]},
        "/groups/Bxyz/bitlinks": bitlinks,
        "/bitlinks/bit.ly%2F3abCdE/clicks": lambda _: {"link_clicks": days, "unit": "day"},
    }
    return Service(answers=answers)


def dub() -> Service:
    """A link with everything that Dub has; on the second page the root of the domain and an old link."""
    link = {
        "id": "link_1", "domain": "go.localhost", "key": "a/b", "url": f"{SHOP}?utm_source=mail", "archived": False,
        "expiresAt": "2030-01-01T00:00:00.000Z", "expiredUrl": f"{SHOP}/over", "disabledAt": None, "password": "open",
        "proxy": True, "title": "T", "description": "D", "image": "https://img.example.com/x.png", "rewrite": True,
        "ios": "https://apps.apple.com/x", "android": None, "geo": {"DE": "https://example.de/", "XX": SHOP},
        "testVariants": [{"url": SHOP, "percentage": 50}], "tags": [{"id": "1", "name": "mail", "color": "red"}],
        "folderId": "fold_1", "comments": "n", "clicks": 5, "createdAt": "2024-05-06T07:08:09.000Z",
        "externalId": "77", "doIndex": False, "leads": 2, "sales": 0,
    }  # fmt: skip
    root = {"id": "link_2", "domain": "go.localhost", "key": "_root", "url": SHOP}
    old = {**root, "id": "link_3", "key": "old", "archived": True, "disabledAt": "2025-05-06T07:08:09.000Z"}
    pages = {"": [link], "link_1": [root, old], "link_3": []}
    folders = {"1": [{"id": "fold_1", "name": "Spring"}], "2": []}
    answers: dict[str, Answer] = {
        "/links": lambda parameters: pages[parameters.get("startingAfter", "")],
        "/folders": lambda parameters: folders[parameters["page"]],
    }
    return Service(answers=answers)


def kutt() -> Service:
    """A link with a password, and one that was banned."""
    link = {
        "id": "8e0d5e0c", "address": "x", "banned": False, "created_at": "2024-01-02T03:04:05.000Z", "password": True,
        "description": "note", "expire_in": "2030-01-01T00:00:00.000Z", "target": SHOP, "visit_count": 7,
        "domain": "go.localhost",
    }  # fmt: skip
    banned = {**link, "id": "9", "address": "y", "banned": True, "password": False}

    def links(parameters: Parameters) -> Any:
        return {"total": 2, "data": [link, banned][int(parameters["skip"]) :]}

    return Service(answers={"/api/v2/links": links}, auth="X-API-KEY")


def rebrandly() -> Service:
    """Two pages of one link each."""

    def link(number: int) -> Any:
        return {
            "id": f"a{number}", "title": "T", "slashtag": f"x{number}", "destination": SHOP, "description": "note",
            "status": "active" if number == 1 else "inactive",
            "createdAt": "2021-02-03T04:05:06.000Z", "tags": [{"id": "t1", "name": "mail", "color": "b6e0ff"}],
            "clicks": 3, "domainName": "go.localhost",
        }  # fmt: skip

    pages = {"": [link(1)], "a1": [link(2)], "a2": []}
    return Service(answers={"/links": lambda parameters: pages[parameters.get("last", "")]}, auth="apikey")


def short_io() -> Service:
    """A link with UTM parameters, rules and an unknown password, and one with a password, on the second page."""
    link = {
        "idString": "lnk_1", "originalURL": f"{SHOP}?a=1", "path": "a/b", "title": "T", "tags": ["x"],
        "createdAt": 1610000000000, "archived": True, "cloaking": True, "hasPassword": True,
        "expiresAt": 1893456000000, "expiredURL": f"{SHOP}/over", "clicksLimit": 10,
        "iphoneURL": "https://apps.apple.com/x", "utmSource": "mail", "splitURL": f"{SHOP}/b", "splitPercent": 50,
        "DomainId": 1, "FolderId": "f1", "redirectType": "301",
    }  # fmt: skip
    open_link = {"idString": "lnk_2", "originalURL": SHOP, "path": "b/c", "hasPassword": True, "password": "open"}
    pages = {"": {"links": [], "nextPageToken": "p2"}, "p2": {"links": [link, open_link]}}
    answers: dict[str, Answer] = {
        "/api/domains": lambda _: [{"id": 1, "hostname": "go.localhost"}],
        "/links/folders/1": lambda _: {"linkFolders": [{"id": "f1", "name": "Summer"}]},
        "/api/links": lambda parameters: pages[parameters.get("pageToken", "")],
    }
    return Service(answers=answers)


def shlink() -> Service:
    """A link with rules and three visits, one of them by a bot."""
    link = {
        "shortCode": "docs/a", "longUrl": SHOP, "dateCreated": "2023-05-06T07:08:09+02:00", "domain": "go.localhost",
        "visitsSummary": {"total": 12, "nonBots": 11, "bots": 1}, "tags": ["foo", "bar"], "title": "A",
        "meta": {"validSince": "2023-06-01T00:00:00+02:00", "validUntil": "2030-01-01T00:00:00Z", "maxVisits": 100},
        "forwardQuery": True, "hasRedirectRules": True,
    }  # fmt: skip
    rules = [
        {"longUrl": "https://m.example.com", "conditions": [{"type": "device", "matchValue": "android"}]},
        {"longUrl": "https://de.example.com", "conditions": [{"type": "language", "matchValue": "de"}]},
        {
            "longUrl": "https://fr.example.com",
            "conditions": [{"type": "geolocation-country-code", "matchValue": "FR"}],
        },
        {"longUrl": "https://ip.example.com", "conditions": [{"type": "ip-address", "matchValue": "1.2.3.4"}]},
    ]

    def visit(date: str, agent: str) -> Any:
        place = {"countryCode": "DE", "countryName": "Germany"}
        return {"referer": "https://t.co/x", "date": date, "userAgent": agent, "visitLocation": place}

    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    visits = [visit("2023-05-08T10:00:00+00:00", firefox), visit("2023-05-07T10:01:00+00:00", firefox)]
    visits.append(visit("2023-05-07T10:00:00+00:00", "Googlebot/2.1 (+http://www.google.com/bot.html)"))
    path = "/rest/v3/short-urls"
    answers: dict[str, Answer] = {
        path: lambda _: {"shortUrls": {"data": [link], "pagination": {"currentPage": 1, "pagesCount": 1}}},
        f"{path}/docs%2Fa/redirect-rules": lambda _: {"redirectRules": rules},
        f"{path}/docs%2Fa/visits": lambda _: {"visits": {"data": visits, "pagination": {"pagesCount": 1}}},
    }
    return Service(answers=answers, auth="X-Api-Key")


def chhoto() -> Service:
    """Two links in pages of one; an old server would send both at once."""

    def link(name: str) -> Any:
        expiry = 0 if name == "a" else 1_893_456_000
        return {"shortlink": name, "longlink": SHOP, "hits": 3, "expiry_time": expiry, "notes": "n"}

    pages = {"": [link("a")], "a": [link("b")], "b": []}
    return Service(answers={"/api/all": lambda parameters: pages[parameters.get("page_after", "")]}, auth="X-API-Key")


def yourls(*, with_plugin: bool) -> Service:
    """A link; with Shlink's plugin also its visit."""
    core = {"shorturl": "https://go.localhost/a", "url": SHOP, "title": "T", "timestamp": "2012-03-04 05:06:07"}

    def answer(parameters: Parameters) -> Any:
        action = parameters["action"]
        if action == "stats":
            return {"links": {"link_1": {**core, "clicks": "42"}}, "stats": {"total_links": "1"}}
        if not with_plugin:
            return None
        if action == "shlink-list":
            link = {"keyword": "a", "url": SHOP, "title": "T", "timestamp": "2012-03-04 05:06:07", "clicks": "42"}
            return {"result": [link]}
        visit = {
            "click_time": "2012-03-05 00:10:00",
            "referrer": "direct",
            "user_agent": "curl/8",
            "country_code": "DE",
        }
        return {"result": [visit]}

    return Service(answers={"/yourls-api.php": answer})
