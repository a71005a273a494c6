"""Request bodies: JSON, invalid JSON, empty and oversized (decisions 3 and 4)."""

import gzip
import json
import threading
import zlib
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
import pytest
from structlog.testing import capture_logs

from tests.conftest import BASE, Person
from tests.support.assertions import refused
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
MIB = 1024 * 1024
MOST = 8 * MIB
NAMED = b'{"name": "%s"}'


def _post(person: Person, body: bytes, path: str = "/channel/add", **headers: str) -> Any:
    return person.call("POST", path, content=body, headers=headers)


def _names(person: Person) -> list[str]:
    return [channel["name"] for channel in person.get("/channels", limit=1000)["data"]["channels"]]


def test_body_is_json_regardless_of_content_type(ana: Person) -> None:
    types = (
        "application/json",
        "application/json; charset=utf-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; charset=latin-1",
        "application/octet-stream",
        "no type at all",
        "",
    )
    for number, name in enumerate(types):
        assert _post(ana, NAMED % b"Caf\xc3\xa9 %d" % number, **{"Content-Type": name}).status_code == 200, name
    assert _post(ana, NAMED % b"untold").status_code == 200
    assert set(_names(ana)) == {*(f"Café {number}" for number in range(len(types))), "untold"}


def test_valid_json_is_accepted(ana: Person) -> None:
    for name, body in (
        ("a byte order mark", b"\xef\xbb\xbf" + NAMED % b"bom"),
        ("blanks around", b"\r\n\t " + NAMED % b"blanks" + b" \n"),
        ("escapes", rb'{"n\u0061me": "\u00fc\ud83e\udd8a\/"}'),
        ("words that JavaScript knows", NAMED % b"__proto__"),
        ("a number beyond all floats, in an unknown field", b'{"name": "big", "other": 1e400}'),
        ("half a surrogate pair in an unknown field", rb'{"name": "half", "\ud800": "\udfff"}'),
        ("deep, in an unknown field", b'{"name": "deep", "other": ' + b"[" * 500 + b"]" * 500 + b"}"),
        ("just within the limit", NAMED % b"large" + b" " * (MOST - len(NAMED % b"large"))),
    ):
        assert _post(ana, body).status_code == 200, name
    assert set(_names(ana)) == {"bom", "blanks", "ü🦊/", "__proto__", "big", "half", "deep", "large"}


def test_empty_body_is_empty_object(ana: Person) -> None:
    for body in (b"", b" \n\t", b"{}"):
        assert _post(ana, body, "/campaign/add").status_code == 201, body
        assert "name is required" in refused(_post(ana, body), 400, "name")


NOT_JSON: tuple[tuple[str, bytes], ...] = (
    ("words", b"hello"),
    ("a form", b"name=A&color=%23000000"),
    ("cut off", b'{"name": "A"'),
    ("two values", b'{"name": "A"} {"name": "B"}'),
    ("a comma too many", b'{"name": "A",}'),
    ("single quotes", b"{'name': 'A'}"),
    ("a comment", b'{"name": "A"} // so'),
    ("NaN", b'{"name": "A", "other": NaN}'),
    ("Infinity", b'{"name": "A", "other": Infinity}'),
    ("-Infinity", b'{"name": "A", "other": [-Infinity]}'),
    ("10 to the 5000th", b'{"name": "A", "other": 1%s}' % (b"0" * 5000)),
    ("broken UTF-8", b'{"name": "\xff\xfe"}'),
    ("UTF-8 cut off", b'{"name": "\xe2\x82"}'),
    ("a surrogate in UTF-8", b'{"name": "\xed\xa0\x80"}'),
    ("UTF-16", '{"name": "A"}'.encode("utf-16")),
    ("latin-1", '{"name": "é"}'.encode("latin-1")),
    ("a byte order mark alone", b"\xef\xbb\xbf"),
    ("a bare control character", b'{"name": "A\x00"}'),
    ("a hundred thousand lists", b"[" * 100_000),
    ("a hundred thousand lists, closed", b'{"name": "A", "other": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    ("a hundred thousand objects", b'{"name":' * 100_000),
)
NO_OBJECT = (b"[]", b'["name"]', b"null", b"true", b"0", b'"name"', b'[{"name": "A"}]')


def test_invalid_json_object_is_rejected(ana: Person) -> None:
    for name, body in (*NOT_JSON, *((body.decode(), body) for body in NO_OBJECT)):
        response = _post(ana, body)
        assert response.status_code == 400, name
        assert response.json().keys() == {"error", "message", "code"}, name
        assert (response.json()["error"], response.json()["code"]) == (1, "invalid_json"), name
        assert response.json()["message"].startswith("The body "), name
        assert "sys." not in response.text, name
    assert _names(ana) == []


@pytest.mark.parametrize("type", ["multipart/form-data", "text/plain", "application/xml", "text/json"])
def test_refusal_of_a_body_that_is_no_json_names_its_type_and_the_right_one(ana: Person, type: str) -> None:
    response = _post(ana, b"name=A", **{"Content-Type": f"{type}; boundary=x"})
    message = f"The body must be JSON, not {type}. Send it with Content-Type: application/json."
    assert (response.status_code, response.json()["message"]) == (400, message)


def test_json_list_that_is_sent_as_a_form_is_called_a_list(ana: Person) -> None:
    response = _post(ana, b' [{"name": "A"}]', **{"Content-Type": "application/x-www-form-urlencoded"})
    message = "The body must be a JSON object, such as {}."
    assert (response.status_code, response.json()["message"]) == (400, message)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b'{"name": "A"}')),
        ("deflate", zlib.compress(b'{"name": "A"}')),
        ("br", b'\x0b\x06\x80{"name": "A"}\x03'),
    ],
    ids=["gzip", "deflate", "br"],
)
def test_compressed_body_is_rejected(coding: str, body: bytes, ana: Person) -> None:
    response = _post(ana, body, **{"Content-Encoding": coding, "Content-Type": "application/json"})
    assert (response.status_code, response.json()["field"]) == (400, "Content-Encoding")
    assert _names(ana) == []


def test_part_of_body_is_rejected(ana: Person) -> None:
    response = _post(ana, b'{"name": "A"}', **{"Content-Range": "bytes 0-12/40", "Content-Type": "application/json"})
    assert (response.status_code, response.json()["field"]) == (400, "Content-Range")
    assert _names(ana) == []


MANY = ",".join(f'"n{number}":0' for number in range(200_000))
TWICE: tuple[tuple[str, str, str], ...] = (
    ("a field", '{"name": "A", "name": "A"}', "name"),
    ("a field with another value", '{"name": "A", "color": "#000000", "name": "B"}', "name"),
    ("a field in other letters", r'{"name": "A", "n\u0061me": "B"}', "name"),
    ("an unknown field", '{"name": "A", "other": 1, "other": 1}', "other"),
    ("inside a field", '{"name": "A", "other": {"x": 1, "x": 1}}', "other"),
    ("deep inside a field", '{"name": "A", "other": [0, {"y": [{"x": 1, "z": 2, "x": 1}]}]}', "other"),
    ("half a surrogate pair", r'{"name": "A", "\ud800": 1, "\ud800": 1}', r"\ud800"),
    ("half a pair inside", r'{"name": "A", "\udc00": {"\ud800": 1, "\ud800": 1}}', r"\udc00"),
    ("the last of very many", f'{{"name": "A", {MANY}, "n199999": 0}}', "n199999"),
)


def test_duplicate_key_is_rejected(ana: Person) -> None:
    for name, body, field in TWICE:
        assert "occurs twice" in refused(_post(ana, body.encode()), 400, field), name
    assert _names(ana) == []


def test_unstorable_text_is_rejected(ana: Person) -> None:
    for escapes in (r"\ud800", r"A\udfff", r"\udc00\ud800", r"\u0000", r"A\u0000B"):
        for field in ("name", "description"):
            body = {"name": '"A"', "description": '""', field: f'"{escapes}"'}
            content = "{" + ", ".join(f'"{name}": {text}' for name, text in body.items()) + "}"
            refused(_post(ana, content.encode()), 400, field)
    for query in ("q", "short"):
        refused(ana.call("GET", f"/urls?{query}=A%00"), 400, query)
    assert _names(ana) == []


def test_nested_error_names_top_level_field(ana: Person) -> None:
    for path, body, field, where in (
        ("/url/add", {"geotarget": [{"location": "France"}]}, "geotarget", "geotarget[0].link is required"),
        ("/url/add", {"deeplink": {"apple": 5}}, "deeplink", "deeplink.apple must be a string"),
        ("/url/add", {"parameters": [{"name": "a"}, {"name": 5}]}, "parameters", "parameters[1].name must be a string"),
        ("/bio/add", {"name": "A", "blocks": [{"type": "link", "title": "T"}]}, "blocks", "url is required"),
        ("/overlay/add", {"name": "A", "type": "poll", "options": ["a", 5]}, "options", "options[1] must be a string"),
    ):
        content = json.dumps({"url": "https://example.com/", **body}).encode()
        assert where in refused(_post(ana, content, path), 400, field), body


class Sent:
    """A body in pieces of one MiB, without a length, that knows how much of it was taken."""

    def __init__(self, pieces: int, first: bytes = b"") -> None:
        self.pieces = pieces
        self.first = first
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for number in range(self.pieces):
            self.taken += 1
            yield self.first if number == 0 and self.first else b" " * MIB


def _stream(person: Person, body: Sent, key: str, **headers: str) -> httpx2.Response:
    async def send() -> httpx2.Response:
        transport = httpx2.ASGITransport(person.client.app)
        async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
            all_headers = {"Authorization": f"Bearer {key}", **headers}
            return await client.post("/api/channel/add", content=body, headers=all_headers)

    return anyio.run(send)


def test_oversized_body_is_rejected_early(ana: Person) -> None:
    for name, headers, taken in (
        ("it says so", {"Content-Length": str(MOST + 1)}, 0),
        ("it does not say so", {}, 9),
        ("it says less", {"Content-Length": "5"}, 9),
    ):
        body = Sent(100)
        response = _stream(ana, body, ana.key, **headers)
        assert body.taken == taken, name
        assert "8388608 bytes" in refused(response, 413), name
        assert response.json()["code"] == "too_large"
        assert response.headers["connection"] == "close"
    assert _names(ana) == []


@pytest.mark.parametrize("path", ["/channel/add", "/qr/add"])
def test_body_of_too_many_values_is_rejected(ana: Person, path: str) -> None:
    for body in (b'{"name": [' + b"1," * 250_000 + b"1]}", b'{"name": ' + b"[" * 250_001, b"{" * 250_001):
        assert "250000 values" in refused(_post(ana, body, path), 413)


def test_large_form_is_rejected(ana: Person) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert _post(ana, b"name=" + b"%" * (MIB - 5), **form).status_code == 400
    assert "1048576 bytes" in refused(_post(ana, b"name=" + b"%" * (MIB - 4), **form), 413)


def test_body_is_parsed_outside_the_event_loop(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    load = json.loads

    def record(text: str, **options: Any) -> Any:
        threads.append(threading.current_thread().name)
        return load(text, **options)

    with monkeypatch.context() as patches:
        patches.setattr(json, "loads", record)
        assert _post(ana, NAMED % b"large" + b" " * 100_000).status_code == 200
    assert threads == ["api 1"]


def test_chunked_body_is_read_up_to_limit(ana: Person) -> None:
    body = Sent(8, first=NAMED % b"pieces")
    assert _stream(ana, body, ana.key).status_code == 200
    assert body.taken == 8
    assert _names(ana) == ["pieces"]


def test_body_without_valid_key_is_not_read(ana: Person) -> None:
    for key, headers in (("", {}), ("wp_wrong", {}), ("", {"Content-Length": str(MOST + 1)})):
        body = Sent(100)
        response = _stream(ana, body, key, **headers)
        assert (response.status_code, body.taken) == (401, 0), (key, headers)


def test_interrupted_body_is_client_error(ana: Person) -> None:
    pieces = iter([{"type": "http.request", "body": NAMED[:5], "more_body": True}, {"type": "http.disconnect"}])
    messages: list[Any] = []

    async def receive() -> Any:
        return next(pieces)

    async def send(message: Any) -> None:
        messages.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/channel/add",
        "query_string": b"",
        "headers": [(b"host", b"go.localhost"), (b"authorization", ana.key.encode())],
    }
    with capture_logs() as logged:
        anyio.run(ana.client.app, scope, receive, send)
    assert messages[0]["status"] == 400
    assert [entry for entry in logged if entry["log_level"] == "error"] == []
    assert _names(ana) == []


@pytest.mark.parametrize("query", ["q=%ff", "limit=5&q=a%C3", "q=%ED%A0%80"])
def test_non_utf8_query_is_rejected(ana: Person, query: str) -> None:
    response = ana.call("GET", f"/urls?{query}")
    assert (response.status_code, response.json()["field"]) == (400, "q")
