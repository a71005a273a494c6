"""Fields of `data`: every accepted part is kept and shown, also under the names that other programs use."""

from typing import Any

import pytest

from tests.conftest import Person
from tests.support.databases import ON_SQLITE
from tests.support.qr_decoders import new_code, refused, zxing
from tests.support.visits import visit

ADDRESS = "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"
FIELDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("text", {"text": "Hello"}),
    ("link", {"link": "https://example.com/"}),
    ("email", {"email": "ana@example.com", "subject": "Hi", "body": "You"}),
    ("phone", {"phone": "+49301234567"}),
    ("sms", {"phone": "+49301234567", "message": "Hi"}),
    ("whatsapp", {"phone": "+49301234567", "message": "Hi"}),
    ("wifi", {"ssid": "Home", "pass": " wep ", "encryption": "WEP", "hidden": True}),
    ("vcard", {"fname": "Ana", "lname": "Costa", "org": "ACME", "title": "Boss", "phone": "112", "cell": "113",
               "fax": "114", "homephone": "115", "nickname": "Anita", "birthday": "1990-05-17",
               "note": "Tea\nonly", "email": "ana@example.com", "site": "https://example.com", "street": "Main",
               "city": "Köln", "state": "NRW", "zip": "50667", "country": "DE"}),
    ("event", {"title": "Tea", "start": "2030-05-01", "end": "2030-05-02", "location": "Here", "description": "All",
               "url": "https://example.com/"}),
    ("geo", {"lat": 52.5, "lng": 13.4, "name": "Berlin"}),
    ("app", {"apple": "https://apps.apple.com/x", "google": "https://play.google.com/y", "url": "https://e.com/"}),
    ("crypto", {"currency": "bitcoincash", "address": ADDRESS, "amount": 1.5, "label": "Tip", "message": "Thanks"}),
)  # fmt: skip
ALIASES: tuple[tuple[str, dict[str, Any], str, dict[str, Any]], ...] = (
    ("whatsapp", {"phone": "+49301234567", "body": "Hi & bye"}, "whatsapp",
     {"phone": "+49301234567", "message": "Hi & bye"}),
    ("crypto", {"currency": "bitcoincash", "wallet": ADDRESS}, "crypto",
     {"currency": "bitcoincash", "address": ADDRESS}),
    ("crypto", {"wallet": ADDRESS, "address": ""}, "crypto", {"address": ADDRESS}),
    ("vcard", {"fname": "Ana", "phone2": "112"}, "vcard", {"fname": "Ana", "homephone": "112"}),
    ("smsonly", {"phone": "112", "message": "Hi"}, "sms", {"phone": "112", "message": "Hi"}),
    ("staticvcard", {"fname": "Ana"}, "vcard", {"fname": "Ana"}),
    ("application", {"apple": "https://apps.apple.com/x"}, "app", {"apple": "https://apps.apple.com/x"}),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "data"), FIELDS, ids=[kind for kind, _ in FIELDS])
@ON_SQLITE
def test_every_field_is_kept(ana: Person, kind: str, data: dict[str, Any]) -> None:
    code, _ = new_code(ana, kind, data)
    assert ana.details("qr", code)["data"] == data


@pytest.mark.parametrize(("sent", "data", "kind", "kept"), ALIASES)
@ON_SQLITE
def test_other_name_means_documented_one(
    ana: Person, sent: str, data: dict[str, Any], kind: str, kept: dict[str, Any]
) -> None:
    for name in (sent, sent.upper()) if sent != kind else (sent,):
        code, _ = new_code(ana, name, data)
        details = ana.details("qr", code)
        assert (details["type"], details["data"]) == (kind, kept)
        ana.update("qr", code, type=sent, data=data, name="Changed")
        assert ana.details("qr", code)["data"] == kept


def test_static_types_contain_their_content(ana: Person) -> None:
    code, alias = new_code(ana, "smsonly", {"phone": "112", "message": "Hi"})
    assert ana.details("qr", code)["dynamic"] is False
    assert zxing(ana.client.get(f"/qr/{alias}").content) == "SMSTO:112:Hi"
    code, _ = new_code(ana, "staticvcard", "Ana", dynamic=False)
    assert ana.details("qr", code)["dynamic"] is False
    code, alias = new_code(ana, "whatsapp", {"phone": "+4930123456", "body": "Hi you"})
    assert visit(ana.client, alias).headers["location"] == "https://wa.me/4930123456?text=Hi%20you"


def test_contradicting_names_are_rejected(ana: Person) -> None:
    assert refused(ana, type="smsonly", data="112", dynamic=True)[0] == "dynamic"
    both = {"phone": "112", "message": "a", "body": "b"}
    assert refused(ana, type="whatsapp", data=both) == (
        "data", "data.body is another name of data.message; send one of them."
    )  # fmt: skip
    code, _ = new_code(ana, "sms", "112")
    response = ana.call("PUT", f"/qr/{code}/update", {"type": "smsonly", "data": "112"})
    assert (response.status_code, response.json()["field"]) == (400, "dynamic")
    results = ana.post("/qr/bulk", {"codes": [{"type": "smsonly", "data": "112", "dynamic": True}]})["results"]
    assert results[0]["field"] == "dynamic"
