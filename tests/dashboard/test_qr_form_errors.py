"""The QR designer shows the errors of all its fields and parts at once, each linked to its input."""

import html
import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser, form_version
from tests.support.databases import ON_SQLITE
from tests.support.form_errors import only_error
from waypost.items.qr.form import PARTS

pytestmark = ON_SQLITE
_URL = "https://example.com/"


def _errors(response: Any) -> list[str]:
    """Return `field: text` of each error in the summary, and check that the field exists and refers to its message."""
    assert response.status_code == 400
    if error := only_error(response.text):
        return [": ".join(error)]
    banner = response.text.partition("data-summary")[2].partition("</ul>")[0]
    errors = []
    for target, item in re.findall(r'<li><a href="#([^"]+)">(.*?)</li>', banner, re.DOTALL):
        assert response.text.count(f' id="{target}"') == 1
        assert f'id="{target}-error"' in response.text
        if target != "data":
            assert f'aria-describedby="{target}-error"' in response.text
        errors.append(f"{target}: {html.unescape(re.sub('<[^>]+>', '', item)).strip()}")
    assert banner.count("<li>") == len(errors)
    return errors


def _fields(code: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of the designer, with all parts of the type."""
    return {**{f"{code['type']}.{part}": "" for part in PARTS[code["type"]]}, **code}


def _assert_errors(response: Any, expected: list[str]) -> None:
    errors = _errors(response)
    assert len(errors) == len(expected), errors
    for error, beginning in zip(errors, expected, strict=True):
        assert error.startswith(beginning), errors


_WIFI = {"type": "wifi", "wifi.pass": "x" * 8, "name": "x" * 300, "foreground": "zz", "caption": "\U0001f980"}


@pytest.mark.parametrize(
    ("code", "errors"),
    [
        (
            {**_WIFI, "custom": "a b"},
            [
                "wifi.ssid: Network name is required",
                "name: Name must",
                "custom: Address of the code cannot have",
                "foreground: Foreground must",
                "caption: Caption has",
            ],
        ),
        (
            {"type": "wifi", "wifi.encryption": "WPA", "custom": "taken", "foreground": "#eeeeee"},
            [
                "wifi.ssid: Network",
                "wifi.pass: Password: Enter",
                "custom: Address of the code",
                "foreground: Foreground: This code could",
            ],
        ),
        (
            {"type": "event", "event.start": "2026-12-24T18:00", "event.end": "2026-12-24T17:00"},
            ["event.title: Title is required", "event.end: End must not be before"],
        ),
        (
            {"type": "event", "event.title": "x", "event.start": "soon", "event.end": "2026-12-24T17:00"}
            | {"event.url": "a b"},
            ["event.start: Start must be", "event.url: Website: This is not an address"],
        ),
        ({"type": "geo", "geo.lat": "abc", "geo.lng": "999"}, ["geo.lat: Latitude must", "geo.lng: Longitude: Enter"]),
        (
            {"type": "vcard", "vcard.email": "x", "vcard.site": "foo bar", "vcard.cell": "x", "vcard.fax": "y"},
            [
                "vcard.cell: Mobile must",
                "vcard.email: E-mail must",
                "vcard.site: Website: This is not an address",
                "vcard.fax: Fax must",
                "data: Content needs a first name",
            ],
        ),
        ({"type": "app", "app.url": "foo"}, ["app.url: This is not an address"]),
        (
            {"type": "app", "app.apple": "foo", "app.google": "bar", "app.url": _URL, "name": "x" * 300},
            [
                "app.apple: App Store: This is not an address",
                "app.google: Google Play: This is not an address",
                "name: Name must",
            ],
        ),
        (
            {"type": "crypto", "crypto.currency": "dash", "crypto.address": "dash:1", "crypto.amount": "-1"},
            ["crypto.amount: Amount must", "crypto.address: Address must"],
        ),
    ],
)
def test_all_errors_of_a_code_are_reported_at_once(
    ana: Person, dashboard: Browser, code: dict[str, str], errors: list[str]
) -> None:
    ana.add("url", url=_URL, custom="taken")
    _assert_errors(dashboard.submit("/qr/new", **_fields(code)), errors)
    assert ana.get("/qr")["data"]["result"] == 0


def test_invalid_change_of_a_code_reports_all_errors_and_changes_nothing(ana: Person, dashboard: Browser) -> None:
    code = ana.add("qr", type="geo", data={"lat": "1", "lng": "2"}, name="Here")
    path = f"/qr/{code}"
    before, version = ana.details("qr", code), form_version(dashboard.get(path), path)
    fields = _fields({"type": "geo", "geo.lat": "91", "geo.lng": "x", "name": "x" * 300, "background": "zz"})
    errors = ["geo.lat: Latitude: Enter", "geo.lng: Longitude must", "name: Name must", "background: Background must"]
    _assert_errors(dashboard.submit(path, **fields, version=version), errors)
    assert ana.details("qr", code) == before
    valid = _fields({"type": "geo", "geo.lat": "3", "geo.lng": "4", "name": "There"})
    assert dashboard.submit_for_message(path, at=path, **valid, version=version) == "Saved."
    assert ana.details("qr", code)["data"] == {"lat": "3", "lng": "4"}


def test_forged_type_is_the_only_error_of_the_content(dashboard: Browser) -> None:
    fields = {"type": "none", "name": "x" * 300}
    _assert_errors(dashboard.submit("/qr/new", **fields), ["type: Type must", "name: Name must"])
