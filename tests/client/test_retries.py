"""Retries, errors that are not repeated, and the API key, which appears nowhere."""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from waypost_client import ApiError, Waypost, WaypostError
from waypost_client.errors import (
    BulkInterruptedError,
    ConnectionLostError,
    InvalidError,
    RateLimitedError,
    UnexpectedResponseError,
)
from waypost_client.pages import PAGE_SIZE
from waypost_client.retry import Retry

_KEY = "wp_secret_of_ana"
_URL = "https://go.example.com"


def _client(respond: Callable[[httpx.Request], httpx.Response], retries: int = 3) -> Waypost:
    return Waypost(_URL, _KEY, transport=httpx.MockTransport(respond), retry=Retry(retries=retries))


def _failure(status: int, code: str, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"error": 1, "message": "No.", "code": code, "field": None}, headers=headers)


def _answering(*responses: httpx.Response | Exception) -> tuple[list[httpx.Request], Waypost]:
    """Return the requests that are received, and a client that gets these responses."""
    requests: list[httpx.Request] = []
    rest: Iterator[httpx.Response | Exception] = iter(responses)

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        response = next(rest)
        if isinstance(response, Exception):
            raise response
        return response

    return requests, _client(respond)


_SOON = {"Retry-After": "0"}
_CREATED = httpx.Response(200, json={"error": 0, "id": 7, "shorturl": f"{_URL}/x"})


@pytest.mark.parametrize(
    "failure",
    [
        _failure(429, "rate_limited", **_SOON),
        _failure(503, "unavailable", **_SOON),
        _failure(409, "request_running", **_SOON),
        httpx.Response(502, text="<html>Bad gateway</html>", headers=_SOON),
        httpx.Response(504, text="", headers=_SOON),
        httpx.ConnectError("refused"),
        httpx.RemoteProtocolError("Server disconnected without sending a response."),
    ],
    ids=lambda failure: str(getattr(failure, "status_code", type(failure).__name__)),
)
def test_temporary_failure_is_repeated_with_the_same_idempotency_key(failure: httpx.Response | Exception) -> None:
    requests, client = _answering(failure, failure, _CREATED)
    with client:
        assert client.create_link(url="https://example.com/").id == 7
    keys = [request.headers["Idempotency-Key"] for request in requests]
    assert (len(keys), len(set(keys))) == (3, 1)
    assert len({request.content for request in requests}) == 1


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (_failure(400, "invalid"), InvalidError),
        (_failure(429, "rate_limited", **{"Retry-After": "3600"}), RateLimitedError),
        (_failure(500, "a_future_code"), ApiError),
        (httpx.Response(200, text="<html>"), UnexpectedResponseError),
        (httpx.Response(301, headers={"Location": "https://other.example/"}), UnexpectedResponseError),
    ],
)
def test_other_failure_is_raised_at_once(failure: httpx.Response, kind: type[WaypostError]) -> None:
    requests, client = _answering(failure)
    with client, pytest.raises(kind):
        client.create_link(url="https://example.com/")
    assert len(requests) == 1


def test_each_write_has_its_own_idempotency_key() -> None:
    requests, client = _answering(_CREATED, _CREATED)
    with client:
        client.create_link(url="https://example.com/")
        client.create_link(url="https://example.com/")
    assert requests[0].headers["Idempotency-Key"] != requests[1].headers["Idempotency-Key"]


def test_last_failure_is_raised_after_all_retries() -> None:
    requests, client = _answering(*[_failure(503, "unavailable", **_SOON)] * 4)
    with client, pytest.raises(ApiError) as raised:
        client.read_account()
    assert (len(requests), raised.value.code, raised.value.retry_after) == (4, "unavailable", 0.0)


def test_api_key_appears_in_no_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    failures: list[httpx.Response | Exception] = [
        httpx.Response(403, json={"error": 1, "message": f"{_KEY} is read-only.", "code": "read_only_key"}),
        httpx.ConnectError(f"no route with {_KEY}"),
    ]
    for failure in failures:
        _, client = _answering(failure)
        with client, pytest.raises(WaypostError) as raised:
            Waypost.read_account(_client_without_retries(client))
        assert _KEY not in f"{raised.value!r} {raised.value} {raised.value.__cause__!r} {raised.value.__context__!r}"
        assert _KEY not in f"{client!r} {vars(client)!r}"
    assert _KEY not in caplog.text
    for key in ("", f"{_KEY}\n", "with space"):
        with pytest.raises(ValueError, match="key must be an API key") as error:
            Waypost(_URL, key)
        assert _KEY not in str(error.value)


def _client_without_retries(client: Waypost) -> Waypost:
    client._transport._retry = Retry(retries=0)
    return client


@pytest.mark.parametrize("url", ["go.example.com", "ftp://go.example.com", "https://u:p@go.example.com", f"{_URL}?a=b"])
def test_url_that_is_not_a_service_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"url must"):
        Waypost(url, _KEY)


def test_bulk_requests_have_at_most_1000_changes_and_keep_the_order() -> None:
    sizes: list[int] = []

    def respond(request: httpx.Request) -> httpx.Response:
        items = json.loads(request.content)["items"]
        sizes.append(len(items))
        if len(sizes) == 4:
            return _failure(500, "internal")
        results = [{"status": 200, "error": 0, "id": item["id"]} for item in items]
        return httpx.Response(200, json={"error": 0, "results": results})

    with _client(respond) as client:
        done = client.delete_in_bulk("url", range(2500))
        assert ([result.id for result in done], sizes) == (list(range(2500)), [1000, 1000, 500])
        with pytest.raises(ApiError):  # the first request of the next call fails
            client.delete_in_bulk("url", range(10))
        sizes[:] = [0, 0]
        with pytest.raises(BulkInterruptedError) as raised:
            client.delete_in_bulk("url", range(1500))
        assert len(raised.value.results) == 1000


def test_pages_miss_and_repeat_nothing_while_items_come_and_go() -> None:
    stored = list(range(1, 1001))  # newest last

    def respond(request: httpx.Request) -> httpx.Response:
        limit, page = int(request.url.params["limit"]), int(request.url.params["page"])
        newest_first = stored[::-1]
        items = newest_first[(page - 1) * limit : page * limit]
        pages = -(-len(stored) // limit)
        answer: dict[str, Any] = {"result": len(stored), "perpage": limit, "currentpage": page, "maxpage": pages}
        answer |= {"nextpage": page + 1 if page < pages else None, "urls": [{"id": item} for item in items]}
        return httpx.Response(200, json={"error": 0, "data": answer})

    seen = []
    with _client(respond) as client:
        for link in client.links():
            seen.append(link.id)
            if link.id % 3 == 0:
                stored.remove(link.id)  # a program that deletes the items that it reads
            if link.id == 700:
                stored.append(2000)
    assert len(seen) == len(set(seen))
    assert set(range(1, 1001)) - set(seen) == set()
    assert PAGE_SIZE < 1000


def test_unknown_and_absent_fields_are_tolerated() -> None:
    _, client = _answering(httpx.Response(200, json={"error": 0, "details": {"id": 7, "future": [1]}, "extra": {}}))
    with client:
        answer = client.read_link(7)
    assert (answer.details.id, answer.details.title, answer.details.raw["future"]) == (7, "", [1])
    with pytest.raises(AttributeError):
        answer.details.id = 8  # type: ignore[misc]


def test_lost_connection_names_the_request() -> None:
    _, client = _answering(httpx.ReadTimeout(""))
    with client, pytest.raises(ConnectionLostError, match=r"GET /account failed: ReadTimeout"):
        _client_without_retries(client).read_account()
