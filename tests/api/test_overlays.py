"""CTA overlays: fields and required fields of each type (decision 40)."""

from typing import Any

import pytest

from tests.conftest import Person
from tests.support.assertions import refused
from tests.support.databases import ON_SQLITE

COMMON = {
    "name": "An overlay",
    "message": "Two\nlines",
    "label": "Look",
    "link": "https://example.com/",
    "position": "center",
    "color": "#112233",
    "background": "#AABBCC",
    "delay": 7,
    "webhook": "https://example.com/hook",
}
EXTRAS: dict[str, Any] = {
    "button": "Send",
    "thanks": "Thank\nyou",
    "options": ["Red", "Blue"],
    "code": "SAVE-10",
    "image": "https://example.com/picture.png",
}
NOTHING = {"button": "", "thanks": "", "options": [], "code": "", "image": ""}
HAS = {
    "message": (),
    "contact": ("button", "thanks"),
    "poll": ("options",),
    "newsletter": ("button", "thanks"),
    "coupon": ("code",),
    "image": ("image",),
}
NEEDS = {"poll": "options", "coupon": "code", "image": "image"}


def _add(person: Person, **fields: Any) -> int:
    return person.add("overlay", **{"name": "An overlay", **fields})


def _add_with_all_fields(person: Person, kind: str) -> int:
    return _add(person, type=kind, **{name: EXTRAS[name] for name in HAS[kind]})


def _extras(kind: str) -> dict[str, Any]:
    return {**NOTHING, **{name: EXTRAS[name] for name in HAS[kind]}}


def test_overlay_has_fields_of_its_type_only(ana: Person) -> None:
    for kind in HAS:
        overlay = _add(ana, type=kind, **COMMON, **EXTRAS)
        details = ana.details("overlay", overlay)
        assert details.pop("date")
        assert details == {"id": overlay, "type": kind, **COMMON, **_extras(kind)}


def test_overlay_list_shows_type_and_name(ana: Person) -> None:
    ids = {kind: _add_with_all_fields(ana, kind) for kind in HAS}
    listed = ana.get("/overlay")["data"]["cta"]
    assert [(item["id"], item["type"], item["name"]) for item in listed] == [
        (overlay, kind, "An overlay") for kind, overlay in reversed(ids.items())
    ]
    assert {tuple(item) for item in listed} == {("id", "type", "name", "date")}


@ON_SQLITE
def test_overlay_without_required_field_is_rejected(ana: Person) -> None:
    empty_values: dict[str, Any] = {"options": [], "code": "", "image": ""}
    for kind, field in NEEDS.items():
        body = {"name": "x", "type": kind, **{name: value for name, value in EXTRAS.items() if name != field}}
        for lacking in (body, {**body, field: None}, {**body, field: empty_values[field]}):
            assert field in refused(ana.call("POST", "/overlay/add", lacking), 400, field)
    assert ana.get("/overlay")["data"]["result"] == 0


@ON_SQLITE
def test_other_overlay_types_have_no_required_fields(ana: Person) -> None:
    for kind in HAS.keys() - NEEDS.keys():
        assert {name: ana.details("overlay", _add(ana, type=kind))[name] for name in NOTHING} == NOTHING


def test_overlay_update_keeps_other_fields(ana: Person) -> None:
    for kind in HAS:
        overlay = _add_with_all_fields(ana, kind)
        changed = {**ana.details("overlay", overlay), "name": "Renamed", "delay": 9}
        for body in ({"name": "Renamed", "delay": 9}, {}, {"type": kind}):
            ana.update("overlay", overlay, **body)
            assert ana.details("overlay", overlay) == changed


@ON_SQLITE
def test_required_overlay_field_cannot_be_cleared(ana: Person) -> None:
    for kind, field in NEEDS.items():
        overlay = _add_with_all_fields(ana, kind)
        before = ana.details("overlay", overlay)
        refused(ana.call("PUT", f"/overlay/{overlay}/update", {field: None, "name": "Renamed"}), 400, field)
        assert ana.details("overlay", overlay) == before


@ON_SQLITE
@pytest.mark.parametrize("kind", ["contact", "newsletter"])
def test_optional_overlay_field_can_be_cleared(ana: Person, kind: str) -> None:
    overlay = _add_with_all_fields(ana, kind)
    ana.update("overlay", overlay, button=None, thanks=None)
    assert {name: ana.details("overlay", overlay)[name] for name in NOTHING} == NOTHING


@pytest.mark.parametrize("kind", HAS)
@ON_SQLITE
def test_overlay_type_change_requires_and_drops_fields(kind: str, ana: Person) -> None:
    overlay = _add(ana, type="contact", **COMMON, button="Old", thanks="Old")
    path = f"/overlay/{overlay}/update"
    if kind in NEEDS:
        refused(ana.call("PUT", path, {"type": kind}), 400, NEEDS[kind])
        assert ana.details("overlay", overlay)["type"] == "contact"
    ana.put(path, {"type": kind, **EXTRAS})
    details = ana.details("overlay", overlay)
    assert {name: details[name] for name in ("type", *COMMON, *EXTRAS)} == {"type": kind, **COMMON, **_extras(kind)}
    ana.put(path, {"type": "message"})
    assert {name: ana.details("overlay", overlay)[name] for name in NOTHING} == NOTHING
    if kind in NEEDS:  # dropped fields are gone
        refused(ana.call("PUT", path, {"type": kind}), 400, NEEDS[kind])


@ON_SQLITE
def test_overlay_update_ignores_fields_of_other_types(ana: Person) -> None:
    overlay = _add_with_all_fields(ana, "coupon")
    ana.update("overlay", overlay, image=EXTRAS["image"], button="Send", options=["a", "b"])
    assert {name: ana.details("overlay", overlay)[name] for name in NOTHING} == _extras("coupon")


@ON_SQLITE
def test_poll_has_two_to_ten_ordered_options(ana: Person) -> None:
    for options, stored_options in (
        (["a", "b"], ["a", "b"]),
        (["b", "a", "c"], ["b", "a", "c"]),
        ([" a ", "<b>"], ["a", "<b>"]),
        ([str(number) for number in range(10)], [str(number) for number in range(10)]),
    ):
        assert ana.details("overlay", _add(ana, type="poll", options=options))["options"] == stored_options
    invalid_options: list[Any] = [["a"], ["a"] * 11, *(["a", option] for option in ("", "  ", None, 1, "x\ny"))]
    for options in (*invalid_options, ["a", "x" * 256]):
        refused(ana.call("POST", "/overlay/add", {"name": "x", "type": "poll", "options": options}), 400, "options")


@ON_SQLITE
def test_overlay_position_is_validated(ana: Person) -> None:
    edges = [f"{edge}-{side}" for edge in ("top", "bottom") for side in ("left", "center", "right")]
    for position in (*edges, "center"):
        assert ana.details("overlay", _add(ana, type="message", position=position))["position"] == position


@ON_SQLITE
def test_overlay_urls_must_be_web_urls(ana: Person) -> None:
    for url in ("javascript:alert(1)", "data:image/png;base64,AA", "/x.png", "mailto:ana@example.com", "https://"):
        refused(ana.call("POST", "/overlay/add", {"name": "x", "type": "image", "image": url}), 400, "image")
        refused(ana.call("POST", "/overlay/add", {"name": "x", "type": "message", "link": url}), 400, "link")
    overlay = _add(ana, type="image", image=" https://example.com/x.png ", link="https://example.com/y\n")
    assert [ana.details("overlay", overlay)[name] for name in ("image", "link")] == [
        "https://example.com/x.png",
        "https://example.com/y",
    ]
