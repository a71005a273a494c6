"""Payloads of QR codes: tables of cases by standard, and escaping."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.media.qrcode import payloads
from waypost.media.qrcode.payload_fields import wifi_escaped, wifi_parts

SETTINGS = Settings(base_url="https://go.example.com", link_schemes="itms-apps,tel,sms,mailto,whatsapp")

CARD = {
    "fname": "Ana",
    "lname": "O'Hara; Jr., \\",
    "org": "Café, GmbH",
    "title": "Boss, of; all",
    "phone": "+49 (30) 123-45",
    "cell": "0170/1234567",
    "fax": "+49301234",
    "email": "ana@example.com",
    "site": "https://example.com/a,b;c",
    "street": "1; Main, St\nBack yard",
    "city": "Köln",
    "state": "NRW",
    "zip": "50667",
    "country": "DE",
}

TEXTS: tuple[tuple[str, Any, str], ...] = (
    ("text", "Hello\nyou", "Hello\nyou"),
    ("text", {"text": " 日本 "}, " 日本 "),
    ("link", "https://example.com/a?b=c#d", "https://example.com/a?b=c#d"),
    ("link", {"link": " https://example.com/ "}, "https://example.com/"),
    ("link", "itms-apps://apple.com/app", "itms-apps://apple.com/app"),
    ("email", "ana@example.com", "mailto:ana@example.com"),
    ("email", {"email": "a+b@example.com", "subject": "Hi & bye?", "body": "One\nTwo"},
     "mailto:a%2Bb@example.com?subject=Hi%20%26%20bye%3F&body=One%0D%0ATwo"),
    ("email", {"email": "ana@example.com", "subject": "Grüße"}, "mailto:ana@example.com?subject=Gr%C3%BC%C3%9Fe"),
    ("phone", "+49 (30) 123-45.67", "tel:+49301234567"),
    ("phone", "tel:112", "tel:112"),
    ("phone", {"phone": 4930123}, "tel:4930123"),
    ("phone", "+49 (0) 611 304 021", "tel:+49611304021"),
    ("phone", "+44(0)20 7946 0958", "tel:+442079460958"),
    ("phone", "0049 (0)611 304021", "tel:0049611304021"),
    ("phone", "+(49) (0) 611 304021", "tel:+49611304021"),
    ("phone", "(0611) 304021", "tel:0611304021"),
    ("phone", "+39 06 6982", "tel:+39066982"),
    ("phone", "+39 (06) 6982", "tel:+39066982"),
    ("phone", "+36 (06) 1 234 5678", "tel:+3612345678"),
    ("phone", "+7 (8) 812 123 45 67", "tel:+78121234567"),
    ("phone", "+7 (812) 123-45-67", "tel:+78121234567"),
    ("phone", "+7 800 123-45-67", "tel:+78001234567"),
    ("phone", "+370 (8) 612 34567", "tel:+37061234567"),
    ("geo", {"lat": -0.0, "lng": "-0.00000001"}, "geo:0,0"),
    ("phone", "\u202a+49\u00a0170\u20111234567\u202c", "tel:+491701234567"),
    ("phone", "\uff0b49 \u0661\u0662\u0663\u0664\u0665\u0666", "tel:+49123456"),
    ("phone", "TEL:+49-611-304021", "tel:+49611304021"),
    ("phone", "*#06#", "tel:*%2306%23"),
    ("phone", "*100*12345678901234567#", "tel:*100*12345678901234567%23"),
    ("phone", "tel:*100%23", "tel:*100%23"),
    ("phone", "+1 415 555 2671 ext. 12", "tel:+14155552671,12"),
    ("phone", "tel:+1-415-555-2671;ext=12", "tel:+14155552671,12"),
    ("phone", "+1 415 555 2671 x12", "tel:+14155552671,12"),
    ("phone", "+1 415 555 2671,,12#", "tel:+14155552671,,12%23"),
    ("phone", "+1 415 555 2671 p 12 w 3", "tel:+14155552671,12%3B3"),
    ("email", "ana@example.com, bo@example.com", "mailto:ana@example.com,bo@example.com"),
    ("email", {"email": "ana@example.com; bo@example.com;", "subject": "Hi"},
     "mailto:ana@example.com,bo@example.com?subject=Hi"),
    ("email", "mailto:ana@example.com,bo%2Bx@example.com?cc=c@example.com&subject=a+b%20c&body=x%0D%0Ay",
     "mailto:ana@example.com,bo%2Bx@example.com?cc=c%40example.com&subject=a%2Bb%20c&body=x%0D%0Ay"),
    ("email", {"email": "MAILTO:?to=ana@example.com&subject=Hi", "subject": "Hi"},
     "mailto:ana@example.com?subject=Hi"),
    ("email", "ana@m\u00fcller.de", "mailto:ana@xn--mller-kva.de"),
    ("sms", "sms:+4930123&body=a+b%26c", "SMSTO:+4930123:a+b&c"),
    ("sms", {"phone": "+49 (0)170 1234567", "message": " Hi "}, "SMSTO:+491701234567: Hi "),
    ("whatsapp", "+49 (0)170 1234567", "https://wa.me/491701234567"),
    ("whatsapp", "0049 170 1234567", "https://wa.me/491701234567"),
    ("whatsapp", "491701234567", "https://wa.me/491701234567"),
    ("crypto", "BITCOIN:BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ?amount=1",
     "bitcoin:BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ?amount=1"),
    ("vcard", {"org": "ACME", "nickname": "Ann, B", "homephone": "+49 (0)170 1234567 ext 5", "birthday": "1990-05-17",
               "note": "One;\nTwo"},
     "BEGIN:VCARD\r\nVERSION:3.0\r\nN:;;;;\r\nFN:ACME\r\nNICKNAME:Ann\\, B\r\nORG:ACME\r\n"
     "TEL;TYPE=HOME,VOICE:+491701234567\\,5\r\nBDAY:1990-05-17\r\nNOTE:One\\;\\nTwo\r\nEND:VCARD\r\n"),
    ("sms", "+4930123", "SMSTO:+4930123:"),
    ("sms", {"phone": "+49 30 123", "message": "Hi: there"}, "SMSTO:+4930123:Hi: there"),
    ("sms", "SMSTO:+4930123:Hi", "SMSTO:+4930123:Hi"),
    ("sms", "sms:+4930123?body=Hi%20you", "SMSTO:+4930123:Hi you"),
    ("wifi", "Open net", "WIFI:T:nopass;S:Open net;;"),
    ("wifi", {"ssid": 'a;b:c,d"e\\f', "pass": 'p;":,\\123', "encryption": "wpa2", "hidden": True},
     'WIFI:T:WPA;S:a\\;b\\:c\\,d\\"e\\\\f;P:p\\;\\"\\:\\,\\\\123;H:true;;'),
    ("wifi", {"ssid": "x", "pass": "12345678"}, "WIFI:T:WPA;S:x;P:12345678;;"),
    ("wifi", {"ssid": " x ", "pass": " sp ace "}, "WIFI:T:WPA;S: x ;P: sp ace ;;"),
    ("wifi", " Open net ", "WIFI:T:nopass;S: Open net ;;"),
    ("wifi", {"ssid": "x", "pass": "aB" * 32}, f"WIFI:T:WPA;S:x;P:{'aB' * 32};;"),
    ("wifi", {"ssid": "x", "pass": "a" * 63}, f"WIFI:T:WPA;S:x;P:{'a' * 63};;"),
    ("wifi", {"ssid": "x", "pass": "12345", "encryption": "WEP", "hidden": "false"}, "WIFI:T:WEP;S:x;P:12345;;"),
    ("wifi", {"ssid": "x", "pass": "ignored", "encryption": "none"}, "WIFI:T:nopass;S:x;;"),
    ("wifi", {"ssid": "x", "encryption": "NOPASS"}, "WIFI:T:nopass;S:x;;"),
    ("wifi", {"ssid": "x", "pass": "12345678", "encryption": "WPA3"}, "WIFI:T:WPA;S:x;P:12345678;;"),
    ("wifi", 'WIFI:S:a\\;b\\:c\\\\;P:p\\"x12345;T:wpa;H:true;R:1;;',
     'WIFI:T:WPA;S:a\\;b\\:c\\\\;P:p\\"x12345;H:true;;'),
    ("wifi", "wifi:S:x;P: 1234567 ;;", "WIFI:T:WPA;S:x;P: 1234567 ;;"),
    ("wifi", "WIFI:S:a:b;H:false;;", "WIFI:T:nopass;S:a\\:b;;"),
    ("vcard", "Ana Maria Costa",
     "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Costa;Ana Maria;;;\r\nFN:Ana Maria Costa\r\nEND:VCARD\r\n"),
    ("vcard", "begin:vcard\nVERSION:4.0\nFN:X\nend:vcard", "begin:vcard\r\nVERSION:4.0\r\nFN:X\r\nend:vcard\r\n"),
    ("vcard", {"org": "ACME"}, "BEGIN:VCARD\r\nVERSION:3.0\r\nN:;;;;\r\nFN:ACME\r\nORG:ACME\r\nEND:VCARD\r\n"),
    ("vcard", CARD,
     "BEGIN:VCARD\r\nVERSION:3.0\r\nN:O'Hara\\; Jr.\\, \\\\;Ana;;;\r\nFN:Ana O'Hara\\; Jr.\\, \\\\\r\n"
     "ORG:Café\\, GmbH\r\nTITLE:Boss\\, of\\; all\r\nTEL;TYPE=WORK,VOICE:+493012345\r\nTEL;TYPE=CELL:01701234567\r\n"
     "TEL;TYPE=FAX:+49301234\r\nEMAIL;TYPE=INTERNET:ana@example.com\r\nURL:https://example.com/a,b;c\r\n"
     "ADR;TYPE=WORK:;;1\\; Main\\, St\\nBack yard;Köln;NRW;50667;DE\r\nEND:VCARD\r\n"),
    ("vcard", {"org": "ACME", "site": "example.com/us"},
     "BEGIN:VCARD\r\nVERSION:3.0\r\nN:;;;;\r\nFN:ACME\r\nORG:ACME\r\nURL:https://example.com/us\r\nEND:VCARD\r\n"),
    ("geo", "52.5200, 13.4050", "geo:52.52,13.405"),
    ("geo", {"lat": -33.85, "lng": "151.2", "name": "Sydney"}, "geo:-33.85,151.2"),
    ("whatsapp", "+49 170 1234567", "https://wa.me/491701234567"),
    ("whatsapp", {"phone": "+491701234567", "message": "Hi & bye"}, "https://wa.me/491701234567?text=Hi%20%26%20bye"),
    ("app", {"apple": "https://apps.apple.com/x", "google": "https://play.google.com/y"}, "https://apps.apple.com/x"),
    ("crypto", "1BoatSLRHtKNngkdXEeobR76b53LETtpyT", "bitcoin:1BoatSLRHtKNngkdXEeobR76b53LETtpyT"),
    ("crypto", {"address": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT", "amount": 0.5, "label": "Tip & co"},
     "bitcoin:1BoatSLRHtKNngkdXEeobR76b53LETtpyT?amount=0.5&label=Tip%20%26%20co"),
    ("crypto", "litecoin:LhK2kQwiaAvhjWY799cZvMyYwnQAcxkarr?amount=1",
     "litecoin:LhK2kQwiaAvhjWY799cZvMyYwnQAcxkarr?amount=1"),
    ("crypto", "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr",
     "bitcoin:bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr"),
    ("crypto", "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
     "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"),
    ("crypto", {"currency": "dash", "address": "XpESxaUmonkq8RaLLp46Brx2K39ggQe226"},
     "dash:XpESxaUmonkq8RaLLp46Brx2K39ggQe226"),
    ("geo", "geo:0,0?q=52.52,13.4(Caf%C3%A9)", "geo:52.52,13.4"),
    ("geo", "GEO:52.52,13.4,100;u=35?z=3", "geo:52.52,13.4"),
    ("wifi", 'WIFI:T:WPA;S:"cafe";P:"12345678";;', "WIFI:T:WPA;S:cafe;P:12345678;;"),
    ("phone", "035602 / 123", "tel:035602123"),
    ("phone", "+49 (0)35602 / 123", "tel:+4935602123"),
)  # fmt: skip


@pytest.mark.parametrize(("type", "data", "text"), TEXTS)
def test_payload_follows_standard_of_type(type: payloads.Type, data: Any, text: str) -> None:
    assert payloads.read_new(type, data, SETTINGS).text == text


@pytest.mark.parametrize(
    "start", ["2030-05-01T10:30:00.000Z", "2030-05-01T12:30:00+02:00", "2030-05-01 12:30:00 +0200"]
)
def test_event_time_with_offset_is_in_utc(start: str) -> None:
    lines = payloads.read("event", {"title": "T", "start": start, "end": "2030-05-01 11:00"}, SETTINGS).text.split(
        "\r\n"
    )
    assert {"DTSTART:20300501T103000Z", "DTEND:20300501T110000Z"} <= set(lines)


def test_event_payload_is_valid_icalendar() -> None:
    values = {"title": "Tea, cake; more", "start": "2030-05-01 15:00:00", "end": "2030-05-01T16:30", "location": "A\\B"}
    lines = payloads.read("event", values, SETTINGS).text.split("\r\n")
    assert {"DTSTART:20300501T150000Z", "DTEND:20300501T163000Z", "SUMMARY:Tea\\, cake\\; more"} <= set(lines)
    assert "LOCATION:A\\\\B" in lines
    whole = payloads.read("event", {"title": "T", "start": "2030-05-01", "end": "2030-05-02"}, SETTINGS).text
    assert "DTSTART;VALUE=DATE:20300501\r\nDTEND;VALUE=DATE:20300503\r\n" in whole
    assert payloads.read("event", "BEGIN:VEVENT\nSUMMARY:x\nEND:VEVENT", SETTINGS).text.startswith(
        "BEGIN:VCALENDAR\r\n"
    )


WRONG: tuple[tuple[str, Any, str], ...] = (
    ("text", "", "empty"),
    ("text", {}, "data.text is required"),
    ("text", {"text": ["x"]}, "data.text must be a string"),
    ("text", "a\x07b", "control characters"),
    ("text", "x" * 9000, "too long"),
    ("link", "example.com", "must begin with http://"),
    ("link", "javascript:alert(1)", "must begin with http://"),
    ("link", {"url": "https://example.com/"}, "data.link is required"),
    ("link", "https://exa\nmple.com/", "line ends"),
    ("email", "invalid", "valid e-mail"),
    ("email", {"email": "a@example.com\r\nBcc: b@example.com"}, "line ends"),
    ("email", {"email": "a@example.com", "subject": "x\ny"}, "data.subject must not have line ends"),
    ("phone", "12", "3 to 15 digits"),
    ("phone", "+49 30 CALL ME", "3 to 15 digits"),
    ("phone", {"phone": True}, "must be a string"),
    ("sms", {"phone": "112", "message": float("inf")}, "must be a string"),
    ("phone", {"phone": 10**4000}, "3 to 15 digits"),
    ("phone", "+49 (030) 1234567", "Write +49301234567."),
    ("phone", "+49 0611 304021", "Write +49611304021."),
    ("phone", "+49 (0) 0611 304021", "Write +49611304021."),
    ("phone", "+39 (0)6 6982", "has (0) after +39"),
    ("phone", "49 (0) 611 304021", "has (0) without a country code"),
    ("phone", "+49 611 (0) 304021", "has (0) within the number"),
    ("phone", "+0611 304021", "has no country code"),
    ("phone", "+4930", "too short"),
    ("phone", "030 1234567 #12", "3 to 15 digits"),
    ("phone", "0800 PIZZA 12", "3 to 15 digits"),
    ("phone", "*#", "3 to 15 digits"),
    ("phone", "+49 30 1234567;phone-context=example.com", "3 to 15 digits"),
    ("phone", {"phone": "112", "extension": "5"}, "data.extension is not a part of the type phone, which has phone."),
    ("text", {"text": "x", "title": "y"}, "data.title is not a part of the type text"),
    ("sms", {"phone": "*100#"}, "no extension"),
    ("sms", {"phone": "+1 415 555 2671 ext 12"}, "no extension"),
    ("whatsapp", "0170 1234567", "must begin with + and the country code"),
    ("whatsapp", "(415) 555-2671", "must begin with + and the country code"),
    ("whatsapp", {"phone": "+491701234567", "text": "x"}, "data.text is not a part of the type whatsapp"),
    ("email", "ana@example.com, no", "valid e-mail"),
    ("email", "mailto:?subject=x", "must have a recipient"),
    ("email", "mailto:a@example.com?from=b@example.com", "once at most"),
    ("email", "mailto:a@example.com?subject=a%0D%0ABcc:b@example.com", "data.subject must not have line ends"),
    ("email", {"email": "mailto:a@example.com?subject=x", "subject": "y"}, "data.subject differs"),
    ("wifi", {"ssid": "x", "pass": "1234567"}, "8 to 63 characters"),
    ("wifi", {"ssid": "x", "pass": "a" * 64 + "g"}, "8 to 63 characters"),
    ("wifi", {"ssid": "x", "pass": "p\u00e4ssword"}, "8 to 63 characters"),
    ("wifi", {"ssid": "x", "pass": "secret", "encryption": "WEP"}, "5, 13, 16 or 29 characters"),
    ("wifi", "WIFI:S:x;P:12345678", "does not end with a semicolon"),
    ("vcard", {"fname": "A", "cell": "+49 (030) 1234567"}, "data.cell has 0 after +49"),
    ("vcard", {"fname": "A", "birthday": "May 1"}, "data.birthday must be a date"),
    ("vcard", {"fname": "A", "twitter": "@a"}, "data.twitter is not a part of the type vcard"),
    ("sms", {"message": "hi"}, "data.phone is required"),
    ("wifi", {"pass": "x"}, "data.ssid is required"),
    ("wifi", {"ssid": "x", "encryption": "WPA"}, "data.pass is required"),
    ("wifi", {"ssid": "x", "pass": "y", "encryption": "EAP"}, "data.encryption must be"),
    ("wifi", {"ssid": "x" * 33}, "at most 32 bytes"),
    ("wifi", {"ssid": "a\nb"}, "line ends"),
    ("wifi", {"ssid": "x", "hidden": "maybe"}, "data.hidden must be true or false"),
    ("wifi", {"ssid": "x", "hidden": [1]}, "data.hidden must be true or false"),
    ("wifi", "WIFI:T:WPA;;", "no S:name"),
    ("wifi", "WIFI:S:x", "no S:name"),
    ("wifi", "WIFI:" + "A:" * 4000, "no S:name"),
    ("vcard", {"phone": "112"}, "needs a first name"),
    ("vcard", {"fname": "A\r\nTEL:666"}, "line ends"),
    ("vcard", {"fname": "A", "site": "https://e.com\nX:y"}, "line ends"),
    ("vcard", {"fname": "A", "site": "javascript:alert(1)"}, "valid host name"),
    ("vcard", {"fname": "A", "site": "javascript://%0aalert(1)"}, "must begin with http://"),
    ("vcard", {"fname": "A", "email": "a@b.de, c@d.de"}, "data.email must be an e-mail address, such as"),
    ("vcard", "BEGIN:VCARD\nFN:X", "END:VCARD"),
    ("event", {"title": "x"}, "data.start is required"),
    ("event", {"title": "x", "start": "tomorrow"}, "data.start must be"),
    ("event", {"title": "x", "start": "2030-01-02", "end": "2030-01-01"}, "must not be before"),
    ("event", {"title": "x", "start": "9999-12-31"}, "data.start must be in a year from 1000 to 9998"),
    ("event", {"title": "x", "start": "2030-01-02", "end": "9999-12-31"}, "data.end must be in a year"),
    ("event", {"title": "x", "start": "0001-01-01 10:00"}, "data.start must be in a year"),
    ("event", {"title": "x", "start": "2030-01-02", "url": "data:text/html,x"}, "data.url must have"),
    ("event", "a party", "BEGIN:VCALENDAR"),
    ("geo", "here", "latitude"),
    ("geo", "91,0", "latitude from -90 to 90"),
    ("geo", {"lat": 1, "lng": 181}, "longitude from -180 to 180"),
    ("geo", {"lat": "NaN", "lng": 1}, "must be a number"),
    ("geo", {"lat": "1e-40", "lng": 1}, "must be a number"),
    ("geo", {"lat": "1e-999999999", "lng": 1}, "must be a number"),
    ("whatsapp", {"message": "hi"}, "data.phone is required"),
    ("app", {}, "apple, google or url"),
    ("app", {"apple": "https://e.com", "google": "x"}, "data.google must begin with http://"),
    ("link", {"link": "x"}, "data.link must begin with http://"),
    ("vcard", {"fname": "A", "site": "mailto:ana@example.com"}, "data.site must begin with http://"),
    ("vcard", {"fname": "A", "site": "tel:1234"}, "data.site must begin with http://"),
    ("event", {"title": "x", "start": "2030-01-02", "url": "ana@example.com"}, "data.url must begin with http://"),
    ("vcard", "BEGIN:VCARD\nFN:A\nEND:VCARD", "data has no VERSION:"),
    ("vcard", "BEGIN:VCARD\nVERSION:3.0\nFN:A\nTEL:+49 (030) 1234\nEND:VCARD", "Write +49301234."),
    (
        "vcard",
        'BEGIN:VCARD\nVERSION:4.0\nFN:A\nx.TEL;TYPE="a:b";PREF=1:tel:+49-0-30\n 1234\nEND:VCARD',
        "Write +49301234.",
    ),
    ("event", "BEGIN:VEVENT\nSUMMARY:x\nEND:VEVENT", "data needs an event with its start"),
    ("event", "BEGIN:VEVENT\nSUMMARY:x\nDTSTART:2030-05-01 10:00\nEND:VEVENT", "data needs an event with its start"),
    ("event", "BEGIN:VCALENDAR\nEND:VCALENDAR", "data needs an event with its start"),
    ("phone", "+7 8 812 123 45 67", "data.phone has 8 after +7, which is not dialed from abroad. Write +78121234567."),
    ("phone", "+370 8 612 34567", "Write +37061234567."),
    ("phone", "+375 80 29 123 45 67", "Write +375291234567."),
    ("geo", {"lat": "1_0", "lng": 1}, "must be a number"),
    ("geo", "\u0665\u0662,1", "latitude"),
    ("crypto", "short", "must be an address"),
    ("crypto", "1BoatSLRHtKNngkdXEeobR76b53LETtpyX", "data must be an address of bitcoin"),
    ("crypto", "0xfb6916095ca1df60bb79Ce92ce3ea74c37c5d359", "data must be an address of bitcoin"),
    ("crypto", "bitcoin:Bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "data must be an address of bitcoin"),
    ("crypto", "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6b", "data must be an address of bitcoincash"),
    (
        "crypto",
        {"currency": "litecoin", "address": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"},
        "data.address must be an address of litecoin",
    ),
    ("crypto", "bitcoin:1BoatSLRHtKNngkdXEeobR76b53LETtpyT?amount=-1", "data.amount must be more than 0"),
    ("crypto", {"address": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT", "amount": "0.123456789"}, "at most 8 digits"),
    ("geo", "geo:0,0?q=Alexanderplatz+Berlin", "data has a text to search for"),
    ("geo", "geo:52,5,13,4", "longitude"),
    ("vcard", "MECARD:N:Owen,Sean;TEL:12125551212;;", "data is a card in another format"),
    ("vcard", "bizcard:N:Sean;X:Owen;;", "data is a card in another format"),
    ("wifi", "WIFI:T:WPA;S:x;I:ana;E:PEAP;P:12345678;;", "data is a network with user names"),
    ("phone", "+49 611 304021 / 22", "data.phone has a slash after a whole number"),
    ("phone", "0611 304021/22", "data.phone has a slash after a whole number"),
    ("link", "tel:*100#", "Write it as tel:*100%23."),
    ("crypto", {"address": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT", "currency": "gold"}, "data.currency"),
    ("crypto", {"address": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT", "amount": -1}, "more than 0"),
    ("crypto", {"address": "1Boat?amount=1"}, "data.address"),
    ("link", "https://https://example.com", "only one https://"),
    ("app", {"google": "https://e.com:/x"}, "valid host name"),
    ("vcard", {"fname": "A", "site": "https://https://e.com"}, "only one https://"),
    ("event", {"title": "x", "start": "2030-01-02", "url": "https://e.com:/x"}, "valid host name"),
    ("link", "tel:+49(0)611304021", "Write it as tel:+49611304021."),
    ("link", "tel:+49(0611)304021", "Write +49611304021."),
    ("link", "tel:call-me", "data must be a phone number"),
    ("app", {"url": "TEL:+490611304021"}, "Write +49611304021."),
    ("link", "sms:+4901701234567?body=x", "Write +491701234567."),
    ("link", "sms:+491701234567,+49(0)1701234567", "Write it as +491701234567."),
    ("link", "mailto:ana", "data must be a valid e-mail address"),
    ("link", "mailto:ana@example.com,no?subject=x", "data must be a valid e-mail address"),
    ("link", "https://wa.me/01701234567", "data must begin with + and the country code"),
    ("link", "https://wa.me/4901701234567?text=x", "Write +491701234567."),
    ("link", "https://wa.me/+49(0)1701234567", "Write it as 491701234567."),
    ("link", "https://api.whatsapp.com/send?phone=01701234567", "country code"),
    ("app", {"url": "https://wa.me/12"}, "3 to 15 digits"),
)

CALLS = (
    *("tel:+49-611-304021", "tel:+496113040;ext=12", "tel:7042;phone-context=example.com", "tel:*100%23", "tel:112"),
    *("sms:+491701234567?body=a%20b", "sms:?body=x", "sms:+491701234567,+15551234567", "sms:/open?addresses=1"),
    *("mailto:ana@example.com?subject=x", "mailto:?body=x", "mailto:a%2Bb@example.com,c@example.com"),
    *("https://wa.me/491701234567?text=x", "https://wa.me/+491701234567", "https://wa.me/?text=x"),
    *("https://wa.me/message/ABC", "https://wa.me/qr/12", "https://api.whatsapp.com/send?phone=+491701234567"),
    *("https://example.com/01701234567", "whatsapp://send?text=hi", "whatsapp://["),
)


@pytest.mark.parametrize("uri", CALLS)
def test_code_with_usable_number_or_mailbox_holds_it_as_it_is(uri: str) -> None:
    assert [payloads.read_new(kind, uri, SETTINGS).uri for kind in payloads.TYPES if kind in ("link", "app")] == [
        uri
    ] * 2


@pytest.mark.parametrize(("type", "data", "message"), WRONG)
def test_invalid_payload_data_is_rejected(type: payloads.Type, data: Any, message: str) -> None:
    with pytest.raises(Problem) as caught:
        payloads.read_new(type, data, SETTINGS)
    assert caught.value.field == "data"
    assert message in caught.value.message


_WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=20).filter(str.strip)


@given(ssid=_WORDS, password=_WORDS)
@settings(max_examples=100)
def test_wifi_fields_are_escaped(ssid: str, password: str) -> None:
    if len(ssid.encode()) <= 32:
        text = payloads.read("wifi", {"ssid": ssid, "pass": password}, SETTINGS).text
        assert wifi_parts(text) == (ssid, password, "WPA", "")
        assert text == f"WIFI:T:WPA;S:{wifi_escaped(ssid)};P:{wifi_escaped(password)};;"


@given(name=st.text(max_size=80), street=st.text(max_size=200))
@settings(max_examples=100)
def test_vcard_fields_cannot_inject_lines(name: str, street: str) -> None:
    try:
        card = payloads.read("vcard", {"fname": name, "street": street}, SETTINGS).text
    except Problem:
        return
    lines = card.replace("\r\n ", "").split("\r\n")
    assert [line.partition(":")[0].partition(";")[0] for line in lines[:4]] == ["BEGIN", "VERSION", "N", "FN"]
    assert len(lines) <= 7
    assert all(len(line.encode()) <= 75 for line in card.split("\r\n"))
    assert not set(card) & set(map(chr, range(32))) - {"\r", "\n", "\t"}
