"""Dashboard pages of QR codes: designer, preview, list, and access by other accounts."""

import base64
import html
import json
import re
from typing import Any

import pytest

from tests.conftest import BASE, Person
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.qr_decoders import LOGO, data_url, new_code, png, zxing
from waypost.items.qr.form import PARTS

_PREVIEW = re.compile(r'<img class="qr-code" src="data:image/svg\+xml;base64,([^"]+)" alt="Your QR code">')


def _design(browser: Browser, path: str = "/qr/new", at: str = "/qr/new", /, **fields: str) -> Any:
    """Submit the designer's form with its defaults and these fields, and return the response."""
    defaults = {"foreground": "#000000", "background": "#ffffff", "level": "auto"}
    shapes = {"modules": "square", "eyes": "square"}
    gradient = {"gradient.color": "#0d6b4f", "gradient.type": "linear", "gradient.angle": "45", "margin": "4"}
    form = {name.replace("__", "."): value for name, value in fields.items()}
    return browser.submit(
        path, at=at, **{**defaults, **shapes, **gradient, "caption": "", "logo": "", "name": "", **form}
    )


def _preview_content(page: Any) -> str | None:
    """Decode the preview on a page; None without a preview."""
    match = _PREVIEW.search(page.text)
    return zxing(base64.b64decode(match[1])) if match else None


def _newest(person: Person) -> Any:
    return person.details("qr", person.get("/qr")["data"]["qrs"][0]["id"])


_CONTENTS: dict[str, tuple[dict[str, str], Any]] = {
    "link": ({"link": "https://example.com/page"}, {"link": "https://example.com/page"}),
    "text": ({"text": "One\r\nTwo"}, {"text": "One\nTwo"}),
    "vcard": ({"fname": "Ana", "email": "ana@example.com"}, {"fname": "Ana", "email": "ana@example.com"}),
    "wifi": (
        {"ssid": " Café", "pass": " a;b\\:,c ", "encryption": "WPA", "hidden": "true"},
        {"ssid": " Café", "pass": " a;b\\:,c ", "encryption": "WPA", "hidden": "true"},
    ),
    "email": ({"email": "ana@example.com", "subject": "Hi"}, {"email": "ana@example.com", "subject": "Hi"}),
    "phone": ({"phone": "+49 30 1234567"}, {"phone": "+49 30 1234567"}),
    "sms": ({"phone": "+49301234567", "message": "Hi"}, {"phone": "+49301234567", "message": "Hi"}),
    "whatsapp": ({"phone": "+49301234567", "message": ""}, {"phone": "+49301234567"}),
    "event": ({"title": "Party", "start": "2026-12-24T18:00"}, {"title": "Party", "start": "2026-12-24 17:00:00"}),
    "geo": ({"lat": "52.52", "lng": "13.405"}, {"lat": "52.52", "lng": "13.405"}),
    "app": ({"apple": "https://apps.apple.com/app/id1"}, {"apple": "https://apps.apple.com/app/id1"}),
    "crypto": (
        {"currency": "litecoin", "address": "LhK2kQwiaAvhjWY799cZvMyYwnQAcxkarr"},
        {"currency": "litecoin", "address": "LhK2kQwiaAvhjWY799cZvMyYwnQAcxkarr"},
    ),
}


@pytest.mark.parametrize("type", _CONTENTS)
def test_code_of_each_type_is_created_and_saved_unchanged(ana: Person, dashboard: Browser, type: str) -> None:
    entered, data = _CONTENTS[type]
    dashboard.client.cookies.set("waypost_zone", "Europe/Berlin", path="/dashboard")
    parts = re.findall(rf'name="{type}\.([a-z]+)"', dashboard.get("/qr/new").text)
    fields = {f"{type}__{part}": entered.get(part, "") for part in dict.fromkeys(parts)}
    assert dashboard.flash_message(_design(dashboard, type=type, **fields)) == "Your QR code is ready."
    code = _newest(ana)
    assert (code["type"], code["data"]) == (type, data)
    page = dashboard.get(f"/qr/{code['id']}")
    assert _preview_content(page) == zxing(dashboard.client.get(f"/qr/{code['alias']}?size=600").content)
    unchanged = {
        f"{type}__{part}": html.unescape(match[1] or match[2] or "")
        for part in dict.fromkeys(parts)
        if (
            match := re.search(rf'name="{type}\.{part}"[^>]*?(?:value="([^"]*)"[^>]*>|rows="\d">\n([^<]*)<)', page.text)
        )
    }
    unchanged |= {
        f"{type}__{part}": entered.get(part, "") for part in ("encryption", "hidden", "currency") if part in parts
    }
    path = f"/qr/{code['id']}"
    assert (
        dashboard.flash_message(
            _design(dashboard, path, path, type=type, version=hidden_field(page, "version"), **unchanged)
        )
        == "Saved."
    )
    assert _newest(ana)["data"] == data


def test_code_is_created_with_all_style_options(ana: Person, dashboard: Browser) -> None:
    response = _design(
        dashboard,
        type="link",
        link__link="https://example.com/",
        name="Spring",
        custom="spring",
        dynamic="true",
        foreground="#101060",
        background="#fff8f0",
        blend="on",
        gradient__color="#601010",
        gradient__type="radial",
        gradient__angle="90",
        modules="rounded",
        eyes="circle",
        caption="SCAN ME",
        logo=LOGO,
        level="H",
        margin="6",
    )
    assert dashboard.flash_message(response) == "Your QR code is ready."
    code = _newest(ana)
    assert code["gradient"] == {"color": "#601010", "type": "radial", "angle": 90}
    assert (code["name"], code["shorturl"], code["dynamic"]) == ("Spring", f"{BASE}/spring", True)
    assert [code[name] for name in ("foreground", "background", "modules", "eyes", "caption", "level", "margin")] == [
        *("#101060", "#fff8f0", "rounded", "circle", "SCAN ME", "H", 6)
    ]
    assert code["logo"] is True


def test_preview_draws_code_and_saves_nothing(ana: Person, dashboard: Browser) -> None:
    page = _design(dashboard, "/qr/preview", type="text", text__text="Hello, world")
    assert page.status_code == 200
    assert _preview_content(page) == "Hello, world"
    assert ana.get("/qr")["data"]["result"] == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"foreground": "#ffff00"}, "Too pale to scan."),
        ({"foreground": "#ffffff", "background": "#000000"}, "The code is lighter than its background"),
        ({"blend": "on", "gradient__color": "#ffffee"}, "Too pale to scan."),
        ({"text__text": "x" * 4000}, "too long"),
        ({"caption": "漢字"}, "cannot be drawn"),
        ({"margin": "99"}, "Margin "),
        ({"logo": "no such thing"}, "Logo must be"),
        ({"type": "nothing"}, "Type must be one of the options."),
        ({"type": "phone", "phone__phone": "one two"}, "Number must be a phone number"),
    ],
)
def test_unscannable_or_invalid_code_is_rejected_with_message(
    ana: Person, dashboard: Browser, fields: dict[str, str], message: str
) -> None:
    form = {"type": "text", "text__text": "Hello", **fields}
    preview = _design(dashboard, "/qr/preview", **form)
    assert preview.status_code == 200
    preview_html = preview.text.partition('id="preview"')[2].partition("</aside>")[0]
    assert _preview_content(preview) is None
    assert message in html.unescape(re.sub("<[^>]+>", "", preview_html))
    saved = _design(dashboard, **form)
    assert saved.status_code == 400
    assert message in html.unescape(saved.text)
    assert ana.get("/qr")["data"]["result"] == 0


def test_event_time_with_offset_is_edited_in_the_zone_of_the_viewer(ana: Person, dashboard: Browser) -> None:
    dashboard.client.cookies.set("waypost_zone", "Europe/Berlin", path="/dashboard")
    data = {"title": "Party", "start": "2026-12-24T12:00:00-05:00"}
    code = ana.add("qr", type="event", data=data)
    assert 'value="2026-12-24T18:00"' in dashboard.get(f"/qr/{code}").text


def test_event_keeps_a_time_that_was_not_edited(ana: Person, dashboard: Browser) -> None:
    dashboard.client.cookies.set("waypost_zone", "Europe/Berlin", path="/dashboard")
    # 02:30 for the second time, and seconds, of which the inputs show nothing.
    data = {"title": "Party", "start": "2030-10-27 01:30:00", "end": "2030-10-27 04:00:30"}
    code = ana.add("qr", type="event", data=data)
    path = f"/qr/{code}"
    for end, stored in (("05:00", "04:00:30"), ("06:00", "05:00:00")):
        event = {"title": "Tea", "start": "2030-10-27T02:30", "end": f"2030-10-27T{end}"}
        fields = {f"event__{part}": event.get(part, "") for part in PARTS["event"]}
        version = hidden_field(dashboard.get(path), "version")
        assert _design(dashboard, path, path, type="event", version=version, **fields).status_code == 303
        assert ana.details("qr", code)["data"] == {**data, "title": "Tea", "end": f"2030-10-27 {stored}"}


@pytest.mark.parametrize("code_type", ["text", "wifi", "vcard", "crypto", "app"])
def test_preview_reports_nothing_before_the_first_input(dashboard: Browser, code_type: str) -> None:
    page = _design(dashboard, "/qr/preview", type=code_type, crypto__currency="bitcoin")
    preview = page.text.partition('id="preview"')[2]
    assert "This is a sample." in preview
    assert "field-error" not in preview.partition("</aside>")[0]
    assert _design(dashboard, type=code_type, crypto__currency="bitcoin").status_code == 400


def _sample_content(page: Any) -> str | None:
    match = re.search(r'src="data:image/svg\+xml;base64,([^"]+)" alt="Sample of a QR code"', page.text)
    return zxing(base64.b64decode(match[1])) if match else None


def test_designer_shows_a_sample_in_the_selected_style(dashboard: Browser) -> None:
    assert _sample_content(dashboard.get("/qr/new")) == BASE
    page = _design(dashboard, "/qr/preview", type="wifi", modules="dots", dynamic="true")
    assert _sample_content(page) == BASE
    page = _design(dashboard, "/qr/preview", type="wifi", foreground="#ffff00")
    assert (_sample_content(page), "Too pale to scan." in page.text) == (None, True)


@pytest.mark.parametrize(
    ("fields", "repair"),
    [
        ({"foreground": "#ffd54f"}, {"foreground": "#bb8e00"}),
        ({"foreground": "#ffffff", "background": "#202020"}, {"foreground": "#202020", "background": "#ffffff"}),
        ({"background": "#222222"}, {"background": "#5b5b5b"}),
        ({"blend": "on", "gradient__color": "#ffd54f"}, {"gradient.color": "#bb8e00"}),
    ],
)
def test_colors_without_contrast_have_a_button_that_repairs_them(
    dashboard: Browser, fields: dict[str, str], repair: dict[str, str]
) -> None:
    page = _design(dashboard, "/qr/preview", type="text", text__text="Hello", **fields)
    preview = page.text.partition('id="preview"')[2].partition("</aside>")[0]
    button = re.search(r'data-fields="([^"]+)"', preview)
    assert button is not None
    assert json.loads(html.unescape(button[1])) == repair
    repaired = {name.replace("gradient.color", "gradient__color"): value for name, value in repair.items()}
    page = _design(dashboard, "/qr/preview", type="text", text__text="Hello", **{**fields, **repaired})
    assert _preview_content(page) == "Hello"


def test_code_without_contrast_is_shown_next_to_the_warning(ana: Person, dashboard: Browser) -> None:
    pale = {"text__text": "Hello", "foreground": "#ffd54f"}
    code = ana.add("qr", type="text", data="Hello")
    for path, at in (("/qr/preview", "/qr/new"), (f"/qr/{code}/preview", f"/qr/{code}")):
        version = hidden_field(dashboard.get(at), "version")
        page = _design(dashboard, path, at, type="text", version=version, **pale)
        preview = page.text.partition('id="preview"')[2].partition("</aside>")[0]
        picture = re.search(r'src="data:image/svg\+xml;base64,([^"]+)" alt="QR code that cannot be scanned"', preview)
        assert picture is not None, preview
        assert b"#ffd54f" in base64.b64decode(picture[1])
        assert ("Too pale to scan." in preview, "Use this color" in preview) == (True, True)
        assert "This code can be scanned." not in preview
    invalid = _design(dashboard, "/qr/preview", type="phone", phone__phone="one", foreground="#ffd54f")
    assert "QR code that cannot be scanned" not in invalid.text, "no content, no picture"


def test_logo_of_a_saved_code_is_shown_to_its_owner_only(ana: Person, ben: Person, dashboard: Browser) -> None:
    code, _ = new_code(ana, logo=LOGO)
    assert f'src="/dashboard/qr/{code}/logo?v=1"' in dashboard.get(f"/qr/{code}").text
    assert dashboard.get(f"/qr/{code}/logo").content.startswith(b"\x89PNG")
    foreign, _ = new_code(ben, logo=LOGO)
    plain, _ = new_code(ana)
    assert [dashboard.get(f"/qr/{other}/logo").status_code for other in (foreign, plain)] == [404, 404]


@ON_BOTH_DATABASES
def test_former_logos_are_offered_once_and_used_by_owner_only(ana: Person, ben: Person, dashboard: Browser) -> None:
    first, _ = new_code(ana, logo=LOGO)
    second, _ = new_code(ana, logo=LOGO)
    wide, _ = new_code(ana, logo=data_url(png(300, height=120)))
    foreign, _ = new_code(ben, logo=LOGO)
    page = dashboard.get("/qr/new")
    assert re.findall(r'name="former"\s+value="(\d*)"', page.text) == ["", str(wide), str(second)]
    text = {"type": "text", "text__text": "With a logo"}
    assert dashboard.flash_message(_design(dashboard, former=str(wide), **text)) == "Your QR code is ready."
    copy = _newest(ana)["id"]
    assert dashboard.get(f"/qr/{copy}/logo").content == dashboard.get(f"/qr/{wide}/logo").content
    assert _design(dashboard, former=str(foreign), **text).status_code == 404
    preview = _design(dashboard, "/qr/preview", former=str(first), margin="99", **text)
    assert "data:image/png" not in preview.text, "the page does not repeat the logo"


def test_files_of_a_code_are_called_by_its_name_in_designer_and_gallery(ana: Person, dashboard: Browser) -> None:
    code, alias = new_code(ana, name="Poster Autumn")
    links = re.findall(r'href="/qr/[^"]+"[^<>]*?download="([^"]+)"', dashboard.get(f"/qr/{code}").text)
    assert links == [
        *("Poster Autumn.svg", "Poster Autumn 512.png", "Poster Autumn 1024.png", "Poster Autumn 4096.png"),
        *("Poster Autumn 5 cm.pdf", "Poster Autumn transparent.svg", "Poster Autumn transparent.png"),
        "Poster Autumn 5 cm.pdf",
    ]
    gallery = dict(re.findall(r'href="(/qr/[^"]+)"\s+download="([^"]+)"', dashboard.get("/qr").text))
    assert gallery == {
        f"/qr/{alias}.svg": "Poster Autumn.svg",
        f"/qr/{alias}.png?size=1024": "Poster Autumn.png",
        f"/qr/{alias}.pdf?size=142": "Poster Autumn.pdf",
    }


def test_preview_names_the_field_by_its_label(dashboard: Browser) -> None:
    wifi = {"wifi__ssid": "", "wifi__pass": "a password", "wifi__encryption": "", "wifi__hidden": ""}
    page = _design(dashboard, "/qr/preview", type="wifi", **wifi)
    preview = page.text.partition('id="preview"')[2].partition("</aside>")[0]
    assert '<a href="#wifi.ssid">Network name</a> is required' in preview
    dashboard.submit("/language", at="/qr", language="de")
    page = _design(dashboard, "/qr/preview", type="wifi", **wifi)
    preview = page.text.partition('id="preview"')[2].partition("</aside>")[0]
    assert re.search(r'<a href="#wifi.ssid">[^<]+</a> ist erforderlich', preview)


def test_designer_keeps_logo_until_removed_and_rejects_stale_form(ana: Person, dashboard: Browser) -> None:
    code, _ = new_code(ana, "text", "Hello", logo=LOGO, gradient={"color": "#000044"})
    path = f"/qr/{code}"
    version = hidden_field(dashboard.get(path), "version")
    fields = {"type": "text", "text__text": "Changed"}
    assert dashboard.flash_message(_design(dashboard, path, path, version=version, **fields)) == "Saved."
    details = ana.get(path)["details"]
    assert (details["data"], details["logo"], details["gradient"]) == ({"text": "Changed"}, True, None)
    second = _design(dashboard, path, path, version=version, type="text", text__text="By the second")
    assert second.status_code == 400
    assert "changed since you opened it" in second.text
    assert ana.get(path)["details"]["data"] == {"text": "Changed"}
    assert (
        dashboard.flash_message(
            _design(dashboard, path, path, version=hidden_field(second, "version"), unlogo="on", **fields)
        )
        == "Saved."
    )
    assert ana.get(path)["details"]["logo"] is False


@pytest.mark.parametrize(
    ("type", "data"),
    [
        ("vcard", "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ana\r\nEND:VCARD\r\n"),
        ("crypto", "litecoin:LhK2kQwiaAvhjWY799cZvMyYwnQAcxkarr?amount=1"),
        ("geo", "52.52,13.405"),
        ("sms", "SMSTO:+4930123456:Hello"),
        ("wifi", "WIFI:T:WPA;S:Net;P:password;;"),
        ("app", "https://apps.apple.com/app/id1"),
        ("link", "https://example.com/"),
    ],
)
def test_raw_content_of_api_can_be_edited(ana: Person, dashboard: Browser, type: str, data: str) -> None:
    code, _ = new_code(ana, type, data)
    page = dashboard.get(f"/qr/{code}")
    assert page.status_code == 200
    assert _preview_content(page) is not None
    text = html.unescape(page.text)
    assert any(part in text for part in (data.strip(), "+4930123456", 'value="Net"'))


def test_code_list_supports_search_and_bulk_deletion_of_own_codes_only(
    ana: Person, ben: Person, dashboard: Browser
) -> None:
    own_ids = [new_code(ana, name=name)[0] for name in ("Menu", "Poster", "<script>alert(1)</script>")]
    foreign_id, _ = new_code(ben, name="bens")

    def listed(q: str) -> list[str]:
        return re.findall(r"<bdi>(.*?)</bdi>", dashboard.get("/qr", params={"q": q}).text)

    assert listed("") == ["&lt;script&gt;alert(1)&lt;/script&gt;", "Poster", "Menu"]
    assert listed("poST") == ["Poster"]
    assert listed("bens") == []
    for path in (f"/qr/{foreign_id}", f"/qr/{foreign_id}/delete", f"/qr/{foreign_id}/stats"):
        assert dashboard.get(path).status_code == 404, path
    for path in (f"/qr/{foreign_id}", f"/qr/{foreign_id}/preview"):
        assert _design(dashboard, path, "/qr/new", type="text", text__text="Mine").status_code == 404, path
    for path in ("/qr/delete", "/qr/bulk"):
        message = dashboard.submit_for_message(path, at="/qr", id=[foreign_id])
        assert message == "1 item was deleted already and was skipped.", path
    assert "bens" not in dashboard.submit("/qr/bulk", at="/qr", id=[foreign_id, own_ids[0]]).text
    assert "Delete 2 QR codes?" in dashboard.submit("/qr/bulk", at="/qr", id=own_ids[:2]).text
    assert dashboard.submit_for_message("/qr/delete", at="/qr", id=own_ids[:2]) == "2 QR codes were deleted."
    assert dashboard.submit_for_message("/qr/bulk", at="/qr") == "Select at least one QR code."
    assert (ana.get("/qr")["data"]["result"], ben.get("/qr")["data"]["result"]) == (1, 1)
