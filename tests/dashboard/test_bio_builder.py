"""Bio page builder without scripts: pictures, own colors, schedules, forms and players; errors at their fields."""

import html
import re
from typing import Any

import pytest

from tests.conftest import BASE, Person
from tests.support.bios import new_bio, opened, picture, picture_url
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.html import Page
from tests.support.overlays import new_overlay

NEW = "/bios/new"
FIELDS = {"name": "Ana", "alias": "ana-costa", "base": "ocean", "mode": ""}
OWN = {"own": "on", "background": "#fff4e0", "button": "#3d1522", "autotext": "on", "autobuttontext": "on"}
LINK = {"b1.type": "link", "b1.title": "Shop", "b1.url": "https://example.com/", "order": "b1"}


def _send(browser: Browser, path: str = NEW, files: Any = None, **fields: Any) -> Any:
    """Submit the builder as a browser does, with files."""
    token = fields.get("token") or hidden_field(browser.get(path), "token")
    parts = {name: (f"{name}.jpg", content, "image/jpeg") for name, content in (files or {}).items()}
    data = {"token": token, **FIELDS, **fields}
    if not parts:
        parts = {"avatar.file": ("", b"", "application/octet-stream")}  # nothing is selected
    return browser.client.post(f"/dashboard{path}", data=data, files=parts)


def _picture_in_preview(browser: Browser, files: Any = None, **fields: Any) -> dict[str, str]:
    """Return the attributes of the picture of an image block that the preview of an unsaved page shows."""
    response = _send(browser, "/bios/phone", files, token=hidden_field(browser.get(NEW), "token"), **fields)
    assert response.status_code == 200
    return Page(response).one("img", referrerpolicy="no-referrer").attributes


def _details(person: Person) -> Any:
    return person.details("bio", person.get("/bios")["data"]["bios"][0]["id"])


def _errors(response: Any) -> dict[str, str]:
    """Return the messages by the ids of the inputs that they describe."""
    assert response.status_code == 400
    messages = re.findall(r'id="([^"]+)-error">.*?<span>(.*?)</span>', response.text)
    assert all(f'aria-describedby="{name}-error"' in response.text for name, _ in messages), messages
    return {name: html.unescape(text) for name, text in messages}


def test_pictures_are_uploaded_with_the_form_and_kept_by_the_next_save(ana: Person, dashboard: Browser) -> None:
    response = _send(dashboard, files={"avatar.file": picture(), "b1.thumbnail.file": picture("#0b5c92")}, **LINK)
    assert response.status_code == 303, response.text
    details = _details(ana)
    pictures = [details["avatar"], details["blocks"][0]["thumbnail"]]
    for url in pictures:
        opened(ana.client.get(url.removeprefix(BASE)))
    path = f"/bios/{details['id']}"
    page = dashboard.get(path)
    names = [hidden_field(page, name) for name in ("avatar", "b1.thumbnail")]
    assert [url.rpartition("/")[2] for url in pictures] == names
    opened(dashboard.get(f"/bios/pictures/{names[0]}"))
    kept = {"avatar": names[0], "b1.thumbnail": names[1], "version": hidden_field(page, "version")}
    assert _send(dashboard, path, **{**LINK, **kept, "name": "New"}).status_code == 303
    details = _details(ana)
    assert (details["name"], details["avatar"], details["blocks"][0]["thumbnail"]) == ("New", *pictures)
    removed = {**kept, "avatar.remove": "on", "version": hidden_field(dashboard.get(path), "version")}
    assert _send(dashboard, path, **{**LINK, **removed}).status_code == 303
    assert (_details(ana)["avatar"], _details(ana)["blocks"][0]["thumbnail"]) == ("", pictures[1])


def test_preview_shows_new_and_stored_pictures_in_their_shape(ana: Person, dashboard: Browser) -> None:
    image = {"order": "b1", "b1.type": "image"}
    files = {"b1.picture.file": picture(size=(300, 100))}
    new = _picture_in_preview(dashboard, files=files, **image)
    assert (new["src"][:5], new["width"], new["height"]) == ("data:", "300", "100")
    assert _send(dashboard, files=files, **image).status_code == 303
    name = _details(ana)["blocks"][0]["picture"].rpartition("/")[2]
    stored = _picture_in_preview(dashboard, **{**image, "b1.picture": name})
    assert (stored["src"][:1], stored["width"], stored["height"]) == ("/", "300", "100")
    for unreadable in ("picture-999999", *(f"data:image/webp;base64,{text}" for text in ("AAAA", "A", "A" + "=" * 50))):
        assert "width" not in _picture_in_preview(dashboard, **{**image, "b1.picture": unreadable})


def test_picture_of_an_image_block_is_uploaded_kept_and_replaced_by_a_url(ana: Person, dashboard: Browser) -> None:
    image = {"order": "b1", "b1.type": "image", "b1.alt": "A bowl"}
    errors = _errors(_send(dashboard, **image))
    assert list(errors) == ["b1.image"]
    assert _send(dashboard, files={"b1.picture.file": picture()}, **image).status_code == 303
    details = _details(ana)
    (block,) = details["blocks"]
    opened(ana.client.get(block["picture"].removeprefix(BASE)))
    path = f"/bios/{details['id']}"
    page = dashboard.get(path)
    kept = {"b1.picture": hidden_field(page, "b1.picture"), "version": hidden_field(page, "version")}
    assert _send(dashboard, path, **{**image, **kept, "b1.alt": "A blue bowl"}).status_code == 303
    assert _details(ana)["blocks"][0]["picture"] == block["picture"]
    kept["version"] = hidden_field(dashboard.get(path), "version")
    url = {"b1.picture.remove": "on", "b1.image": "pictures.example/b.jpg"}
    assert _send(dashboard, path, **{**image, **kept, **url}).status_code == 303
    (block,) = _details(ana)["blocks"]
    assert "picture" not in block
    assert block["image"] == "https://pictures.example/b.jpg"


def test_uploaded_pictures_survive_errors_and_block_buttons(ana: Person, dashboard: Browser) -> None:
    for fields in ({"name": ""}, {"do": "add-text"}):
        page = _send(dashboard, files={"avatar.file": picture()}, **fields)
        value = hidden_field(page, "avatar")
        assert value.startswith("data:image/webp;base64,")
    assert ana.get("/bios")["data"]["result"] == 0
    assert _send(dashboard, avatar=value).status_code == 303
    opened(ana.client.get(_details(ana)["avatar"].removeprefix(BASE)))


def test_errors_of_pictures_are_shown_at_their_fields(ana: Person, dashboard: Browser) -> None:
    files = {"avatar.file": b"GIF89a", "backdrop.file": picture()[:200], "b1.thumbnail.file": b"x" * 8_388_609}
    errors = _errors(_send(dashboard, files=files, **{**LINK, "b1.url": "nowhere"}))
    assert errors["avatar"] == "Picture must be a PNG, JPEG or WebP picture."
    assert errors["backdrop"] == "Background picture is damaged or incomplete."
    assert errors["b1.thumbnail"] == "Picture must be at most 8388608 bytes."
    assert "b1.url" in errors
    for value in ("data:image/webp;base64,AAAA", "data:image/webp;base64," + "A" * 100):
        assert "avatar" in _errors(_send(dashboard, avatar=value))
    for value in ("https://example.com/a.png", "data:image/svg+xml,<svg/>", "/etc/passwd"):
        assert _send(dashboard, alias="", avatar=value).status_code == 303
        assert _details(ana)["avatar"] == ""


def test_picture_of_other_account_cannot_be_used_or_seen(ana: Person, ben: Person, dashboard: Browser) -> None:
    foreign = ben.details("bio", new_bio(ben, "bens", avatar=picture_url()))["avatar"].rpartition("/")[2]
    assert dashboard.get(f"/bios/pictures/{foreign}").status_code == 404
    assert dashboard.get("/bios/pictures/x").status_code == 404
    assert "that this page does not have" in _errors(_send(dashboard, avatar=foreign))["avatar"]


def test_script_gets_copy_of_picture_or_message(ana: Person, dashboard: Browser) -> None:
    token = hidden_field(dashboard.get(NEW), "token")

    def upload(content: bytes, **fields: str) -> Any:
        data, files = {"token": token, "place": "avatar", **fields}, {"picture": ("a", content, "image/png")}
        return dashboard.client.post("/dashboard/bios/pictures", data=data, files=files)

    assert upload(picture()).json()["picture"].startswith("data:image/webp;base64,")
    refused = upload(b"<svg/>")
    assert (refused.status_code, refused.json()["message"]) == (400, "Picture must be a PNG, JPEG or WebP picture.")
    assert upload(picture(), token="x").status_code == 403
    assert ana.get("/bios")["data"]["result"] == 0


def test_own_colors_are_saved_and_shown(ana: Person, dashboard: Browser) -> None:
    fields = {**OWN, "blend": "on", "gradient": "#ffd9c0", "textcolor": "#ff0000"}
    assert _send(dashboard, files={"backdrop.file": picture()}, **fields).status_code == 303
    design = _details(ana)["design"]
    assert design.pop("picture").startswith(f"{BASE}/ana-costa/picture-")
    colors = {"background": "#fff4e0", "gradient": "#ffd9c0", "text": "", "button": "#3d1522", "buttontext": ""}
    assert design == colors
    page = ana.client.get("/ana-costa", headers={"Accept": "text/html"}).text
    assert "--sky: #fff4e0" in page
    assert "/ana-costa/picture-" in page
    path = f"/bios/{_details(ana)['id']}"
    builder = dashboard.get(path)
    version = hidden_field(builder, "version")
    assert re.search(r'name="own"\s+value="on"\s+checked', builder.text)
    assert _send(dashboard, path, version=version).status_code == 303
    assert _details(ana)["design"] is None


def test_colors_with_too_little_contrast_are_refused_at_their_fields(ana: Person, dashboard: Browser) -> None:
    unreadable = {"background": "#ffffff", "textcolor": "#eeeeee", "button": "#000000", "buttontext": "#333333"}
    errors = _errors(_send(dashboard, **{"own": "on", **unreadable, "name": ""}))
    assert errors["textcolor"].startswith("Text color must have a contrast of at least 4.5:1 to the background;")
    assert errors["buttontext"].startswith("Text on buttons must have a contrast of at least 4.5:1 to the buttons;")
    assert "name" in errors
    invalid = {"background": "red", "button": "url(//x.example)", "autotext": "on", "autobuttontext": "on"}
    assert {"background", "button"} <= _errors(_send(dashboard, **{"own": "on", **invalid})).keys()
    token = hidden_field(dashboard.get(NEW), "token")
    preview = dashboard.client.post("/dashboard/bios/phone", data={"token": token, "own": "on", **invalid})
    assert (preview.status_code, "x.example" in preview.text) == (200, False)
    assert ana.get("/bios")["data"]["result"] == 0


def test_schedule_is_entered_in_time_zone_of_user(ana: Person, dashboard: Browser) -> None:
    dashboard.client.cookies["waypost_zone"] = "Europe/Berlin"
    times = {"b1.showfrom": "2030-07-01T10:00", "b1.showuntil": "2030-07-01T12:30"}
    assert _send(dashboard, **LINK, **times).status_code == 303
    (block,) = _details(ana)["blocks"]
    assert (block["showfrom"], block["showuntil"]) == ("2030-07-01 08:00:00", "2030-07-01 10:30:00")
    page = dashboard.get(f"/bios/{_details(ana)['id']}")
    assert all(f'value="{value}"' in page.text for value in times.values())
    assert "Shop" not in dashboard.get(f"/bios/{_details(ana)['id']}/phone").text, "the preview is that of now"
    errors = _errors(_send(dashboard, **{**LINK, "b1.showfrom": "x", "b1.showuntil": "2030-01-01T00:00", "alias": ""}))
    assert errors["b1.showfrom"].startswith("Show from must be a date")


def test_schedule_that_was_not_edited_stays_on_the_day_when_an_hour_comes_twice(
    ana: Person, dashboard: Browser
) -> None:
    dashboard.client.cookies["waypost_zone"] = "Europe/Berlin"
    block = {"type": "text", "text": "Tea", "showuntil": "2030-10-27 01:30:00"}  # 02:30 for the second time
    path = f"/bios/{new_bio(ana, 'tea', blocks=[block])}"
    fields = {"order": "b1", "b1.type": "text", "b1.text": "Cake", "b1.showuntil": "2030-10-27T02:30"}
    for _ in range(2):
        page = dashboard.get(path)
        kept = {"b1.id": hidden_field(page, "b1.id"), "version": hidden_field(page, "version")}
        assert _send(dashboard, path, **fields, **kept).status_code == 303
        (stored,) = _details(ana)["blocks"]
        assert (stored["text"], stored["showuntil"]) == ("Cake", "2030-10-27 01:30:00")
    kept["version"] = hidden_field(dashboard.get(path), "version")
    assert _send(dashboard, path, **{**fields, "b1.showuntil": "2030-10-27T03:30"}, **kept).status_code == 303
    assert _details(ana)["blocks"][0]["showuntil"] == "2030-10-27 02:30:00"


def test_form_block_offers_own_forms(ana: Person, ben: Person, dashboard: Browser) -> None:
    own, foreign = new_overlay(ana, "newsletter", name="My news"), new_overlay(ben, "contact", name="Bens form")
    new_overlay(ana, "coupon", name="A coupon")
    page = _send(dashboard, do="add-form").text
    assert "My news" in page
    assert "Bens form" not in page
    assert "A coupon" not in page
    form = {"b1.type": "form", "b1.showfrom": "2026-01-01T00:00", "order": "b1"}
    for overlay in ("", str(foreign), "x"):
        assert "b1.overlay" in _errors(_send(dashboard, **form, **{"b1.overlay": overlay}))
    assert _send(dashboard, **form, **{"b1.overlay": str(own)}).status_code == 303
    (block,) = _details(ana)["blocks"]
    assert (block["type"], block["overlay"]) == ("form", own)
    assert "Sign me up" in dashboard.get(f"/bios/{_details(ana)['id']}/phone").text


@pytest.mark.parametrize("url", ["https://example.com/", ""])
def test_player_needs_url_of_service(ana: Person, dashboard: Browser, url: str) -> None:
    player = {"b1.type": "embed", "b1.title": "Song", "order": "b1"}
    assert "b1.url" in _errors(_send(dashboard, **player, **{"b1.url": url}))
    assert _send(dashboard, **player, **{"b1.url": "youtu.be/dQw4w9WgXcQ"}).status_code == 303
    assert _details(ana)["blocks"][0]["url"] == "https://youtu.be/dQw4w9WgXcQ"
