"""Blocked hosts and words in QR codes, in every disguise in which a phone would still open them."""

from typing import Any

import pytest

from tests.conftest import Person
from tests.support.databases import ON_SQLITE
from tests.support.qr_decoders import new_code, refused
from tests.support.visits import visit
from waypost.items.moderation import blocklist
from waypost.urls.blocklist import HOST, WORD

COIN = "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"
_VCARD = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:X\r\n{}\r\nEND:VCARD"
BLOCKED: tuple[tuple[str, Any], ...] = (
    ("vcard", _VCARD.format("URL:https://evil.exa\r\n mple/")),
    ("vcard", _VCARD.format("URL:https://evil.exa\n\tmple/")),
    ("vcard", _VCARD.format("URL:evil.example/x")),
    ("vcard", _VCARD.format("URL;TYPE=WORK:www.evil.example")),
    ("vcard", _VCARD.format("URL:evil.exa\r\n mple")),
    ("vcard", _VCARD.format("URL:https\\://evil.example")),
    ("vcard", _VCARD.format("URL;ENCODING=QUOTED-PRINTABLE:https=3A=2F=2Fevil=2Eexample=2F")),
    ("vcard", {"fname": "X", "site": "a.example", "street": "evil.example"}),
    ("event", "BEGIN:VEVENT\r\nSUMMARY:x\r\nDTSTART:20300501\r\nURL:http://ev\r\n il.example\r\nEND:VEVENT"),
    ("event", {"title": "x", "start": "2030-01-01", "description": "see evil.example"}),
    ("text", "see evil.example"),
    ("text", "see (EVIL.example)!"),
    ("text", "evil\u3002example"),
    ("text", "ev\u00adil.exam\u200bple"),
    ("text", "https://good.example;evil.example"),
    ("text", "https:\\\\evil.example"),
    ("text", "x@evil.example/login"),
    ("email", {"email": "a@example.com", "body": "Go to https://evil.example/"}),
    ("email", {"email": "a@example.com", "subject": "evil.example"}),
    ("sms", {"phone": "112", "message": "evil.example/x"}),
    ("sms", "SMSTO:112:https://evil.example"),
    ("whatsapp", {"phone": "+4930123456", "message": "https://evil.example"}),
    ("whatsapp", {"phone": "+4930123456", "body": "https%253A%252F%252Fevil.example"}),
    ("crypto", {"address": COIN, "message": "see https://evil.example"}),
    ("crypto", {"wallet": COIN, "label": "evil.example"}),
    ("crypto", f"bitcoin:{COIN}?message=https%3A%2F%2Fevil.example"),
    ("link", "https://ok.example/?q=ca\u00adsi\u200bno"),
    ("link", "https://ok.example/c%252525252561sino"),
    ("link", "https://ok.example/ca%25E2%2580%258Bsino"),
    ("link", "https://ok.example/%E2%81%A0cas%F3%A0%80%A1ino"),
    ("text", "see ok.example/cas\u00adino"),
)  # fmt: skip
ALLOWED: tuple[tuple[str, Any], ...] = (
    ("text", "notevil.example and evil.example.com"),
    ("text", "https://example.com/?u=evil.example"),
    ("text", "The casino. Version 1.2.3"),
    ("email", {"email": "ana@evil.example", "body": "Hi, see you at 8.30"}),
    ("vcard", {"fname": "Ana", "email": "ana@evil.example"}),
    ("wifi", {"ssid": "Home", "pass": "secret.words"}),
)  # fmt: skip


def _block(person: Person) -> None:
    person.write(lambda tx: blocklist.block(tx, "evil.example", kind=HOST))
    person.write(lambda tx: blocklist.block(tx, "casino", kind=WORD))
    person.add("url", url="https://example.com/seen")  # applies the change in this process


@pytest.mark.parametrize(("kind", "data"), BLOCKED)
@ON_SQLITE
def test_disguised_blocked_address_is_rejected(ana: Person, kind: str, data: Any) -> None:
    _, alias = new_code(ana, kind, data, dynamic=True)
    _block(ana)
    field, message = refused(ana, type=kind, data=data)
    assert field == "data"
    assert "blocked" in message
    assert visit(ana.client, alias).status_code == 403


@pytest.mark.parametrize(("kind", "data"), ALLOWED)
@ON_SQLITE
def test_similar_content_is_accepted(ana: Person, kind: str, data: Any) -> None:
    _block(ana)
    new_code(ana, kind, data)


def test_text_with_many_hosts_is_checked(ana: Person) -> None:
    text = " ".join(f"h{number}.example" for number in range(550))
    new_code(ana, "text", text, dynamic=True)
    _block(ana)
    assert refused(ana, type="text", data=f"{text} evil.example", dynamic=True)[0] == "data"
