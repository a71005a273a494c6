"""Phones can use the codes that are accepted; codes that were stored before the rules keep working."""

from typing import Any

import pytest
from PIL import ImageColor
from sqlalchemy import update

from tests.conftest import Person
from tests.support.databases import ON_SQLITE
from tests.support.qr_decoders import new_code, refused, zxing
from tests.support.visits import visit
from waypost.db.schema import bios, domains, qrs

NETWORK = {"ssid": " net", "pass": " sp ace ", "encryption": "WPA"}


def test_printed_code_keeps_spaces_and_drops_trunk_prefix(ana: Person) -> None:
    _, alias = new_code(ana, "wifi", NETWORK)
    assert zxing(ana.client.get(f"/qr/{alias}").content) == "WIFI:T:WPA;S: net;P: sp ace ;;"
    _, alias = new_code(ana, "phone", {"phone": "+49 (0) 611 304 021"}, dynamic=False)
    assert zxing(ana.client.get(f"/qr/{alias}").content) == "tel:+49611304021"
    _, alias = new_code(ana, "phone", "*100#")
    assert visit(ana.client, alias).headers["location"] == "tel:*100%23"


@ON_SQLITE
def test_colors_can_be_short_or_named(ana: Person) -> None:
    assert ImageColor.getrgb("navy") == (0, 0, 128)  # Pillow replaces the text of its table by numbers
    gradient = {"color": "DarkGreen"}
    code, _ = new_code(ana, foreground="Navy", background="#FFF", gradient=gradient)
    details = ana.details("qr", code)
    assert (details["foreground"], details["background"]) == ("#000080", "#ffffff")
    assert details["gradient"]["color"] == "#006400"


STORED: tuple[tuple[str, Any, str], ...] = (
    ("wifi", {"ssid": "net", "pass": "short"}, "WIFI:T:WPA;S:net;P:short;;"),
    ("phone", "+49 (030) 1234567", "tel:+490301234567"),
    ("whatsapp", "0170 1234567", "https://wa.me/01701234567"),
    ("vcard", {"fname": "Ana", "cell": "+49 0170 1"}, "TEL;TYPE=CELL:+4901701"),
    ("vcard", {"fname": "Ana", "site": "https://https://example.com"}, "URL:https://https://example.com"),
    ("event", {"title": "T", "start": "2030-05-01", "url": "https://e.com:/x"}, "URL:https://e.com:/x"),
    ("link", "https://https://example.com", "https://https://example.com"),
    ("link", {"link": "https://e.com:/x"}, "https://e.com:/x"),
    ("link", "https://wa.me/01701234567", "https://wa.me/01701234567"),
    ("app", {"apple": "http://http://e.com/x"}, "http://http://e.com/x"),
    ("vcard", {"fname": "Ana", "site": "mailto:ana@example.com"}, "URL:https://mailto:ana@example.com"),
    ("vcard", "BEGIN:VCARD\nFN:Ana\nTEL:+49 (030) 1\nEND:VCARD", "TEL:+49 (030) 1"),
    ("event", "BEGIN:VEVENT\nSUMMARY:T\nEND:VEVENT", "SUMMARY:T"),
)


@pytest.mark.parametrize(("kind", "data", "content"), STORED)
@ON_SQLITE
def test_stored_content_that_is_now_rejected_still_works(ana: Person, kind: str, data: Any, content: str) -> None:
    code, alias = new_code(ana, "text", "x", dynamic=False)
    scanned, tracked = new_code(ana, "text", "x", dynamic=True)
    rows = qrs.c.id.in_([code, scanned])
    ana.write(lambda tx: tx.execute(update(qrs).where(rows).values(type=kind, data=data)))
    assert content in (zxing(ana.client.get(f"/qr/{alias}?v=2&size=1000").content) or "")
    assert visit(ana.client, tracked).status_code in (200, 302)
    assert refused(ana, type=kind, data=data)[0] == "data"


@pytest.mark.parametrize("url", ["https://https://example.com/x", "https://e.com:/x"])
def test_stored_address_that_is_now_rejected_still_redirects(ana: Person, url: str) -> None:
    """Blocks of bio pages and redirects of domains are as old as codes."""
    ana.post("/bio/add", {"name": "b", "alias": "ana-page"})
    blocks = [
        {"id": 1, "type": "link", "title": "L", "url": url},
        {"id": 2, "type": "vcard", "fname": "A", "site": url},
    ]
    ana.post("/domain/add", {"domain": "https://brand.example"})
    ana.write(lambda tx: tx.execute(update(bios).values(blocks=blocks)))
    ana.write(lambda tx: tx.execute(update(domains).values(redirectroot=url, redirect404=url)))
    for path in ("/ana-page/1", "http://brand.example/", "http://brand.example/missing"):
        response = ana.client.get(path)
        assert (response.status_code, response.headers["location"]) == (302, url), path
    assert f"URL:{url}\r\n" in ana.client.get("/ana-page/2").text


CARD = {"type": "vcard", "fname": "Ana", "phone": "+49 (0) 611 304 021", "homephone": "+49 170 1234567 ext. 5"}
REST = {"nickname": "Anita", "birthday": "1990-05-17", "note": "Tea\nonly"}


@ON_SQLITE
def test_contact_block_has_numbers_that_can_be_dialed(ana: Person) -> None:
    ana.post("/bio/add", {"name": "b", "alias": "ana-page", "blocks": [{**CARD, **REST}]})
    card = ana.client.get("/ana-page/vcard").text
    assert "TEL;TYPE=WORK,VOICE:+49611304021\r\n" in card
    assert "TEL;TYPE=HOME,VOICE:+491701234567\\,5\r\n" in card
    assert "NICKNAME:Anita\r\n" in card
    assert "BDAY:1990-05-17\r\nNOTE:Tea\\nonly\r\n" in card


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("phone", "+49 (030) 1234567", "phone has 0 after +49, which is not dialed from abroad. Write +49301234567."),
        ("fax", "call me", "fax must be a phone number"),
        ("email", "ana", "email must be an e-mail address"),
        ("birthday", "1990", "birthday must be a date"),
    ],
)
@ON_SQLITE
def test_contact_block_with_unusable_part_is_rejected(ana: Person, part: str, value: str, message: str) -> None:
    block = {"type": "vcard", "fname": "Ana", part: value}
    response = ana.call("POST", "/bio/add", {"name": "b", "blocks": [block]})
    assert (response.status_code, response.json()["field"]) == (400, "blocks")
    assert message in response.json()["message"]


@ON_SQLITE
def test_stored_contact_block_with_unusable_number_is_still_served(ana: Person) -> None:
    ana.post("/bio/add", {"name": "b", "alias": "ana-page", "blocks": [CARD]})
    blocks = [{"id": 1, "type": "vcard", "fname": "Ana", "phone": "call me", "cell": "+49 (0)170 1234567"}]
    ana.write(lambda tx: tx.execute(update(bios).values(blocks=blocks)))
    card = ana.client.get("/ana-page/vcard").text
    assert "call me" not in card
    assert "TEL;TYPE=CELL:+491701234567\r\n" in card
