"""Scans of QR codes by type and phone system, and their counting (decision 31)."""

from typing import Any

import pytest

from tests.conftest import Person
from tests.support.databases import ON_SQLITE
from tests.support.qr_decoders import new_code
from tests.support.visits import (
    ACCEPT_HTML,
    ACCEPT_JSON,
    ANDROID,
    CHROME,
    CURL,
    FIREFOX,
    GOOGLEBOT,
    IPHONE,
    SLACK,
    click_totals,
    visit,
)
from waypost.media.qrcode import payloads

CARD = {"fname": "Zoë", "lname": "Costa", "cell": "+49301234567"}
SMS = {"phone": "+49 30 1234567", "message": "Hi & bye"}
STORES = {"apple": "https://apps.apple.com/x", "google": "https://play.google.com/y", "url": "https://example.com/app"}
REDIRECTS: tuple[tuple[str, Any, str, str], ...] = (
    ("link", "https://example.com/page?a=b", IPHONE, "https://example.com/page?a=b"),
    ("link", "https://example.com/ü", ANDROID, "https://example.com/%C3%BC"),
    ("email", {"email": "ana@example.com", "subject": "Hi"}, IPHONE, "mailto:ana@example.com?subject=Hi"),
    ("phone", "+49 30 1234567", ANDROID, "tel:+49301234567"),
    ("sms", SMS, ANDROID, "sms:+49301234567?body=Hi%20%26%20bye"),
    ("sms", SMS, IPHONE, "sms:+49301234567&body=Hi%20%26%20bye"),
    ("sms", SMS, CHROME, "sms:+49301234567?body=Hi%20%26%20bye"),
    ("whatsapp", SMS, IPHONE, "https://wa.me/49301234567?text=Hi%20%26%20bye"),
    ("app", STORES, IPHONE, "https://apps.apple.com/x"),
    ("app", STORES, ANDROID, "https://play.google.com/y"),
    ("app", STORES, FIREFOX, "https://example.com/app"),
    ("geo", "52.52,13.4", IPHONE, "https://maps.apple.com/?ll=52.52,13.4&q=52.52,13.4"),
    ("geo", "52.52,13.4", ANDROID, "geo:52.52,13.4?q=52.52,13.4"),
    ("geo", "52.52,13.4", CHROME, "https://www.openstreetmap.org/?mlat=52.52&mlon=13.4#map=16/52.52/13.4"),
    ("crypto", "bitcoin:1BoatSLRHtKNngkdXEeobR76b53LETtpyT", ANDROID, "bitcoin:1BoatSLRHtKNngkdXEeobR76b53LETtpyT"),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "data", "agent", "location"), REDIRECTS)
@ON_SQLITE
def test_scan_redirects_to_uri_of_phone_system(ana: Person, kind: str, data: Any, agent: str, location: str) -> None:
    code, alias = new_code(ana, kind, data, dynamic=True)
    response = visit(ana.client, alias, agent=agent, headers=ACCEPT_HTML)
    assert (response.status_code, response.headers["location"]) == (302, location)
    assert response.headers["cache-control"] == "private, no-store"
    if not location.startswith("http"):  # for programs that cannot open it, the same as a link
        assert location.replace("&", "&amp;") in response.text
    assert ana.details("qr", code)["scans"] == 1


def test_content_is_checked_once_for_many_scans(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    _, alias = new_code(ana, "wifi", "WIFI:S:Home;;", dynamic=True)
    checked: list[Any] = []
    read = payloads.read

    def spy(*content: Any) -> payloads.Content:
        checked.append(content)
        return read(*content)

    monkeypatch.setattr(payloads, "read", spy)
    assert [visit(ana.client, alias).text for _ in range(5)] == ["WIFI:T:nopass;S:Home;;"] * 5
    assert len(checked) == 1


def test_vcard_is_inline_on_ios_and_download_elsewhere(ana: Person) -> None:
    _, alias = new_code(ana, "vcard", CARD)
    for agent, way in ((IPHONE, "inline"), (ANDROID, "attachment"), (CURL, "attachment")):
        response = visit(ana.client, alias, agent=agent)
        assert response.headers["content-type"] == "text/vcard; charset=utf-8"
        assert response.headers["content-disposition"].startswith(f'{way}; filename="Zoe Costa.vcf"; filename*=UTF-8')
        assert response.content.decode().startswith("BEGIN:VCARD\r\nVERSION:3.0\r\nN:Costa;Zoë;;;\r\nFN:Zoë Costa\r\n")


def test_vcard_file_name_is_safe(ana: Person) -> None:
    for name, message in (
        ("../etc/passwd", 'attachment; filename=".._etc_passwd.vcf"'),
        ('a"; x="b\\', "attachment; filename=\"a_; x=_b_.vcf\"; filename*=UTF-8''a%22%3B%20x%3D%22b_.vcf"),
        ("x" + "日" * 100, f"attachment; filename=\"x.vcf\"; filename*=UTF-8''x{'%E6%97%A5' * 59}.vcf"),
    ):
        _, alias = new_code(ana, "vcard", {"org": name})
        assert visit(ana.client, alias).headers["content-disposition"] == message


def test_event_scan_returns_calendar_file(ana: Person) -> None:
    _, alias = new_code(ana, "event", {"title": "Tea", "start": "2030-05-01 15:00:00"})
    response = visit(ana.client, alias)
    assert response.headers["content-type"] == "text/calendar; charset=utf-8"
    assert 'filename="Tea.ics"' in response.headers["content-disposition"]


def test_scan_of_tracked_text_or_wifi_shows_page(ana: Person) -> None:
    _, text = new_code(ana, "text", "<script>alert(1)</script>", dynamic=True)
    _, wifi = new_code(ana, "wifi", {"ssid": "Café", "pass": "pass words"}, dynamic=True)
    page = visit(ana.client, text, headers=ACCEPT_HTML)
    assert "&lt;script&gt;alert(1)" in page.text
    assert "<script" not in page.text
    assert "script" not in page.headers["content-security-policy"]
    assert visit(ana.client, text, agent=CURL).text == "<script>alert(1)</script>"
    page = visit(ana.client, wifi, headers=ACCEPT_HTML).text
    assert "Café" in page
    assert "pass words" in page


def test_scans_count_like_clicks_with_own_source(ana: Person) -> None:
    code, alias = new_code(ana)
    for agent in (IPHONE, IPHONE, ANDROID, GOOGLEBOT, SLACK):
        visit(ana.client, alias, agent=agent)
    visit(ana.client, alias, "HEAD", agent=FIREFOX)
    body = ana.get(f"/qr/{code}")
    assert (body["details"]["scans"], body["data"]["clicks"], body["data"]["uniqueClicks"]) == (3, 3, 2)
    assert ana.get("/qr")["data"]["qrs"][0]["scans"] == 3
    assert click_totals(ana, f"/qr/{code}") == {"clicks": 3, "uniqueClicks": 2, "bots": 1, "previews": 1, "others": 1}
    report = ana.get(f"/qr/{code}/stats")["data"]["dimensions"]
    assert report["sources"] == {"qr": 3}
    assert report["os"] == {"iOS": 2, "Android": 1}


@pytest.mark.parametrize(("kind", "data"), [("text", "Hello"), ("wifi", "Net"), ("geo", "1,2")])
def test_untracked_codes_have_zero_scans(ana: Person, kind: str, data: str) -> None:
    code, alias = new_code(ana, kind, data)
    visit(ana.client, alias)
    ana.client.get(f"/qr/{alias}")
    assert ana.details("qr", code)["scans"] == 0


def test_change_applies_to_next_scan(ana: Person) -> None:
    code, alias = new_code(ana)
    assert visit(ana.client, alias).headers["location"] == "https://example.com/page"
    ana.update("qr", code, data="https://example.com/else")
    assert visit(ana.client, alias).headers["location"] == "https://example.com/else"
    ana.update("qr", code, data="https://example.com/else", type="text")
    assert visit(ana.client, alias, agent=CURL).text == "https://example.com/else"


def test_code_preview_is_not_counted(ana: Person) -> None:
    code, alias = new_code(ana)
    assert visit(ana.client, f"{alias}+", headers=ACCEPT_JSON).json()["url"] == "https://example.com/page"
    assert "https://example.com/page" in visit(ana.client, f"{alias}+", headers=ACCEPT_HTML).text
    _, text = new_code(ana, "text", "Hello")
    assert visit(ana.client, f"{text}+").status_code == 404
    assert ana.details("qr", code)["scans"] == 0


def test_scan_statistics_are_visible_to_owner_only(ana: Person, ben: Person) -> None:
    code, _ = new_code(ana)
    assert ben.call("GET", f"/qr/{code}/stats").status_code == 404
