"""Unknown paths, wrong methods and cross-origin requests (decisions 2, 3 and 6)."""

import pytest

from tests.conftest import Person
from tests.support.assertions import refused
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
NOT_FOUND = {"error": 1, "message": "Unknown path. See /api/docs.", "code": "not_found"}


def test_wrong_method_returns_405_with_allow(ana: Person) -> None:
    for path, allowed in (
        ("/account", "GET, HEAD"),
        ("/account/update", "PUT"),
        ("/channels", "GET, HEAD"),
        ("/channel/1", "GET, HEAD"),
        ("/channel/add", "POST"),
        ("/channel/1/update", "PUT"),
        ("/channel/1/delete", "DELETE"),
        ("/channel/1/assign/links/1", "POST"),
        ("/openapi.json", "GET, HEAD"),
        ("/docs", "GET, HEAD"),
    ):
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"} - set(
            allowed.split(", ")
        ):
            response = ana.call(method, path)
            assert allowed in refused(response, 405), (method, path)
            assert response.headers["allow"] == allowed, (method, path)
            assert response.json()["code"] == "method_not_allowed"


def test_unknown_path_returns_standard_error(ana: Person) -> None:
    for path in ("", "/", "/nothing", "/account/", "//account", "/Account", "/account/update/more", "/channel/1/2"):
        for method in ("GET", "POST", "PATCH"):
            response = ana.call(method, path)
            assert (response.status_code, response.json()) == (404, NOT_FOUND), (method, path)
            assert response.headers["content-type"] == "application/json"
            anonymous = ana.client.request(method, f"/api{path}")
            assert (anonymous.status_code, anonymous.json()) == (404, NOT_FOUND), (method, path)


def test_head_equals_get_without_body(ana: Person) -> None:
    for path, status in (
        ("/account", 200),
        ("/channels", 200),
        ("/channel/999", 404),
        ("/nothing", 404),
        ("/docs", 200),
    ):
        response, head = ana.call("GET", path), ana.call("HEAD", path)
        assert (head.status_code, head.content) == (status, b""), path
        for name in ("content-type", "content-length", "x-ratelimit-limit"):
            assert head.headers[name] == response.headers[name], (path, name)
    assert refused(ana.call("GET", "/account/update"), 405) == "GET is not allowed here. Use PUT."
    assert ana.call("HEAD", "/account/update").headers["allow"] == "PUT"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/account"), ("PUT", "/account/update"), ("DELETE", "/channel/1/delete")]
)
def test_cors_preflight_allows_any_origin(ana: Person, method: str, path: str) -> None:
    asks = {
        "Origin": "https://elsewhere.example",
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    response = ana.client.options(f"/api{path}", headers=asks)
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == "*"
    assert method in response.headers["access-control-allow-methods"].split(", ")
    allowed = response.headers["access-control-allow-headers"].lower().replace(" ", "").split(",")
    assert {"authorization", "content-type"} <= set(allowed)
    assert "access-control-allow-credentials" not in response.headers


def test_cors_exposes_responses_and_rate_limit_headers(ana: Person) -> None:
    for path, status in (("/account", 200), ("/channel/999", 404), ("/nothing", 404), ("/account/update", 405)):
        response = ana.call("GET", path, headers={"Origin": "https://elsewhere.example"})
        assert response.status_code == status
        assert response.headers["access-control-allow-origin"] == "*"
        exposed = {name.strip().lower() for name in response.headers["access-control-expose-headers"].split(",")}
        assert exposed >= {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"}
    refusal = ana.client.get("/api/account", headers={"Origin": "https://elsewhere.example"})
    assert (refusal.status_code, refusal.headers["access-control-allow-origin"]) == (401, "*")
