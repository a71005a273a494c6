"""One call of the API: its request, and the checks of its response. No input or output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote
from uuid import uuid4

import httpx

from waypost_client.errors import ApiError, NotFoundError, UnexpectedResponseError, error_class

Segments = tuple[str | int, ...]
_MAX_MESSAGE = 500  # characters of a response that is not JSON


@dataclass(frozen=True)
class Call:
    """A request. `content` returns the body for one attempt; a write gets an Idempotency-Key of its own."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content: Callable[[], Any] | None = None
    is_repeatable: bool = True
    visit: tuple[str, str | None] | None = None
    """The short URL and password of a visit, which gets no API key; None for the API."""
    idempotency_key: str = field(default_factory=lambda: str(uuid4()))

    def request_headers(self, key: str) -> dict[str, str]:
        """Return the headers of the request."""
        if self.visit is not None:
            return dict(self.headers)
        repeatable = {} if self.method == "GET" else {"Idempotency-Key": self.idempotency_key}
        return {"Authorization": f"Bearer {key}", "Accept": "application/json", **repeatable, **self.headers}

    def options(self, base: str, key: str) -> dict[str, Any]:
        """Return the arguments of httpx's `stream` without the content."""
        headers = self.request_headers(key)
        if self.visit is not None:
            url, password = self.visit
            login = ("", password) if password is not None else None
            return {"method": self.method, "url": url, "headers": headers, "auth": login, "follow_redirects": True}
        if self.body is not None:
            headers["Content-Type"] = "application/json"
        query = {name: value for name, value in self.query.items() if value is not None}
        return {"method": self.method, "url": f"{base}/api{self.path}", "params": query, "headers": headers}

    def payload(self) -> Any:
        """Return the body of one attempt."""
        if self.content is not None:
            return self.content()
        return None if self.body is None else json.dumps(self.body, ensure_ascii=False).encode()


def path_of(segments: Segments) -> str:
    """Return the path of segments, each percent-encoded."""
    return "".join(f"/{quote(str(segment), safe='')}" for segment in segments)


def check_base_url(url: str) -> str:
    """Return the URL of the service without a final slash. Raises ValueError."""
    parts = httpx.URL(url)
    if parts.scheme not in ("http", "https") or not parts.host:
        raise ValueError("url must be that of the service, such as https://go.example.com.")
    if parts.userinfo or parts.query or parts.fragment:
        raise ValueError("url must not have a user name, a query or a fragment.")
    return str(parts).rstrip("/").removesuffix("/api")


def check_key(key: str) -> str:
    """Return the API key. Raises ValueError, without the key."""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("key must be an API key: printable ASCII characters without spaces.")
    return key


def check_fields(operation: str, sent: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the optional fields of a body. Raises TypeError for a misspelled one, which the server would ignore."""
    for name in sent:
        if name not in known:
            raise TypeError(f"{operation}() got an unexpected field {name!r}")
    return dict(sent)


def json_object(response: httpx.Response) -> Mapping[str, Any]:
    """Return the JSON object of a successful response. Raises ApiError or UnexpectedResponseError."""
    data = _json(response)
    if data is None:
        kind = response.headers.get("content-type", "no type")
        raise UnexpectedResponseError(f"The response to {_name(response)} is not a JSON object but {kind}.")
    if data.get("error"):  # with status 200: no link has the short URL of the query
        raise NotFoundError(
            str(data.get("message", "")), code="not_found", status=404, request_id=_request_id(response)
        )
    return data


def part_of(data: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """Return the object in a field of the response, or the response itself for an empty name."""
    value: Any = data[part] if part and part in data else data
    if not isinstance(value, Mapping):
        raise UnexpectedResponseError(f"{part} of the response is not an object.")
    return cast("Mapping[str, Any]", value)


def error_of(response: httpx.Response, key: str) -> ApiError | UnexpectedResponseError | None:
    """Return the error of a response that was read; None for a success. Its message never contains the API key."""
    if response.is_success:
        return None
    if response.is_redirect:
        location = response.headers.get("location", "")
        return UnexpectedResponseError(f"{_name(response)} redirects to {location}. Use that address as url.")
    data = _json(response) or {}
    code = str(data.get("code") or f"http_{response.status_code}")
    message = str(data.get("message") or f"{_name(response)} failed: {response.status_code} {response.reason_phrase}.")
    sent_field = data.get("field")
    return error_class(code, response.status_code)(
        message[:_MAX_MESSAGE].replace(key, "***") if key else message[:_MAX_MESSAGE],
        code=code,
        status=response.status_code,
        field=None if sent_field is None else str(sent_field),
        request_id=_request_id(response),
        retry_after=_seconds(response.headers.get("retry-after", "")),
    )


def _json(response: httpx.Response) -> Mapping[str, Any] | None:
    try:
        data: Any = response.json()
    except ValueError:
        return None
    return cast("Mapping[str, Any]", data) if isinstance(data, dict) else None


def _name(response: httpx.Response) -> str:
    return f"{response.request.method} {response.request.url.copy_with(query=None)}"


def _request_id(response: httpx.Response) -> str:
    return str(response.headers.get("x-request-id", ""))


def _seconds(text: str) -> float | None:
    """Return the seconds of a Retry-After; None without one, or for a date, which waypost never sends."""
    return float(text) if text.isdecimal() else None
