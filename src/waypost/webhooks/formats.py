"""Formats of messages: that of Standard Webhooks, texts for chats, and visits for analytics.

A message is stored as in Standard Webhooks, and written in the format of its endpoint when it is sent: always as one
request, so an answer says whether all of it has arrived.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args
from urllib.parse import urlencode, urlsplit, urlunsplit

from waypost.core.languages import SOURCE_LANGUAGE
from waypost.webhooks import catalog, sentences

Name = Literal["standard", "slack", "discord", "matomo", "plausible", "ga4"]
NAMES: Sequence[Name] = get_args(Name)
STANDARD: Name = "standard"
MAX_VISITS = 100
"""Visits of one message."""
_MAX_SLACK, _MAX_DISCORD = 3000, 2000
"""Characters of a text; Slack cuts at 40,000."""
_MAX_URL = 1000
"""Characters of a URL that GA4 takes; Plausible takes 2,000 bytes."""
_MAX_TITLE, _MAX_REFERRER, _MAX_VALUE = 300, 420, 100
"""Characters of other values that GA4 takes."""


@dataclass(frozen=True)
class Target:
    """Where messages of an endpoint go, in the language of its account. `site` and `credential` can be ""."""

    url: str
    format: Name = STANDARD
    site: str = ""
    credential: str = ""
    language: str = SOURCE_LANGUAGE


@dataclass(frozen=True)
class Request:
    """A request to send: JSON, and the headers and the user agent that the receiver needs."""

    url: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    agent: str = "waypost"


_Write = Callable[[Target, str, Any, str], Request]
"""Returns the request of a message from its target, `webhook-id`, payload, and the URL of the installation."""


@dataclass(frozen=True)
class Format:
    """A format. `fields`: those that an endpoint needs. `max_visits`: of one message, as many as one request takes."""

    label: str
    write: _Write
    fields: Sequence[Literal["site", "credential"]] = ()
    max_visits: int = MAX_VISITS
    is_analytics: bool = False


def request(target: Target, uid: str, body: str, base: str) -> Request:
    """Return the request for a stored message. `base` is the URL of the installation's dashboard."""
    if target.format == STANDARD:
        return Request(target.url, body.encode())
    return FORMATS[target.format].write(target, uid, json.loads(body), base)


def _standard(target: Target, _uid: str, payload: Any, _base: str) -> Request:
    return Request(target.url, _json(payload))


def _slack(target: Target, _uid: str, payload: Any, base: str) -> Request:
    lines = sentences.lines(payload, target.language, base, _slack_link)
    return Request(target.url, _json({"text": sentences.joined(lines, _MAX_SLACK)}))


def _slack_link(text: str, url: str) -> str:
    """Return a link in mrkdwn, in which three characters are escaped."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<{url.replace('|', '%7C').replace('>', '%3E')}|{safe}>" if url else safe


def _discord(target: Target, _uid: str, payload: Any, base: str) -> Request:
    lines = sentences.lines(payload, target.language, base, _discord_link)
    content = {"content": sentences.joined(lines, _MAX_DISCORD), "allowed_mentions": {"parse": []}}
    return Request(target.url, _json(content))


def _discord_link(text: str, url: str) -> str:
    """Return a link in Markdown without a preview."""
    safe = "".join(f"\\{c}" if c in "\\*_~|`[]()<>#@-" else c for c in text)
    return f"[{safe}](<{url.replace('>', '%3E')}>)" if url else safe


def _matomo(target: Target, uid: str, payload: Any, base: str) -> Request:
    requests = []
    for index, visit in enumerate(_visits(payload, base)):
        parameters = {
            "idsite": target.site,
            "rec": "1",
            "apiv": "1",
            "url": visit["url"],
            "action_name": visit["label"],
            "_id": _digest(uid, index)[:16],
            "cdt": str(_second(visit)),
            "urlref": _referrer(visit),
            "lang": visit.get("language", ""),
            "download": visit["url"] if payload["type"] == "file.downloaded" else "",
        }
        requests.append("?" + urlencode({name: value for name, value in parameters.items() if value}))
    return Request(target.url, _json({"requests": requests, "token_auth": target.credential}))


def _plausible(target: Target, uid: str, payload: Any, base: str) -> Request:
    (visit,) = _visits(payload, base)
    properties = {name: visit[name] for name in ("country", "source", "device") if visit.get(name)}
    event = {"name": "pageview", "url": visit["url"], "domain": target.site, "props": properties}
    if referrer := _referrer(visit):
        event["referrer"] = referrer
    system, device, browser = (visit.get(name) or "Unknown" for name in ("os", "device", "browser"))
    agent = f"Mozilla/5.0 ({system}; {device}) {browser}"
    digest = _digest(uid, 0)
    # An address for documentation, RFC 3849: no person has it, and each visit counts as a visitor.
    address = "2001:db8:" + ":".join(digest[start : start + 4] for start in range(0, 24, 4))
    return Request(target.url, _json(event), {"X-Forwarded-For": address}, agent.encode("ascii", "replace").decode())


def _ga4(target: Target, uid: str, payload: Any, base: str) -> Request:
    digest, name = int(_digest(uid, 0)[:16], 16), payload["type"].replace(".", "_")
    events = [
        {
            "name": name,
            "timestamp_micros": _second(visit) * 1_000_000,
            "params": {
                "page_location": visit["url"][:_MAX_URL],
                "page_title": visit["label"][:_MAX_TITLE],
                "page_referrer": _referrer(visit)[:_MAX_REFERRER],
                "visitor_country": visit.get("country", "")[:_MAX_VALUE],
                "visit_source": visit.get("source", "")[:_MAX_VALUE],
                "engagement_time_msec": 1,
                "session_id": str(digest % 10**10),
            },
        }
        for visit in _visits(payload, base)
    ]
    parts = urlsplit(target.url)
    query = "&".join(
        filter(None, [parts.query, urlencode({"measurement_id": target.site, "api_secret": target.credential})])
    )
    client = f"{digest % 10**10}.{digest // 10**10 % 10**10}"
    return Request(urlunsplit(parts._replace(query=query)), _json({"client_id": client, "events": events}))


FORMATS: Mapping[str, Format] = {
    "standard": Format("Standard Webhooks", _standard),
    "slack": Format("Slack", _slack),
    "discord": Format("Discord", _discord),
    "matomo": Format("Matomo", _matomo, ("site", "credential"), is_analytics=True),
    "plausible": Format("Plausible", _plausible, ("site",), 1, is_analytics=True),
    "ga4": Format("Google Analytics", _ga4, ("site", "credential"), 25, is_analytics=True),
}
"""The formats by their names. Those of analytics take visits only."""


def max_visits(name: Name) -> int:
    """Return how many visits a message in a format has at most."""
    return FORMATS[name].max_visits


def parts(name: Name, body: str) -> Sequence[str]:
    """Return a stored message as one or several, each with as many visits as a request in its format takes."""
    size = max_visits(name)
    if size == MAX_VISITS:
        return [body]
    payload = json.loads(body)
    visits = payload["data"].get("visits", ())
    if len(visits) <= size:
        return [body]
    starts = range(0, len(visits), size)
    return [
        json.dumps({**payload, "data": {**payload["data"], "visits": visits[start : start + size]}}, ensure_ascii=False)
        for start in starts
    ]


def _visits(payload: Any, base: str) -> Sequence[Mapping[str, Any]]:
    """Return the visits of a message; a deleted item has the URL of the installation. A test is one visit of it."""
    of_installation = {"url": f"{base}/", "label": ""}
    if payload["type"] == catalog.TEST:
        return [{**of_installation, "label": catalog.TEST, "time": payload["timestamp"]}]
    return [{**of_installation, **visit} for visit in payload["data"]["visits"]]


def _second(visit: Mapping[str, Any]) -> int:
    return int(datetime.fromisoformat(visit["time"]).timestamp())


def _referrer(visit: Mapping[str, Any]) -> str:
    """Return the URL of the host that a visit is from; "" if it is not known."""
    host = str(visit.get("referrer", ""))
    return f"https://{host}/" if "." in host and " " not in host else ""


def _digest(uid: str, index: int) -> str:
    """Return a number in hexadecimal that is the same for every attempt to send a visit."""
    return hashlib.sha256(f"{uid}:{index}".encode()).hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
