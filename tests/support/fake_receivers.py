"""Receivers of chats and analytics that accept a request only if it is as their documentation says."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from tests.support.webhooks import Received

Check = Callable[[str, Mapping[str, str], Any], None]
"""Raises AssertionError on the target, the headers or the JSON of a request."""


def slack(_target: str, _headers: Mapping[str, str], body: Any) -> None:
    """Incoming webhooks: `text`, in which `<` and `>` enclose links, and `&` begins one of three entities."""
    assert body.keys() == {"text"}
    text = re.sub(r"<https?://[^|<>]+\|[^<>]*>", "", body["text"])
    assert 0 < len(body["text"]) <= 40_000
    assert not re.search(r"[<>]|&(?!(amp|lt|gt);)", text)


def discord(_target: str, _headers: Mapping[str, str], body: Any) -> None:
    """Execute Webhook: 1 to 2,000 characters; without allowed mentions, no person is notified."""
    assert body.keys() == {"content", "allowed_mentions"}
    assert 1 <= len(body["content"]) <= 2000
    assert body["allowed_mentions"] == {"parse": []}


def matomo(target: str, _headers: Mapping[str, str], body: Any) -> None:
    """Bulk tracking: queries with `idsite` and `rec=1`; a time in the past needs `token_auth` of 32 characters."""
    assert urlsplit(target).path == "/matomo.php"
    assert body.keys() == {"requests", "token_auth"}
    assert len(body["token_auth"]) == 32
    assert body["requests"]
    for query in body["requests"]:
        assert query.startswith("?")
        parameters = dict(parse_qsl(query[1:], strict_parsing=True))
        assert (parameters["idsite"].isdigit(), parameters["rec"], parameters["apiv"]) == (True, "1", "1")
        assert re.fullmatch(r"[0-9a-f]{16}", parameters["_id"])
        assert parameters["cdt"].isdigit()
        assert parameters["url"].startswith("http")


def plausible(target: str, headers: Mapping[str, str], body: Any) -> None:
    """Events: one event, with the browser and an address in headers."""
    assert urlsplit(target).path == "/api/event"
    assert body.keys() <= {"name", "url", "domain", "referrer", "props"}
    assert 0 < len(body["name"]) <= 120
    assert body["url"].startswith("http")
    assert len(body["url"].encode()) <= 2000
    assert re.fullmatch(r"[a-z0-9.-]+", body["domain"])
    assert len(body["props"]) <= 30
    assert all(isinstance(value, str) and len(value) <= 2000 for value in body["props"].values())
    assert headers["user-agent"].startswith("Mozilla/5.0 ")
    assert headers["x-forwarded-for"].startswith("2001:db8:")


def ga4(target: str, _headers: Mapping[str, str], body: Any) -> None:
    """Measurement Protocol: up to 25 events with up to 25 parameters, of limited lengths."""
    query = parse_qs(urlsplit(target).query, strict_parsing=True)
    assert query.keys() == {"measurement_id", "api_secret"}
    assert re.fullmatch(r"G-[A-Z0-9]+", query["measurement_id"][0])
    assert body.keys() == {"client_id", "events"}
    assert re.fullmatch(r"\d+\.\d+", body["client_id"])
    assert 1 <= len(body["events"]) <= 25
    limits = {"page_location": 1000, "page_title": 300, "page_referrer": 420}
    for event in body["events"]:
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,39}", event["name"])
        assert len(str(event["timestamp_micros"])) == 16
        assert len(event["params"]) <= 25
        for name, value in event["params"].items():
            assert len(name) <= 40
            assert len(str(value)) <= limits.get(name, 100)


CHECKS: Mapping[str, Check] = {
    "slack": slack,
    "discord": discord,
    "matomo": matomo,
    "plausible": plausible,
    "ga4": ga4,
}


def accepted(name: str, request: Received) -> Any:
    """Return the JSON of a request that a receiver accepts."""
    assert request.headers["content-type"] == "application/json"
    assert not request.headers.keys() & {"webhook-id", "webhook-signature", "webhook-timestamp"}
    assert len(request.body.encode()) < 130_000
    body = json.loads(request.body)
    CHECKS[name](request.target, request.headers, body)
    return body
