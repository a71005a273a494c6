"""Request bodies of real clients: empty strings, numbers and booleans as text, enumerations, times, forms."""

from typing import Any
from urllib.parse import urlencode

import pytest

from tests.conftest import Person
from tests.support.assertions import refused

FORM = "application/x-www-form-urlencoded"
URL = "https://example.com/"


@pytest.mark.parametrize(
    "field",
    [
        *(
            "custom",
            "domain",
            "title",
            "description",
            "password",
            "expiry",
            "clicklimit",
            "expiryurl",
            "type",
            "status",
        ),
        *("metatitle", "metadescription", "metaimage", "pixels", "channel", "campaign", "geotarget"),
        *("devicetarget", "languagetarget", "deeplink", "parameters"),
    ],
)
def test_empty_string_in_optional_field_means_null(ana: Person, field: str) -> None:
    empty, null = (ana.post("/url/add", {"url": URL, field: value})["id"] for value in ("", None))
    ana.put(f"/url/{empty}/update", {field: ""})
    ana.put(f"/url/{null}/update", {field: None})
    details = [ana.get(f"/url/{link}")["details"] for link in (empty, null)]
    for item in details:
        for own in ("id", "alias", "shorturl", "date"):
            item.pop(own)
    assert details[0] == details[1]


def test_empty_string_in_required_field_is_rejected(ana: Person) -> None:
    refused(ana.call("POST", "/url/add", json={"url": ""}), 400, "url")
    refused(ana.call("POST", "/pixel/add", json={"type": "", "name": "x", "tag": "y"}), 400, "type")


def test_empty_strings_of_all_nouns_are_accepted(ana: Person) -> None:
    for path, body in (
        (
            "/campaign/add",
            {"name": "", "slug": "", "rotation": "", "public": "", "indexable": "", "sticky": "", "winner": ""},
        ),
        ("/qr/add", {"type": "link", "data": URL, "custom": "", "foreground": "", "background": "", "logo": ""}),
        ("/bio/add", {"name": "Me", "alias": "", "title": "", "theme": "", "blocks": ""}),
        ("/domain/add", {"domain": "https://brand.example", "redirectroot": "", "redirect404": ""}),
        (
            "/splash/add",
            {"name": "Hi", "title": "", "message": "", "counter": "", "link": "", "banner": ""},
        ),
    ):
        assert ana.post(path, body)["error"] == 0, path


@pytest.mark.parametrize(("text", "value"), [("4", 4), ("0004", 4)])
def test_numbers_are_accepted_as_text(ana: Person, text: str, value: int) -> None:
    link = ana.post("/url/add", {"url": URL, "clicklimit": text})["id"]
    assert ana.get(f"/url/{link}")["details"]["clicklimit"] == value
    channel = ana.post("/channel/add", {"name": "News"})["id"]
    ana.put(f"/url/{link}/update", {"channel": [str(channel)]})
    assert ana.get(f"/url/{link}")["details"]["channel"] == [channel]


@pytest.mark.parametrize("text", ["4.0", " 4", "4 ", "four", "1e3", "٤", "0x4", "9" * 17, "+4"])
def test_other_text_is_no_number(ana: Person, text: str) -> None:
    refused(ana.call("POST", "/url/add", json={"url": URL, "clicklimit": text}), 400, "clicklimit")


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False), ("1", True), ("0", False)])
def test_booleans_are_accepted_as_text(ana: Person, text: str, value: bool) -> None:  # noqa: FBT001  # a table
    campaign = ana.post("/campaign/add", {"name": text, "public": text})["id"]
    assert ana.get(f"/campaign/{campaign}")["details"]["public"] is value
    refused(ana.call("POST", "/campaign/add", json={"public": "yes"}), 400, "public")


def test_enumerations_ignore_case(ana: Person) -> None:
    link = ana.post("/url/add", {"url": URL, "type": "Direct", "status": "Private"})["id"]
    details = ana.get(f"/url/{link}")["details"]
    assert (details["type"], details["status"]) == ("direct", "private")
    code = ana.post("/qr/add", {"type": "Link", "data": URL, "level": "h", "modules": "Dots", "eyes": "CIRCLE"})["id"]
    assert ana.get(f"/qr/{code}")["details"]["type"] == "link"
    bio = ana.post("/bio/add", {"name": "Me", "blocks": [{"type": "Heading", "text": "Hello"}]})["id"]
    assert ana.get(f"/bio/{bio}")["details"]["blocks"][0]["type"] == "heading"
    overlay = ana.post("/overlay/add", {"name": "O", "type": "Message", "position": "Top-Left", "message": "x"})["id"]
    assert ana.get(f"/overlay/{overlay}")["details"]["position"] == "top-left"
    ana.post("/pixel/add", {"type": "AnalyticsPixel", "name": "P", "tag": "G-1"})
    ana.post("/campaign/add", {"name": "R", "slug": "rrr", "rotation": "Ordered"})


@pytest.mark.parametrize(
    "time",
    [
        *("2099-03-01T10:00:00.000Z", "2099-03-01T12:00:00+02:00", "2099-03-01T05:00:00.123456789-05:00"),
        *("2099-03-01 10:00:00 +0000 UTC", "2099-03-01 12:00:00.5 +0200 CEST", "2099-03-01T12:00+0200"),
        # A `+` that is not escaped in a query arrives as a blank.
        *("2099-03-01T12:00:00 02:00", "2099-03-01 12:00:00.5  0200 CEST", "2099-03-01T12:00 0200"),
    ],
)
def test_expiry_accepts_offsets_and_fractions(ana: Person, time: str) -> None:
    link = ana.post("/url/add", {"url": URL, "expiry": time})["id"]
    assert ana.get(f"/url/{link}")["details"]["expiry"] == "2099-03-01 10:00:00"


def test_past_date_alone_is_refused_with_the_end_of_its_day(ana: Person) -> None:
    for value, names_end in (("2020-03-01", True), ("2020-03-01 10:00:00", False)):
        answer = ana.call("POST", "/url/add", json={"url": URL, "expiry": value})
        refused(answer, 400, "expiry")
        assert ("ends at 23:59:59 UTC" in answer.json()["message"]) == names_end


@pytest.mark.parametrize(
    "time", ["2099-03-01Z", "9999-12-31T23:59:59-12:00", "2099-03-01T10:00+25:00", "2099-03-01T10"]
)
def test_invalid_times_are_rejected(ana: Person, time: str) -> None:
    refused(ana.call("POST", "/url/add", json={"url": URL, "expiry": time}), 400, "expiry")


def _form(
    ana: Person, method: str, path: str, fields: Any, content_type: str = "application/x-www-form-urlencoded"
) -> Any:
    body = fields if isinstance(fields, str) else urlencode(fields)
    return ana.call(method, path, content=body, headers={"Content-Type": content_type})


def test_forms_create_and_update(ana: Person) -> None:
    channel = ana.post("/channel/add", {"name": "News"})["id"]
    fields = [("url", "https://example.com/ä"), ("custom", "form"), ("clicklimit", "5"), ("title", "")]
    fields += [("channel[]", str(channel)), ("deeplink[apple]", "https://apps.apple.com/app/id1")]
    link = _form(ana, "POST", "/url/add", fields, f"{FORM}; charset=utf-8").json()["id"]
    details = ana.get(f"/url/{link}")["details"]
    assert (details["alias"], details["clicklimit"], details["channel"]) == ("form", 5, [channel])
    assert details["deeplink"]["apple"] == "https://apps.apple.com/app/id1"
    assert _form(ana, "PUT", f"/url/{link}/update", {"title": "From a form"}).json()["error"] == 0
    assert ana.get(f"/url/{link}")["details"]["title"] == "From a form"


def test_json_is_read_with_any_content_type(ana: Person) -> None:
    assert _form(ana, "POST", "/url/add", ' {"url": "https://example.com/"}').json()["error"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        *(("url=a&url=b", "url"), ("url=a&url[]=b", "url"), ("deeplink[x]=1&deeplink[x]=2", "deeplink")),
        *(("url=%ff", None), ("url=ä", None), ("a=1&" * 2000, None)),
    ],
)
def test_ambiguous_and_malformed_forms_are_rejected(ana: Person, body: str, field: str | None) -> None:
    refused(_form(ana, "POST", "/url/add", body), 400, field)
