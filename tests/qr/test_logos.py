"""Logos: from wherever they are, and nothing that is none (decision 34)."""

import struct
import zlib
from collections.abc import Iterable
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from tests.conftest import BASE, Person
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import PUBLIC, FakeInternet, moved, ok, server
from tests.support.files import new_file
from tests.support.qr_decoders import LOGO, data_url, new_code, png, refused
from waypost.core.errors import Problem
from waypost.items.qr.service import own_copy


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _bomb(side: int) -> bytes:
    """A PNG that says it is that large, in a few bytes."""
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    packed = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _of_kind(kind: str, mode: str = "RGB", color: tuple[int, ...] = (200, 0, 0)) -> bytes:
    out = BytesIO()
    Image.new(mode, (20, 20), color).save(out, kind)
    return out.getvalue()


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
WRONG: tuple[tuple[str, str, str], ...] = (
    ("svg", data_url(SVG, "image/svg+xml"), "must be a PNG or JPEG picture, not image/svg+xml"),
    ("svg that says it is png", data_url(SVG), "must be a PNG or JPEG picture"),
    ("gif", data_url(_of_kind("GIF"), "image/gif"), "must be a PNG or JPEG picture, not image/gif"),
    ("gif that says it is png", data_url(_of_kind("GIF")), "must be a PNG or JPEG picture"),
    ("webp", data_url(_of_kind("WEBP")), "must be a PNG or JPEG picture"),
    ("truncated png", data_url(png()[:-400]), "damaged or incomplete"),
    ("truncated jpeg", data_url(png(kind="JPEG")[:-400], "image/jpeg"), "damaged or incomplete"),
    ("bomb", data_url(_bomb(30_000)), "at most 4096 pixels a side"),
    ("smaller bomb", data_url(_bomb(10_000)), "at most 4096 pixels a side"),
    ("just too wide", data_url(_bomb(4097)), "at most 4096 pixels a side"),
    ("not what the header says", data_url(_bomb(4096)), "damaged or incomplete"),
    ("too many bytes", data_url(png() + bytes(2 * 1024 * 1024)), "at most 2097152 bytes"),
    ("nothing to see", data_url(_of_kind("PNG", "RGBA", (0, 0, 0, 0))), "fully transparent"),
    ("no base64", "data:image/png;base64,@@@", "valid Base64"),
    ("no data", "data:image/png", "whole data: URL"),
    ("empty", "data:,", "PNG or JPEG"),
    ("path", "/etc/passwd", "must be an http(s) URL"),
    ("relative path", "../../etc/passwd", "must be an http(s) URL"),
    ("windows path", "C:\\logo.png", "must be an http(s) URL"),
    ("file url", "file:///etc/passwd", "must be an http(s) URL"),
    ("ftp url", "ftp://example.com/logo.png", "must be an http(s) URL"),
    ("an alias that is nothing", "no-such-file", "logo"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "logo", "expected_message"), WRONG, ids=[row[0] for row in WRONG])
@ON_SQLITE
def test_invalid_logo_is_rejected(ana: Person, name: str, logo: str, expected_message: str) -> None:
    field, message = refused(ana, type="text", data="x", logo=logo)
    assert field == "logo"
    assert expected_message in message
    assert ana.get("/qr")["data"]["result"] == 0


def test_logo_with_lone_surrogate_is_rejected(ana: Person) -> None:
    response = ana.call("POST", "/qr/add", content=b'{"type": "text", "data": "x", "logo": "\\ud800"}')
    assert (response.status_code, response.json()["field"]) == (400, "logo")
    assert "valid Unicode" in response.json()["message"]


def test_logo_url_is_fetched_once_and_stored(ana: Person, internet: FakeInternet) -> None:
    requests = []

    def answer(head: bytes) -> Iterable[bytes]:
        requests.append(head)
        return [ok(png(300), b"Content-Type: text/plain")]

    with server(answer) as context:
        internet.add_host("logos.example", PUBLIC)
        internet.routes[PUBLIC] = context
        code, alias = new_code(ana, logo="http://logos.example/a.png")
    assert len(requests) == 1
    assert ana.details("qr", code)["logo"] is True
    first = ana.client.get(f"/qr/{alias}").content
    ana.update("qr", code, data="https://example.com/else")  # its server is gone by now
    assert ana.client.get(f"/qr/{alias}").content == first


def _endless(_head: bytes) -> Iterable[bytes]:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield bytes(65536)


FETCHES: tuple[tuple[str, Any, str], ...] = (
    ("endless body", _endless, "larger than 2097152 bytes"),
    ("redirect to a cloud's secrets", lambda _: [moved(b"http://169.254.169.254/latest")], "internal address"),
    ("redirect to us", lambda _: [moved(b"http://127.0.0.1:8000/api/account")], "internal address"),
    ("redirect to a file", lambda _: [moved(b"file:///etc/passwd")], "not begin with http"),
    ("not found", lambda _: [b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"], "answers 404"),
    ("not a picture", lambda _: [ok(b"<html>")], "must be a PNG or JPEG"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "respond", "expected_message"), FETCHES, ids=[row[0] for row in FETCHES])
@ON_SQLITE
def test_misbehaving_logo_server_is_rejected(
    ana: Person, internet: FakeInternet, name: str, respond: Any, expected_message: str
) -> None:
    with server(respond) as context:
        internet.add_host("evil.example", PUBLIC)
        internet.routes[PUBLIC] = context
        field, message = refused(ana, type="text", data="x", logo="http://evil.example/logo.png")
    assert field == "logo"
    assert expected_message in message
    assert set(internet.connections) <= {PUBLIC}


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "fd00::1", "0.0.0.0"])
@ON_SQLITE
def test_logo_from_internal_address_is_rejected(ana: Person, internet: FakeInternet, address: str) -> None:
    """Also not by DNS rebinding: a name is resolved once, and only the checked address is used."""
    internet.add_host("rebinding.example", PUBLIC, address)
    named = f"[{address}]" if ":" in address else address
    for url in ("http://rebinding.example/a.png", f"http://{named}/a.png"):
        field, message = refused(ana, type="text", data="x", logo=url)
        assert (field, "internal address" in message) == ("logo", True)
    assert internet.connections == []


def test_own_file_is_accepted_as_logo(ana: Person, ben: Person, internet: FakeInternet) -> None:
    picture = png(300)
    file = new_file(ana, "logo.png", picture, custom="our-logo", maxdownloads=1)
    _, alias = new_code(ana, "text", "x", logo=data_url(picture))
    response = ana.client.get(f"/qr/{alias}").content
    for logo in ("our-logo", f"{BASE}/our-logo", " our-logo "):
        _, alias = new_code(ana, "text", "x", logo=logo)
        assert ana.client.get(f"/qr/{alias}").content == response
    assert ana.details("file", file)["downloads"] == 0
    for logo in ("our-logo", f"{BASE}/our-logo"):
        assert refused(ben, type="text", data="x", logo=logo)[0] == "logo"
    ana.remove("file", file)
    assert refused(ana, type="text", data="x", logo="our-logo")[0] == "logo"
    assert internet.connections == []


def test_own_file_must_be_valid_logo(ana: Person) -> None:
    new_file(ana, "notes.txt", b"no picture", custom="notes")
    new_file(ana, "large.png", png() + bytes(2 * 1024 * 1024), custom="large")
    assert "PNG or JPEG" in refused(ana, type="text", data="x", logo="notes")[1]
    assert "at most 2097152 bytes" in refused(ana, type="text", data="x", logo="large")[1]


def test_logo_is_not_fetched_for_foreign_code(ana: Person, ben: Person, internet: FakeInternet) -> None:
    code, _ = new_code(ana)
    body = {"data": "https://example.com/", "logo": "http://logos.example/a.png"}
    assert ben.call("PUT", f"/qr/{code}/update", body).status_code == 404
    assert internet.connections == []


def test_stored_logo_is_reencoded_and_small() -> None:
    copy = own_copy(png(2000, height=1000))
    with Image.open(BytesIO(copy)) as image:
        assert (image.size, image.mode, image.info) == ((640, 320), "RGBA", {})
    with pytest.raises(Problem):
        own_copy(b"")


def test_logo_can_be_removed(ana: Person) -> None:
    code, alias = new_code(ana, logo=LOGO)
    with_logo = ana.client.get(f"/qr/{alias}").content
    ana.update("qr", code, data="https://example.com/page", logo=None)
    assert ana.client.get(f"/qr/{alias}").content != with_logo
