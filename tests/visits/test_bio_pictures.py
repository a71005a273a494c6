"""Pictures of bio pages: copies of sent files, served to visitors of their page only."""

import base64
from io import BytesIO
from typing import Any

import pytest
from PIL import Image
from sqlalchemy import func, select

from tests.conftest import BASE, Person
from tests.support.bios import new_bio, open_bio, opened, picture, picture_url
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import PUBLIC, FakeInternet, ok, server
from tests.support.files import new_file
from tests.support.html import Page
from tests.support.visits import visit
from waypost.db.schema import bio_pictures

LINK = {"type": "link", "title": "Shop", "url": "https://example.com/shop"}


def _count(person: Person) -> int:
    query = select(func.count()).select_from(bio_pictures).where(bio_pictures.c.account == person.account)
    return int(person.database.read(lambda tx: tx.execute(query).scalar_one()))


def _load(person: Person, url: str) -> Any:
    return visit(person.client, url.removeprefix(f"{BASE}/"))


def test_pictures_are_small_copies_and_shown_on_page(ana: Person) -> None:
    bio = new_bio(ana, avatar=picture_url(), blocks=[{**LINK, "thumbnail": picture_url("#0b5c92", (100, 900))}])
    details = ana.details("bio", bio)
    avatar, thumbnail = details["avatar"], details["blocks"][0]["thumbnail"]
    assert (opened(_load(ana, avatar)).size, opened(_load(ana, thumbnail)).size) == ((400, 400), (100, 100))
    assert opened(_load(ana, avatar)).getpixel((200, 200))[:3] == pytest.approx((176, 42, 76), abs=4)  # type: ignore[index]  # RGBA
    response = open_bio(ana)
    page = Page(response)
    paths = [url.removeprefix(BASE) for url in (avatar, thumbnail)]
    assert [image.attributes["src"] for image in page.all("img")][:2] == paths
    assert "img-src data: 'self'" in response.headers["content-security-policy"]
    headers = _load(ana, avatar).headers
    assert headers["content-type"] == "image/webp"
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
    program = visit(ana.client, "ana-costa", headers={"Accept": "application/json"}).json()
    assert (program["avatar"], program["blocks"][0]["thumbnail"]) == (avatar, thumbnail)


def test_pictures_that_are_sent_back_are_kept_and_others_deleted(ana: Person) -> None:
    bio = new_bio(ana, avatar=picture_url(), blocks=[{**LINK, "thumbnail": picture_url("#0b5c92")}])
    before = ana.details("bio", bio)
    ana.update("bio", bio, avatar=before["avatar"], blocks=[*before["blocks"], {**LINK, "title": "Other"}])
    after = ana.details("bio", bio)
    assert (after["avatar"], after["blocks"][0]) == (before["avatar"], before["blocks"][0])
    ana.update("bio", bio, title="Ana")
    assert _count(ana) == 2
    ana.update("bio", bio, alias="ana-new")
    assert ana.details("bio", bio)["avatar"].startswith(f"{BASE}/ana-new/picture-")
    ana.update("bio", bio, blocks=[LINK])
    assert _count(ana) == 1
    ana.update("bio", bio, avatar=None)
    assert (_count(ana), ana.details("bio", bio)["avatar"]) == (0, "")
    assert _load(ana, before["avatar"].replace("ana-costa", "ana-new")).status_code == 404


def test_picture_is_deleted_with_its_page(ana: Person) -> None:
    bio = new_bio(ana, avatar=picture_url())
    url = ana.details("bio", bio)["avatar"]
    ana.remove("bio", bio)
    assert (_count(ana), _load(ana, url).status_code) == (0, 404)


def test_pictures_of_other_pages_and_accounts_are_not_reachable(ana: Person, ben: Person) -> None:
    bens = new_bio(ben, "bens", avatar=picture_url())
    foreign = ben.details("bio", bens)["avatar"]
    name = foreign.rpartition("/")[2]
    bio, other = new_bio(ana), new_bio(ana, "other", avatar=picture_url("#112233"))
    for source in (foreign, name, ana.details("bio", other)["avatar"], "picture-999999999999999"):
        error = ana.call("PUT", f"/bio/{bio}/update", {"avatar": source}).json()
        assert (error["error"], error["field"]) == (1, "avatar"), source
        error = ana.call("PUT", f"/bio/{bio}/update", {"blocks": [{**LINK, "thumbnail": source}]}).json()
        assert (error["error"], error["field"]) == (1, "blocks"), source
    for path in (f"ana-costa/{name}", f"other/{name}", "ana-costa/picture-0", "ana-costa/picture-x", f"no-page/{name}"):
        assert visit(ana.client, path).status_code == 404, path
    assert ana.call("PUT", f"/bio/{bens}/update", {"avatar": picture_url()}).status_code == 404


def test_picture_of_hidden_block_is_not_served(ana: Person) -> None:
    bio = new_bio(ana, blocks=[{**LINK, "thumbnail": picture_url(), "hidden": True}])
    (block,) = ana.details("bio", bio)["blocks"]
    assert _load(ana, block["thumbnail"]).status_code == 404
    ana.update("bio", bio, blocks=[{**block, "hidden": False}])
    assert _load(ana, block["thumbnail"]).status_code == 200


def test_image_block_shows_an_uploaded_picture_uncropped(ana: Person) -> None:
    image = {"type": "image", "picture": picture_url("#0b5c92", (300, 100)), "link": "https://example.com/bowls"}
    bio = new_bio(ana, blocks=[image, {"type": "image", "image": "https://pictures.example/b.jpg", "alt": "Bowl"}])
    first, second = ana.details("bio", bio)["blocks"]
    assert opened(_load(ana, first["picture"])).size == (300, 100)
    assert "picture" not in second
    response = open_bio(ana)
    sources = [image.attributes["src"] for image in Page(response).all("img")]
    assert sources[:2] == [first["picture"].removeprefix(BASE), "https://pictures.example/b.jpg"]
    policy = response.headers["content-security-policy"]
    assert "img-src data: 'self' https://pictures.example;" in policy
    ana.update("bio", bio, blocks=[{**first, "alt": "A bowl"}, second])
    assert ana.details("bio", bio)["blocks"][0] == {**first, "alt": "A bowl"}
    ana.update("bio", bio, blocks=[second])
    assert (_count(ana), _load(ana, first["picture"]).status_code) == (0, 404)
    for missing in ({"type": "image"}, {"type": "image", "image": "", "picture": ""}):
        error = ana.call("PUT", f"/bio/{bio}/update", {"blocks": [missing]}).json()
        assert (error["error"], error["field"]) == (1, "blocks")
        assert "must not be empty without a picture" in error["message"]


@pytest.mark.parametrize("size", [(600, 400), (1200, 300), (450, 800), (3200, 1800), (1, 1)])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "transparent"])
def test_uploaded_picture_has_its_own_width_and_height(ana: Person, size: tuple[int, int], kind: str) -> None:
    bio = new_bio(ana, blocks=[{"type": "image", "picture": _source(kind, size)}])
    copy = opened(_load(ana, ana.details("bio", bio)["blocks"][0]["picture"]))
    image = Page(open_bio(ana)).all("img")[0].attributes
    assert (image["width"], image["height"]) == tuple(map(str, copy.size))
    assert copy.width / copy.height == pytest.approx(size[0] / size[1], rel=0.01)


def test_size_of_a_replaced_picture_is_the_new_one(ana: Person) -> None:
    other = {"type": "image", "image": "https://pictures.example/b.jpg"}
    bio = new_bio(ana, blocks=[{"type": "image", "picture": picture_url(size=(300, 100))}, other])
    assert _sizes(ana) == [("300", "100"), None]
    kept = ana.details("bio", bio)["blocks"][0]
    ana.update("bio", bio, blocks=[other, {"type": "image", "picture": picture_url(size=(90, 160))}, kept])
    assert _sizes(ana) == [None, ("90", "160"), ("300", "100")]


def _source(kind: str, size: tuple[int, int]) -> str:
    """Return a picture of a format as a `data:` URL; `transparent` is a PNG."""
    out = BytesIO()
    if kind == "transparent":
        transparent = Image.new("RGBA", size, "#0000")
        transparent.putpixel((0, 0), (255, 0, 0, 255))
        transparent.save(out, "PNG")
    else:
        Image.new("RGB", size, "#0b5c92").save(out, kind)
    media_type = "png" if kind == "transparent" else kind.lower()
    return f"data:image/{media_type};base64,{base64.b64encode(out.getvalue()).decode()}"


def _sizes(person: Person) -> list[tuple[str, str] | None]:
    """Return width and height of the page's pictures; None for one without."""
    images = [image.attributes for image in Page(open_bio(person)).all("img", referrerpolicy="no-referrer")]
    return [(image["width"], image["height"]) if "width" in image else None for image in images]


@ON_SQLITE
def test_picture_can_be_own_file_or_public_url(ana: Person, ben: Person, internet: FakeInternet) -> None:
    with server(lambda _: [ok(picture("#112233"))]) as site:
        internet.add_host("pictures.example", PUBLIC)
        internet.routes[PUBLIC] = site
        bio = new_bio(ana, avatar="http://pictures.example/a.jpg")
    assert opened(_load(ana, ana.details("bio", bio)["avatar"])).size == (400, 400)
    new_file(ben, "a.jpg", picture(), custom="bens-file")
    new_file(ana, "a.jpg", picture("#445566"), custom="anas-file")
    ana.update("bio", bio, avatar="anas-file")
    color = opened(_load(ana, ana.details("bio", bio)["avatar"])).getpixel((9, 9))
    assert color[:3] == pytest.approx((0x44, 0x55, 0x66), abs=4)  # type: ignore[index]  # RGBA
    error = ana.call("PUT", f"/bio/{bio}/update", {"avatar": "bens-file"}).json()
    assert (
        error["message"] == "avatar must be an http(s) URL, a data: URL, or the short URL or alias of a file of yours."
    )


@ON_SQLITE
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("data:image/svg+xml,<svg/>", "must be a PNG, JPEG or WebP picture, not image/svg+xml."),
        ("data:image/png;base64,PHN2Zy8+", "must be a PNG, JPEG or WebP picture."),
        ("data:image/png;base64,@", "is not valid Base64."),
        ("/etc/passwd", "must be an http(s) URL, a data: URL, or the short URL or alias of a file of yours."),
    ],
)
def test_other_files_are_no_pictures(ana: Person, source: str, message: str) -> None:
    bio = new_bio(ana)
    assert ana.call("PUT", f"/bio/{bio}/update", {"avatar": source}).json()["message"] == f"avatar {message}"
    design = {"background": "#ffffff", "picture": source}
    assert ana.call("PUT", f"/bio/{bio}/update", {"design": design}).json()["message"] == f"design {message}"
    block = {**LINK, "thumbnail": source}
    assert (
        ana.call("PUT", f"/bio/{bio}/update", {"blocks": [block]}).json()["message"] == f"blocks[0].thumbnail {message}"
    )
    assert _count(ana) == 0


@ON_SQLITE
def test_social_card_is_drawn_for_any_title(ana: Person) -> None:
    for number, title in enumerate(("Ana", "W" * 255, "word " * 51, "\u4f60\u597d", "\u05d0", "😀")):
        bio = new_bio(ana, f"page-{number}", title=title, avatar=picture_url() if number else "")
        (url,) = [
            tag.attributes["content"] for tag in Page(open_bio(ana, f"page-{number}")).all("meta", property="og:image")
        ]
        assert url.startswith(f"{BASE}/page-{number}/card.png?v=")
        response = _load(ana, url)
        assert (opened(response).size, response.headers["content-type"]) == ((1200, 630), "image/png")
        ana.update("bio", bio, sensitive=True)
        assert _load(ana, url).status_code == 404
