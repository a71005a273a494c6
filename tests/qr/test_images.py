"""Pictures as visitors get them: formats, sizes, caching, and the lane."""

from io import BytesIO
from typing import Any

import pytest
from PIL import Image
from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.load import until
from tests.support.qr_decoders import LOGO, new_code, opened, zxing
from tests.support.server import at_once
from tests.support.visits import ACCEPT_JSON, new_link
from waypost.db.schema import links
from waypost.items.moderation import blocklist
from waypost.media.qrcode import render
from waypost.media.qrcode.render import Drawing, Format
from waypost.urls.blocklist import HOST
from waypost.visits import cache
from waypost.visits.cache import Cache, HotBody

TYPES = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}


def _starts(form: str) -> bytes:
    return {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF-1.4"}[form]


def test_image_format_by_extension_and_query(ana: Person) -> None:
    _, alias = new_code(ana)
    for form, media in TYPES.items():
        by_ending, by_query = ana.client.get(f"/qr/{alias}.{form}"), ana.client.get(f"/qr/{alias}?format={form}")
        assert by_ending.content == by_query.content
        assert by_ending.headers["content-type"] == media
        assert by_ending.content.startswith(_starts(form))
        assert zxing(by_ending.content) == f"{BASE}/{alias}"
        assert by_ending.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in by_ending.headers["content-security-policy"]
    assert ana.client.get(f"/qr/{alias}").content == ana.client.get(f"/qr/{alias}.png?size=512").content


def test_image_size_is_exact_and_limited(ana: Person) -> None:
    _, alias = new_code(ana)
    for size in (64, 333, 4096):
        assert opened(ana.client.get(f"/qr/{alias}?size={size}").content).size == (size, size)
    for wrong in ("63", "4097", "0", "-5", "1e3", "x", "", "512.5", "9" * 30, "٥١٢"):
        response = ana.client.get(f"/qr/{alias}", params={"size": wrong})
        assert (response.status_code, response.json()["field"]) == (400, "size"), wrong
    response = ana.client.get(f"/qr/{alias}?format=gif")
    assert (response.status_code, response.json()["field"]) == (400, "format")


def test_image_download_has_file_name(ana: Person) -> None:
    _, alias = new_code(ana)
    assert "content-disposition" not in ana.client.get(f"/qr/{alias}").headers
    header = ana.client.get(f"/qr/{alias}.svg?download=1").headers["content-disposition"]
    assert header == f'attachment; filename="{alias}.svg"'


def test_image_download_is_called_by_the_name_that_visitors_see(ana: Person) -> None:
    def name(path: str) -> str:
        return str(ana.client.get(f"/{path}?format=png&download=1").headers["content-disposition"])

    code = ana.add("qr", type="text", data="x", name="Poster: Autumn")
    alias = ana.details("qr", code)["link"].rpartition("/")[2]
    assert name(f"qr/{alias}") == f'attachment; filename="{alias}.png"'  # its name is private
    link = ana.add("url", url="https://shop.example/", custom="shop", title="Our shop")
    assert name("shop/qr") == 'attachment; filename="Our shop.png"'
    ana.update("url", link, title="New shop")
    assert name("shop/qr") == 'attachment; filename="New shop.png"'
    ana.update("url", link, password="secret-word")
    assert name("shop/qr") == 'attachment; filename="shop.png"'
    ana.add("bio", name="Me", alias="about-me")
    assert name("about-me/qr") == 'attachment; filename="Me.png"'
    ana.add("bio", name="Client ACME - draft", title="Our: house", alias="house")
    assert name("house/qr") == 'attachment; filename="Our_ house.png"'
    ana.add("url", url="https://shop.example/", custom="over", title="Over")
    ana.write(lambda tx: tx.execute(update(links).where(links.c.alias == "over").values(expiry=1)))
    assert name("over/qr") == 'attachment; filename="over.png"'
    ana.add("url", url="https://shop.example/", custom="hidden", title="Client ACME", status="private")
    assert name("hidden/qr") == 'attachment; filename="hidden.png"'
    ana.add("url", url="https://evil.example/", custom="evil", title="Evil")
    assert name("evil/qr") == 'attachment; filename="Evil.png"'
    ana.write(lambda tx: blocklist.block(tx, "evil.example", kind=HOST))
    until(lambda: name("evil/qr") == 'attachment; filename="evil.png"')  # the cache follows the change log


def test_matching_etag_returns_304(ana: Person) -> None:
    code, alias = new_code(ana)
    first = ana.client.get(f"/qr/{alias}")
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "public, no-cache"
    for message in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        again = ana.client.get(f"/qr/{alias}", headers={"If-None-Match": message})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    for header, status in (('"other"', 412), (f"W/{tag}", 412), (tag, 200), ("*", 200)):
        assert ana.client.get(f"/qr/{alias}", headers={"If-Match": header}).status_code == status
    ana.update("qr", code, data="https://example.com/else", foreground="#400000")
    changed = ana.client.get(f"/qr/{alias}", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


def test_versioned_image_is_cached_permanently(ana: Person) -> None:
    code, alias = new_code(ana)
    cache_control = "public, max-age=31536000, immutable"
    assert ana.client.get(f"/qr/{alias}?v=1").headers["cache-control"] == cache_control
    ana.update("qr", code, data="https://example.com/else")
    assert ana.details("qr", code)["version"] == 2
    assert ana.client.get(f"/qr/{alias}?v=1").headers["cache-control"] == "public, no-cache"
    assert ana.client.get(f"/qr/{alias}?v=2").headers["cache-control"] == cache_control


def test_head_returns_headers_of_get(ana: Person) -> None:
    _, alias = new_code(ana)
    response, head = ana.client.get(f"/qr/{alias}"), ana.client.head(f"/qr/{alias}")
    assert {name: head.headers[name] for name in ("etag", "content-type", "content-length")} == {
        name: response.headers[name] for name in ("etag", "content-type", "content-length")
    }


def test_every_short_url_has_qr_image(ana: Person) -> None:
    new_link(ana, "spring", password="secret")
    ana.post("/bio/add", {"name": "Me", "alias": "about-ana"})
    ana.post("/domain/add", {"domain": "https://brand.example"})
    ana.post("/url/add", {"url": "https://example.com/", "custom": "sale", "domain": "brand.example"})
    _, code = new_code(ana)
    for alias in ("spring", "about-ana", code):
        assert zxing(ana.client.get(f"/{alias}/qr").content) == f"{BASE}/{alias}"
    assert zxing(ana.client.get("/spring/qr?format=svg&size=300").content) == f"{BASE}/spring"
    branded = ana.client.get("/sale/qr", headers={"Host": "brand.example"})
    assert zxing(branded.content) == "https://brand.example/sale"
    for path in (
        "/nothing/qr",
        "/sale/qr",
        "/qr/spring",
        "/qr/nothing",
        "/qr/x",
        f"/qr/{code}.gif",
        "/qr/",
        "/x%00y/qr",
    ):
        assert ana.client.get(path).status_code == 404, path
    assert ana.get("/stats")["data"]["total"]["clicks"] == 0
    assert ana.client.get(f"/qr/{code}", headers={"Host": "brand.example"}).status_code == 404


def _picture(alias: str, size: int) -> HotBody:
    return HotBody(unique=bytes(size), journal_target=b"", until_ms=0, etag="x", name=("", alias))


def test_image_cache_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_BODY_BYTES", 10_000)
    image_cache = Cache()
    for number in range(20):
        image_cache.put_body(b"/qr/code%d" % number, _picture(f"code{number}", 1000), version=0)
    assert len(image_cache.bodies) == 9
    assert b"/qr/code19" in image_cache.bodies
    image_cache.invalidate([("", "code19"), ("", "code0")])
    assert b"/qr/code19" not in image_cache.bodies
    image_cache.put_body(b"/qr/late", _picture("late", 10), version=0)
    assert b"/qr/late" not in image_cache.bodies, "read before the change"
    image_cache.invalidate(None)
    assert image_cache.bodies == {}


def test_evicted_image_leaves_nothing_in_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_BODY_BYTES", 10_000)
    image_cache = Cache()
    for number in range(5000):  # one code, asked for in ever other words
        image_cache.put_body(b"/qr/code?x=%d" % number, _picture("code", 1000), version=0)
    assert len(image_cache.bodies) == 9
    assert sum(map(len, image_cache._body_keys.values())) == 9
    image_cache.invalidate([("", "code")])
    assert (image_cache.bodies, image_cache._body_keys, image_cache._body_bytes) == ({}, {}, 0)


def test_concurrent_requests_get_same_image(ana: Person) -> None:
    _, alias = new_code(ana, "text", "x" * 300, modules="rounded")
    images = at_once([lambda: ana.client.get(f"/qr/{alias}?size=700").content] * 8)
    assert len(set(images)) == 1


def test_invalid_image_request_shows_error(service: AsgiClient) -> None:
    response = service.get("/qr/nothing-here", headers=ACCEPT_JSON)
    assert (response.status_code, response.json()["code"]) == (404, "missing")


def test_large_image_has_next_size_step(ana: Person) -> None:
    _, alias = new_code(ana)
    for requested, size in ((1024, 1024), (1025, 2048), (2048, 2048), (2049, 4096), (4095, 4096)):
        assert opened(ana.client.get(f"/qr/{alias}?size={requested}").content).size == (size, size)


def test_pdf_has_exactly_the_requested_width(ana: Person) -> None:
    _, alias = new_code(ana)
    for size in (142, 1417, 4095):  # 5 and 50 cm
        assert f"/MediaBox [0 0 {size} {size}]".encode() in ana.client.get(f"/qr/{alias}.pdf?size={size}").content


def _pixels(data: bytes) -> Image.Image:
    return Image.open(BytesIO(data))


@pytest.mark.parametrize("style", [{}, {"gradient": {"color": "#401060"}, "modules": "dots", "logo": LOGO}])
def test_transparent_image_has_no_background_and_is_readable_on_paper(ana: Person, style: dict[str, Any]) -> None:
    _, alias = new_code(ana, background="#f0f0ff", **style)
    for size in (500, 777):
        image = _pixels(ana.client.get(f"/qr/{alias}.png?size={size}&transparent=1").content)
        assert (image.mode, image.getchannel("A").getpixel((2, 2))) == ("RGBA", 0)
        paper = Image.new("RGBA", image.size, "#ffffff")
        paper.alpha_composite(image)
        assert render.decode_image(paper) == f"{BASE}/{alias}"
    plain = _pixels(ana.client.get(f"/qr/{alias}.png?size=500").content)
    assert plain.convert("RGB").getpixel((2, 2)) == (240, 240, 255)
    assert b"#f0f0ff" not in ana.client.get(f"/qr/{alias}.svg?transparent=1").content
    assert zxing(ana.client.get(f"/qr/{alias}.pdf?transparent=1").content) == f"{BASE}/{alias}"


def test_transparent_image_of_a_frame_is_filled_inside(ana: Person) -> None:
    _, alias = new_code(ana, background="#f0f0ff", caption="Scan me")
    image = _pixels(ana.client.get(f"/qr/{alias}.png?size=600&transparent=1").content)
    assert image.getchannel("A").getpixel((0, 0)) == 0
    assert image.getpixel((60, 60)) == (240, 240, 255, 255)
    assert b"#f0f0ff" in ana.client.get(f"/qr/{alias}.svg?transparent=1").content


def test_differently_spelled_requests_share_one_drawing(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    code, alias = new_code(ana)
    drawn: list[int] = []
    render = Drawing.render

    def spy(drawing: Drawing, form: Format, size: int) -> bytes:
        drawn.append(size)
        return render(drawing, form, size)

    monkeypatch.setattr(Drawing, "render", spy)
    assert "content-disposition" in ana.client.get(f"/qr/{alias}?download=1&v=1").headers
    assert "content-disposition" not in ana.client.get(f"/{alias}/qr?format=png&size=512").headers
    targets = (f"/qr/{alias}", f"/qr/{alias}.png", f"/{alias}/qr?size=512", f"/qr/{alias}?size=0512&x=1")
    images = {ana.client.get(target).content for target in targets}
    images |= {ana.client.get(f"/qr/{alias}?x={number}&v={number}&download=1").content for number in range(5)}
    assert (len(images), drawn) == (1, [512])
    for size in range(2050, 2060):
        ana.client.get(f"/qr/{alias}?size={size}")
    assert drawn == [512, 4096]
    ana.update("qr", code, data="https://example.com/else", foreground="#400000")
    assert ana.client.get(f"/qr/{alias}").content not in images
    assert drawn[2:] == [512]
