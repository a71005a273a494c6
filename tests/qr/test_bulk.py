"""Previews, many codes at once, and archives of pictures."""

import base64
import io
import unicodedata
import zipfile
from typing import Any

from tests.conftest import BASE, Person
from tests.support.qr_decoders import LOGO, new_code, zxing
from tests.support.visits import new_link
from waypost.items.qr import export
from waypost.items.qr.export import Member, unique_file_names


def _image(rendered: Any) -> bytes:
    return base64.b64decode(rendered["image"].partition(",")[2])


def test_preview_is_rendered_but_not_saved(ana: Person) -> None:
    body = {"type": "text", "data": "Hello", "modules": "dots", "gradient": {"color": "#a00020"}, "caption": "Read me"}
    preview = ana.post("/qr/preview", body)
    assert preview.keys() == {"error", "image", "content", "level", "modules"}
    assert zxing(_image(preview)) == preview["content"] == "Hello"
    for form, media in (("svg", "image/svg+xml"), ("pdf", "application/pdf")):
        preview = ana.post("/qr/preview", {**body, "format": form, "size": 200, "logo": LOGO})
        assert preview["image"].startswith(f"data:{media};base64,")
        assert zxing(_image(preview)) == "Hello"
        assert preview["level"] in "QH"
    tracked = ana.post("/qr/preview", {"type": "link", "data": "https://example.com/", "custom": "my-code"})
    assert tracked["content"] == f"{BASE}/my-code"
    assert ana.get("/qr")["data"]["result"] == 0
    assert ana.client.get("/my-code").status_code == 404


def test_preview_validates_like_create(ana: Person) -> None:
    for wrong, field in (
        ({"foreground": "#eeeeee"}, "foreground"),
        ({"size": 63}, "size"),
        ({"format": "gif"}, "format"),
        ({"logo": "/etc/passwd"}, "logo"),
        ({"data": "x" * 3000}, "data"),
    ):
        response = ana.call("POST", "/qr/preview", {"type": "text", "data": "Hello", **wrong})
        assert (response.status_code, response.json()["field"]) == (400, field)


def test_bulk_create_returns_result_per_code(ana: Person, ben: Person) -> None:
    new_code(ben, custom="taken-one")
    codes: list[Any] = [
        {"type": "text", "data": "One", "name": "First", "logo": LOGO},
        {"type": "text", "data": "Two", "foreground": "#ffffff"},
        {"type": "link", "data": "https://example.com/", "custom": "taken-one"},
        {"type": "nothing", "data": "x"},
        {"type": "text"},
        "no object",
        {"type": "text", "data": "Three", "logo": LOGO},
    ]
    body = ana.post("/qr/bulk", {"codes": codes})
    assert body["message"] == "2 of 7 QR codes have been created."
    assert [result.get("field") for result in body["results"]] == [
        None, "foreground", "custom", "type", "data", "codes", None,
    ]  # fmt: skip
    assert [result["error"] for result in body["results"]] == [0, 1, 1, 1, 1, 1, 0]
    assert body["results"][2]["message"] == "That alias is taken. Please choose another one."
    assert {code["id"] for code in ana.get("/qr")["data"]["qrs"]} == {body["results"][n]["id"] for n in (0, 6)}
    assert zxing(ana.client.get(body["results"][6]["link"]).content) == "Three"


def test_bulk_size_is_limited(ana: Person) -> None:
    wrong: tuple[object, ...] = ([], [{}] * 501, {}, "x", None)
    for codes in wrong:
        response = ana.call("POST", "/qr/bulk", {"codes": codes})
        assert (response.status_code, response.json()["field"]) == (400, "codes")
    logos = [{"type": "text", "data": "x", "logo": f"http://127.0.0.1/{n}.png"} for n in range(12)]
    last = ana.post("/qr/bulk", {"codes": logos})["results"][-1]
    assert (last["field"], "at most 10 different" in last["message"]) == ("logo", True)


def _archive(person: Person, **query: Any) -> dict[str, bytes]:
    response = person.call("GET", "/qr/zip", params=query)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_zip_contains_images_of_campaign(ana: Person) -> None:
    campaign = ana.add("campaign", name="Spring")
    ana.post("/domain/add", {"domain": "https://brand.example"})
    new_link(ana, "one", campaign=campaign)
    new_link(ana, "one", campaign=campaign, domain="brand.example")
    new_link(ana, "two", campaign=campaign, title="Herbst / 文")
    for alias in ("same", "same-too"):
        new_link(ana, alias, campaign=campaign, title="Shop")
    new_link(ana, "other")
    images = _archive(ana, campaign=campaign)
    assert {name: zxing(image) for name, image in images.items()} == {
        "one.png": f"{BASE}/one",
        "brand.example_one.png": "https://brand.example/one",
        "Herbst _ 文.png": f"{BASE}/two",
        "Shop (same).png": f"{BASE}/same",
        "Shop (same-too).png": f"{BASE}/same-too",
    }


def test_zip_is_called_like_its_campaign_or_channel(ana: Person) -> None:
    for noun, name, expected in (
        ("campaign", "Fête", "attachment; filename=\"Fete.zip\"; filename*=UTF-8''F%C3%AAte.zip"),
        ("channel", "Friends", 'attachment; filename="Friends.zip"'),
    ):
        response = ana.call("GET", "/qr/zip", params={noun: ana.add(noun, name=name)})
        assert response.headers["content-disposition"] == expected


def test_zip_contains_images_of_channel(ana: Person) -> None:
    channel = ana.add("channel", name="Friends")
    code, alias = new_code(ana, "text", "Hello", modules="dots")
    ana.post(f"/channel/{channel}/assign/qr/{code}")
    ana.post(f"/channel/{channel}/assign/links/{new_link(ana, 'one')}")
    bio = ana.add("bio", name="Me", alias="about-me")
    ana.post(f"/channel/{channel}/assign/bio/{bio}")
    images = _archive(ana, channel=channel, format="svg", size=300)
    contents = {f"{alias}.svg": "Hello", "one.svg": f"{BASE}/one", "Me.svg": f"{BASE}/about-me"}
    assert {name: zxing(image) for name, image in images.items()} == contents
    assert _archive(ana, channel=ana.add("channel", name="Empty")) == {}


def test_zip_requires_one_own_campaign_or_channel(ana: Person, ben: Person) -> None:
    campaign = ben.add("campaign", name="Hers")
    for query, field in (
        ({}, "campaign"),
        ({"campaign": campaign, "channel": 1}, "campaign"),
        ({"campaign": campaign}, "campaign"),
        ({"channel": 999}, "channel"),
        ({"channel": "x"}, "channel"),
        ({"channel": 1, "format": "gif"}, "format"),
        ({"channel": 1, "size": 10}, "size"),
    ):
        response = ana.call("GET", "/qr/zip", params=query)
        assert (response.status_code, response.json()["field"]) == (400, field), query


def test_zip_is_streamed() -> None:
    made = []

    def files() -> Any:
        for number in range(3):
            made.append(number)
            yield f"{number}.png", bytes(1000)

    pieces = export.zip_stream(files())
    assert len(next(pieces)) >= 1000
    assert made == [0]
    whole = b"".join(export.zip_stream(files()))
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        assert archive.testzip() is None
        assert len(archive.namelist()) == 3


def test_no_two_pictures_of_a_zip_are_the_same_file_on_any_system() -> None:
    titles = ["Sale?", "Sale*", "Post/er", "Post_er", "é", "e\u0301", "spring", "", "", "x", "X"]
    titles += ["の" * 100, "の" * 100 + "!", "a" * 150 + "1", "a" * 150 + "2", "same", "same (i17)", "same"]
    aliases = [f"i{number}" for number in range(len(titles))]
    aliases[7] = "spring"
    members = [Member("", None, alias, title) for alias, title in zip(aliases, titles, strict=True)]
    names = unique_file_names(members, "svg")
    assert len({unicodedata.normalize("NFC", name).casefold() for name in names}) == len(members)
    assert max(len(name.encode()) for name in names) <= 255
    assert (names[0], names[8], names[9]) == ("Sale_ (i0).svg", "i8.svg", "x (i9).svg")
    assert names[11] == f"{'の' * 64} (i11).svg"
