"""The settable fields of links (decisions 42 and 43)."""

import re
from datetime import UTC, datetime
from typing import Any

import time_machine
from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES
from waypost.db import schema

GOOD = "https://example.com/"
NOW = datetime(2030, 6, 15, 12, 0, 0, tzinfo=UTC)
EMPTY: dict[str, Any] = {
    **dict.fromkeys(("title", "description", "expiry", "expiryurl", "metatitle", "metadescription", "metaimage"), ""),
    **{name: [] for name in ("pixels", "channel", "geotarget", "devicetarget", "languagetarget", "parameters")},
    **dict.fromkeys(("clicklimit", "campaign")),
    "status": "public",
    "type": "direct",
    "password": False,
    "deeplink": {},
    "dropquery": False,
}


def _link(person: Person, **fields: Any) -> int:
    return person.add("url", **{"url": GOOD, **fields})


def _related(person: Person) -> dict[str, int]:
    """Create one of each resource that a link can refer to; returns their ids by noun."""
    bodies = {
        "campaign": {"name": "A campaign"},
        "channel": {"name": "A channel"},
        "pixel": {"name": "A pixel", "type": "tiktok", "tag": "T-1"},
        "splash": {"name": "A splash page"},
        "overlay": {"name": "An overlay", "type": "message"},
    }
    return {noun: person.add(noun, **body) for noun, body in bodies.items()}


def test_link_without_settings_returns_empty_value_of_every_field(ana: Person) -> None:
    created = ana.post("/url/add", {"url": GOOD, "custom": "spring"})
    link = created["id"]
    assert created == {"error": 0, "id": link, "shorturl": f"{BASE}/spring", "short": f"{BASE}/spring"}
    details = ana.details("url", link)
    assert details.pop("date")
    same = {"id": link, "alias": "spring", "shorturl": f"{BASE}/spring", "longurl": GOOD, "domain": BASE}
    assert details == {**EMPTY, **same, "clicks": 0, "uniqueclicks": 0, "importedclicks": 0}


@ON_BOTH_DATABASES
def test_link_is_returned_with_statistics(ana: Person) -> None:
    link, table = _link(ana, custom="spring"), schema.links
    ana.write(lambda tx: tx.execute(update(table).where(table.c.id == link).values(clicks=9, uniqueclicks=4)))
    by_id = ana.get(f"/url/{link}")
    by_alias = ana.get("/urls", short="spring")
    assert by_alias["data"].pop("result") == 1
    assert by_alias["data"].pop("urls") == ana.get("/urls")["data"]["urls"]
    assert by_id == by_alias
    assert (by_id["details"]["clicks"], by_id["details"]["uniqueclicks"]) == (9, 4)
    block = by_id["data"]
    assert (block["clicks"], block["uniqueClicks"]) == (9, 4)
    assert block["socialCount"] == {"social_a": 0, "social_b": 0, "social_c": 0}
    assert all(isinstance(block[name], dict) for name in ("topCountries", "topReferrers", "topBrowsers", "topOs"))


CHANGES: dict[str, tuple[Any, Any, Any]] = {  # field: (first value, new value sent, new value shown)
    "url": (GOOD, "https://other.example/?a=b#c", "https://other.example/?a=b#c"),
    "title": ("Title", "New <b>title</b>", "New <b>title</b>"),
    "description": ("Words", "Two\nlines", "Two\nlines"),
    "expiry": ("2099-01-01", "2098-01-01 10:00:00", "2098-01-01 10:00:00"),
    "clicklimit": (5, 1, 1),
    "dropquery": (False, True, True),
    "expiryurl": (GOOD, "https://other.example/", "https://other.example/"),
    "type": ("frame", "splash", "splash"),
    "status": ("private", "disabled", "disabled"),
    "metatitle": ("Meta", "New meta", "New meta"),
    "metadescription": ("Meta words", "New\nwords", "New\nwords"),
    "metaimage": ("https://example.com/a.png", "https://example.com/b.png", "https://example.com/b.png"),
    "password": ("secret", "another", True),
    "geotarget": (
        [{"location": "France", "link": GOOD}],
        [{"location": "Canada", "link": GOOD}, {"location": "Chad", "link": GOOD}],
        [{"location": "Canada", "link": GOOD}, {"location": "Chad", "link": GOOD}],
    ),
    "devicetarget": (
        [{"device": "iPhone", "link": GOOD}],
        [{"device": "Android", "link": " https://a.example/ "}],
        [{"device": "Android", "link": "https://a.example/"}],
    ),
    "languagetarget": (
        [{"language": "fr", "link": GOOD}],
        [{"language": "de", "link": "https://a.example/", "extra": 1}],
        [{"language": "de", "link": "https://a.example/"}],
    ),
    "deeplink": (
        {"apple": GOOD, "google": GOOD},
        {"auto": True, "apple": "https://apps.example/1", "google": None},
        {"apple": "https://apps.example/1"},
    ),
    "parameters": (
        [{"name": "ref", "value": "1"}],
        [{"name": "aff", "value": "3"}, {"device": "x", "value": "skipped"}, {"name": "", "value": "y"}, {"name": "b"}],
        [{"name": "aff", "value": "3"}, {"name": "b", "value": ""}],
    ),
}


def test_changing_one_field_keeps_the_others(ana: Person) -> None:
    link = _link(ana, custom="spring", **{name: first for name, (first, _, _) in CHANGES.items() if name != "url"})
    for field, (_, changed, expected) in CHANGES.items():
        before = ana.details("url", link)
        ana.put(f"/url/{link}/update", {field: changed})
        assert ana.details("url", link) == {**before, "longurl" if field == "url" else field: expected}, field


def test_null_clears_every_field_and_empty_update_changes_nothing(ana: Person) -> None:
    bare = ana.details("url", _link(ana, custom="bare"))
    fields = {name: first for name, (first, _, _) in CHANGES.items() if name != "url"}
    link = _link(ana, custom="spring", **fields)
    before = ana.details("url", link)
    assert ana.update("url", link)["id"] == link
    assert ana.details("url", link) == before
    ana.put(f"/url/{link}/update", dict.fromkeys(fields))
    cleared = ana.details("url", link)
    assert {name: cleared[name] for name in fields} == {name: bare[name] for name in fields}


def test_link_stores_campaign_channels_and_pixels(ana: Person) -> None:
    related, more = _related(ana), ana.add("channel", name="More")
    second = ana.add("pixel", name="Second", type="gtmpixel", tag="G-1")
    fields = {
        "campaign": related["campaign"],
        "channel": [more, related["channel"]],
        "pixels": [second, related["pixel"]],
    }
    link = _link(ana, **fields)
    details = ana.details("url", link)
    assert {name: details[name] for name in fields} == {
        "campaign": related["campaign"],
        "channel": sorted([related["channel"], more]),
        "pixels": sorted([related["pixel"], second]),
    }
    duplicates = {"channel": [more, more], "pixels": [second] * 3, "campaign": None}
    ana.update("url", link, **duplicates)
    details = ana.details("url", link)
    assert (details["channel"], details["pixels"], details["campaign"]) == ([more], [second], None)
    ana.update("url", link, channel=related["channel"], pixels=[])
    assert (ana.details("url", link)["channel"], ana.details("url", link)["pixels"]) == ([related["channel"]], [])
    ana.update("url", link, channel=[])
    assert ana.get(f"/channel/{related['channel']}")["data"]["items"] == []


@ON_BOTH_DATABASES
def test_deleting_related_resources_keeps_link(ana: Person) -> None:
    related = _related(ana)
    relations = {"campaign": related["campaign"], "channel": related["channel"], "pixels": [related["pixel"]]}
    links = [_link(ana, type=kind, **relations) for kind in (str(related["splash"]), f"overlay-{related['overlay']}")]
    for noun, item in related.items():
        ana.remove(noun, item)
    details = [ana.details("url", link) for link in links]
    assert [(link["campaign"], link["channel"], link["pixels"]) for link in details] == [(None, [], [])] * 2
    assert [link["type"] for link in details] == ["direct", "direct"]


def test_type_accepts_direct_frame_splash_and_ids_of_own_pages(ana: Person) -> None:
    related = _related(ana)
    splash, overlay = related["splash"], f"overlay-{related['overlay']}"
    link = _link(ana)
    for kind, expected in (
        *(("direct", "direct"), ("frame", "frame"), ("splash", "splash"), (overlay, overlay), ("splash", "splash")),
        *(
            (splash, str(splash)),
            (str(splash), str(splash)),
            (None, "direct"),
            (splash, str(splash)),
            ("frame", "frame"),
        ),
    ):
        assert ana.details("url", _link(ana, type=kind))["type"] == expected
        ana.update("url", link, type=kind)
        assert ana.details("url", link)["type"] == expected


def test_unknown_link_type_is_rejected(ana: Person) -> None:
    related = _related(ana)
    splash, overlay = related["splash"], related["overlay"]
    invalid_types: tuple[Any, ...] = (
        *("popup", "overlay", "overlay-", "overlay-x", f"overlay--{overlay}", f"-{splash}", f"+{splash}"),
        *(f"splash-{splash}", f"x-{splash}", f" {splash}", f"{splash}.0", "9" * 30, "\u0661", "0", "overlay-0"),
        *(0, -1, 1.5, True, [], {}),
    )
    for kind in invalid_types:
        refused(ana.call("POST", "/url/add", {"url": GOOD, "type": kind}), 400, "type")
    for kind, noun in ((999999, "a splash page"), ("overlay-999999", "an overlay")):
        message = refused(ana.call("POST", "/url/add", {"url": GOOD, "type": kind}), 400, "type")
        assert message == f"type must be the id of {noun} in this account; 999999 is not."


def test_ids_of_another_account_are_rejected_like_unknown_ids(ana: Person, ben: Person) -> None:
    _related(ana)
    foreign_ids = _related(ben)
    cases: list[tuple[str, Any, Any]] = [
        ("campaign", foreign_ids["campaign"], 999999),
        ("channel", foreign_ids["channel"], 999999),
        ("channel", [foreign_ids["channel"]], [999999]),
        ("pixels", [foreign_ids["pixel"]], [999999]),
        ("type", foreign_ids["splash"], 999999),
        ("type", str(foreign_ids["splash"]), "999999"),
        ("type", f"overlay-{foreign_ids['overlay']}", "overlay-999999"),
    ]
    link = _link(ana)
    for field, foreign, unknown in cases:
        messages = set()
        for method, path in (("POST", "/url/add"), ("PUT", f"/url/{link}/update")):
            for related_id in (foreign, unknown):
                response = ana.call(method, path, {"url": GOOD, field: related_id})
                messages.add(re.sub(r"\d+", "N", refused(response, 400, field)))
        assert len(messages) == 1, messages
    assert ana.get("/urls")["data"]["result"] == 1


# The sample request that manuals of such services contain; the tests add the ids.
SAMPLE: dict[str, Any] = {
    "url": "https://shop.example/",
    "status": "private",
    "custom": "our-shop",
    "password": "open sesame",
    "expiry": "2035-11-11 12:00:00",
    "metatitle": "A shop",
    "metadescription": "Where everything is",
    "metaimage": "https://shop.example/picture.png",
    "description": "For the campaign",
    "deeplink": {"auto": True, "apple": "https://apps.example/1", "google": "https://apps.example/g?id=1&hl=en"},
    "geotarget": [{"location": "Canada", "link": GOOD}, {"location": "United States", "link": "https://us.example/"}],
    "devicetarget": [{"device": "iPhone", "link": GOOD}, {"device": "Android", "link": "https://a.example/"}],
    "languagetarget": [{"language": "en", "link": "https://shop.example/en"}],
    "parameters": [{"name": "aff", "value": "3"}, {"device": "gtm_source", "link": "api"}],
}


def test_widely_copied_sample_request_is_accepted(ana: Person) -> None:
    related = _related(ana)
    ids = {name: related[name] for name in ("channel", "campaign")} | {"pixels": [related["pixel"]], "type": "splash"}
    created = ana.post("/url/add", {**SAMPLE, **ids})
    assert created["shorturl"] == f"{BASE}/our-shop"
    details = ana.details("url", created["id"])
    same = ("status", "expiry", "metatitle", "metaimage", "description", "geotarget", "devicetarget", "languagetarget")
    assert {name: details[name] for name in same} == {name: SAMPLE[name] for name in same}
    assert details["deeplink"] == {name: SAMPLE["deeplink"][name] for name in ("apple", "google")}
    assert details["parameters"] == [{"name": "aff", "value": "3"}]
    assert (details["channel"], details["type"]) == ([related["channel"]], "splash")


def test_password_is_neither_shown_nor_stored_in_plain_text(ana: Person) -> None:
    body = {"url": GOOD, "custom": "secret-one", "password": "open sesame"}
    answers = [ana.call("POST", "/url/add", body), ana.call("GET", "/urls")]
    link = answers[0].json()["id"]
    answers += [ana.call("PUT", f"/url/{link}/update", {"title": "x"}), ana.call("GET", f"/url/{link}")]
    assert answers[-1].json()["details"]["password"] is True
    assert all("open sesame" not in response.text and "argon2" not in response.text for response in answers)
    row = ana.write(lambda tx: tx.execute(schema.links.select()).mappings().one())
    assert "open sesame" not in str(dict(row))
    ana.update("url", link, password=None)
    assert ana.details("url", link)["password"] is False


def test_expiry_accepts_date_until_its_end_or_timestamp(ana: Person) -> None:
    stored_expiries = {
        "2030-06-15": "2030-06-15 23:59:59",
        "2031-02-28": "2031-02-28 23:59:59",
        "2030-06-15 12:00:00": "2030-06-15 12:00:00",
        "2030-06-15 12:00:01": "2030-06-15 12:00:01",
        "2030-06-15T13:14:15Z": "2030-06-15 13:14:15",
        "2030-06-15 13:14": "2030-06-15 13:14:00",
        "9999-12-31": "9999-12-31 23:59:59",
        "9999-12-31 23:59:59": "9999-12-31 23:59:59",
    }
    with time_machine.travel(NOW, tick=False):
        assert {
            expiry: ana.details("url", _link(ana, expiry=expiry))["expiry"] for expiry in stored_expiries
        } == stored_expiries


def test_past_or_malformed_expiry_is_rejected(ana: Person) -> None:
    past = ("2030-06-14", "2030-06-15 11:59:59", "2030-06-15 11:59", "1970-01-01", "0001-01-01")
    malformed = "tomorrow 2030-13-01 2031-02-29 2031-W05-1 2031-6-1 15.06.2031 2031-06-15T10:00:00+25:00".split()
    with time_machine.travel(NOW, tick=False):
        link = _link(ana, expiry="2031-01-01")
        for expiry in (*past, *malformed):
            refused(ana.call("POST", "/url/add", {"url": GOOD, "expiry": expiry}), 400, "expiry")
            refused(ana.call("PUT", f"/url/{link}/update", {"expiry": expiry}), 400, "expiry")
    assert ana.details("url", link)["expiry"] == "2031-01-01 23:59:59"


def test_expired_link_can_be_changed(ana: Person) -> None:
    with time_machine.travel(NOW, tick=False):
        link = _link(ana, expiry="2030-06-15")
    with time_machine.travel(NOW.replace(year=2032), tick=False):
        ana.update("url", link, title="x")
        assert ana.details("url", link)["expiry"] == "2030-06-15 23:59:59"
