"""QR codes through the API: what only they have (decisions 30 to 36)."""

from typing import Any

import pytest
from sqlalchemy import select, update

from tests.conftest import BASE, Person
from tests.support.qr_decoders import LOGO, new_code, refused, zxing
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.schema import accounts, qrs
from waypost.items.qr import ops


def _picture(person: Person, alias: str, **query: Any) -> bytes:
    response = person.client.get(f"/qr/{alias}", params=query)
    assert response.status_code == 200, response.text
    return bytes(response.content)


def test_tracked_code_contains_short_url_and_others_their_content(ana: Person) -> None:
    wifi = {"ssid": "Home", "pass": "secret words"}
    held = {"text": "Hello", "wifi": "WIFI:T:WPA;S:Home;P:secret words;;", "geo": "geo:52.52,13.4"}
    for kind, data in (("text", "Hello"), ("wifi", wifi), ("geo", "52.52, 13.40")):
        code, alias = new_code(ana, kind, data)
        assert zxing(_picture(ana, alias)) == held[kind]
        assert ana.details("qr", code)["dynamic"] is False
    for kind, data in (
        ("vcard", "Ana"),
        ("link", "https://e.com/"),
        ("email", "a@e.com"),
        ("phone", "112"),
        ("sms", "112"),
    ):
        code, alias = new_code(ana, kind, data)
        assert zxing(_picture(ana, alias)) == f"{BASE}/{alias}"
        assert ana.details("qr", code)["dynamic"] is True


def test_dynamic_overrides_type_and_cannot_change(ana: Person) -> None:
    code, alias = new_code(ana, "link", "https://example.com/a", dynamic=False)
    assert zxing(_picture(ana, alias)) == "https://example.com/a"
    response = ana.call("PUT", f"/qr/{code}/update", {"data": "https://example.com/b", "dynamic": True})
    assert (response.status_code, response.json()["field"]) == (400, "dynamic")
    ana.update("qr", code, data="https://example.com/b", dynamic=False)
    assert zxing(_picture(ana, alias)) == "https://example.com/b"
    assert refused(ana, type="app", data="https://example.com/", dynamic=False)[0] == "dynamic"


def test_unknown_data_field_is_named_and_rejected(ana: Person) -> None:
    deep = "[" * 900 + "]" * 900
    for junk in (r'"\ud800": 1', r'"junk": "\u0000"', r'"junk": "\ud800"', '"junk": 1e400', f'"junk": {deep}'):
        body = f'{{"type": "sms", "data": {{"phone": "112", {junk}}}}}'
        response = ana.call("POST", "/qr/add", content=body.encode())
        assert (response.status_code, response.json()["field"]) == (400, "data"), response.text
        assert "is not a part of the type sms, which has phone, message." in response.json()["message"]
    code, _ = new_code(ana, "sms", {"phone": "112", "note": "", "name": None})
    assert ana.details("qr", code)["data"] == {"phone": "112"}


def test_type_change_keeps_alias_and_validates_data(ana: Person) -> None:
    code, alias = new_code(ana)
    before = _picture(ana, alias)
    ana.update("qr", code, type="email", data={"email": "ana@example.com"})
    assert _picture(ana, alias) == before
    assert ana.client.get(f"/{alias}").headers["location"] == "mailto:ana@example.com"
    response = ana.call("PUT", f"/qr/{code}/update", {"type": "phone", "data": "not a number"})
    assert (response.status_code, response.json()["field"]) == (400, "data")


def test_style_change_keeps_other_fields(ana: Person) -> None:
    code, _ = new_code(ana, "text", "Hello", foreground="rgb(10, 20, 120)", logo=LOGO, name="Card")
    ana.update("qr", code, data="Hello you")
    details = ana.details("qr", code)
    assert (details["foreground"], details["logo"], details["name"], details["version"]) == ("#0a1478", True, "Card", 2)
    ana.update("qr", code, data="Hello you", logo=None)
    assert ana.details("qr", code)["logo"] is False


COLOURS = (
    ({"foreground": "#ffffff", "background": "#000000"}, "foreground", "swap them"),
    ({"foreground": "#ffd000"}, "foreground", "contrast of 1.5:1"),
    ({"background": "#303030"}, "foreground", "make foreground darker or background lighter"),
    ({"gradient": {"color": "#ffee88"}}, "gradient", "make gradient darker"),
    ({"foreground": "#12"}, "foreground", "rgb(r,g,b)"),
    ({"foreground": "dark"}, "foreground", "a name such as navy"),
    ({"background": "transparent"}, "background", "the surface behind the code would decide"),
    ({"foreground": "rgb(0,0,300)"}, "foreground", "0 to 255"),
)


@pytest.mark.parametrize(("colours", "field", "message"), COLOURS)
def test_unreadable_colors_are_rejected_with_reason(
    ana: Person, colours: dict[str, Any], field: str, message: str
) -> None:
    rejection = refused(ana, type="text", data="Hello", **colours)
    assert rejection[0] == field
    assert message in rejection[1]
    assert ana.get("/qr")["data"]["result"] == 0


@pytest.mark.parametrize(("level", "most"), [("L", 2953), ("M", 2331), ("Q", 1663), ("H", 1273)])
def test_content_over_capacity_is_rejected_with_byte_count(ana: Person, level: str, most: int) -> None:
    field, message = refused(ana, type="text", data="a" * (most + 7), level=level)
    assert field == "data"
    assert f"{most + 7} bytes, 7 too many." in message
    assert f"{most + 1} bytes, 1 too many." in refused(ana, type="text", data="a" * (most + 1), level=level)[1]
    _, alias = new_code(ana, "text", "a" * most, level=level)
    assert zxing(_picture(ana, alias, size=1000)) == "a" * most


def test_auto_level_selects_fitting_level(ana: Person) -> None:
    _, alias = new_code(ana, "text", "a" * 2953)
    assert zxing(_picture(ana, alias, size=1000)) == "a" * 2953


def test_code_accepts_own_short_link_but_not_itself(ana: Person) -> None:
    ana.post("/url/add", {"url": "https://example.com/", "custom": "spring"})
    code, alias = new_code(ana, "link", f"{BASE}/spring")
    response = ana.call("PUT", f"/qr/{code}/update", {"data": f"{BASE}/{alias}"})
    assert (response.status_code, response.json()["field"]) == (400, "data")


def test_custom_alias_is_unique(ana: Person, ben: Person) -> None:
    new_code(ana, custom="my-code")
    assert refused(ben, type="text", data="x", custom="my-code") == (
        "custom",
        "That alias is taken. Please choose another one.",
    )


def test_deleted_code_returns_404_and_alias_stays_reserved(ana: Person, ben: Person) -> None:
    code, alias = new_code(ana, custom="printed")
    ana.remove("qr", code)
    for path in (f"/{alias}", f"/qr/{alias}", f"/{alias}/qr"):
        assert ana.client.get(path).status_code == 404
    assert refused(ben, type="text", data="x", custom="printed")[0] == "custom"
    new_code(ana, custom="printed")


def test_codes_keep_working_after_plan_expires(ana: Person) -> None:
    _, alias = new_code(ana)
    ana.write(lambda tx: tx.execute(update(accounts).values(expires=clock.now() - 86_400)))
    assert ana.client.get(f"/{alias}").headers["location"] == "https://example.com/page"
    assert zxing(_picture(ana, alias)) == f"{BASE}/{alias}"


def test_concurrent_changes_do_not_mix(ana: Person) -> None:
    """The second change is repeated on top of the first, so that the saved code is the verified one."""
    code, _ = new_code(ana, "text", "Hello")
    settings = Settings(base_url=BASE)

    def work(tx: Any) -> tuple[bool, bool]:
        first = ops.draft_change(tx, ana.account, code, settings=settings, foreground="#111111")
        second = ops.draft_change(tx, ana.account, code, settings=settings, background="#eeeeee")
        return ops.change(tx, ana.account, code, first), ops.change(tx, ana.account, code, second)

    assert ana.write(work) == (True, False)
    assert ana.details("qr", code)["background"] == "#ffffff"


def test_channel_preview_of_code_is_its_image(ana: Person) -> None:
    code, alias = new_code(ana, name="Card")
    channel = ana.add("channel", name="Friends")
    ana.post(f"/channel/{channel}/assign/qr/{code}")
    (item,) = ana.get(f"/channel/{channel}")["data"]["items"]
    assert item["preview"] == f"{BASE}/qr/{alias}"
    assert zxing(ana.client.get(item["preview"]).content) == item["link"] == f"{BASE}/{alias}"


def test_logo_is_stored_as_copy(ana: Person) -> None:
    code, _ = new_code(ana, logo=LOGO)
    stored_logo = ana.write(lambda tx: tx.execute(select(qrs.c.logo).where(qrs.c.id == code)).scalar_one())
    assert stored_logo.startswith(b"\x89PNG")
