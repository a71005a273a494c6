"""The decision for a visit, as a table of cases: link, visit, outcome."""

from typing import Any

import pytest

from waypost.visits.decide import Decision, Facts, Redirect, Refusal, decide, expired_outcome
from waypost.visits.link_record import LinkView

NOW = 1_800_000_000
PAGE = "https://example.com/page"
OVER = "https://example.com/over"
PLAIN = LinkView(
    id=7,
    account=3,
    alias="spring",
    url=PAGE,
    title="Spring",
    password=None,
    expiry=None,
    clicklimit=None,
    expiryurl="",
    status="public",
)


def _answer(link: dict[str, Any], visit: dict[str, Any]) -> Decision:
    return decide(PLAIN._replace(**link), Facts(**{"now": NOW, **visit}))


@pytest.mark.parametrize(
    ("link", "visit", "outcome"),
    [
        pytest.param({}, {}, Redirect(PAGE), id="a link leads to its target"),
        pytest.param({"status": "private"}, {}, Redirect(PAGE), id="private hides statistics, not the target"),
        pytest.param({"status": "disabled"}, {}, Refusal("disabled"), id="a disabled link says so"),
        pytest.param({"clicklimit": 1}, {}, Redirect(PAGE), id="a click limit is asked later"),
        pytest.param({"expiry": NOW + 1}, {}, Redirect(PAGE), id="a link works before its end"),
        pytest.param({"expiry": NOW}, {}, Redirect(PAGE), id="a link works in its last second"),
        pytest.param({"expiry": NOW - 1}, {}, Refusal("expired"), id="a link is gone in the second after"),
        pytest.param({"expiry": 0}, {}, Refusal("expired"), id="an end in 1970 is an end"),
        pytest.param({"expiryurl": OVER}, {}, Redirect(PAGE), id="the address for afterwards waits for its time"),
        pytest.param(
            {"expiry": NOW - 1, "expiryurl": OVER},
            {},
            Redirect(OVER, is_click=False),
            id="a link that is over leads to its address for afterwards, uncounted",
        ),
        pytest.param(
            {"expiry": NOW - 1, "expiryurl": OVER, "parameters": [{"name": "a", "value": "b"}]},
            {"query": "c=d"},
            Redirect(OVER, is_click=False),
            id="the address for afterwards is taken as it is",
        ),
        pytest.param({"password": "hash"}, {}, Refusal("locked"), id="a protected link asks for its password"),
        pytest.param({"password": "hash"}, {"unlocked": True}, Redirect(PAGE), id="the password opens it"),
        pytest.param({}, {"unlocked": True}, Redirect(PAGE), id="a password for an open link is no matter"),
        pytest.param(
            {"password": "hash", "status": "disabled", "expiry": NOW - 1},
            {"unlocked": True},
            Refusal("disabled"),
            id="disabled comes before everything",
        ),
        pytest.param(
            {"password": "hash", "expiry": NOW - 1},
            {},
            Refusal("expired"),
            id="expired link needs no password",
        ),
        pytest.param(
            {"password": "hash", "geotarget": [{"location": "France", "link": OVER}]},
            {"country": "France"},
            Refusal("locked"),
            id="a protected link does not show where it leads in France",
        ),
    ],
)
def test_link_settings_decide_outcome_of_visit(link: dict[str, Any], visit: dict[str, Any], outcome: Decision) -> None:
    assert _answer(link, visit) == outcome


GEO = [{"location": "France", "link": "https://fr.example/"}, {"location": "de", "link": "https://de.example/"}]
DEVICES = [
    {"device": device, "link": f"https://{device.lower()}.example/"}
    for device in ("iPhone", "iPad", "Android", "Mac", "Windows", "Tablet", "Mobile")
]
APPS = {"apple": "https://apps.example/apple", "google": "https://apps.example/google"}
WORDS = [{"language": "pt-BR", "link": "https://pt.example/"}, {"language": "FR", "link": "https://mots.example/"}]
ALL = {"geotarget": GEO, "devicetarget": DEVICES, "deeplink": APPS, "languagetarget": WORDS}
IPHONE = {"os": "iOS", "device": "Mobile"}
IPAD = {"os": "iOS", "device": "Tablet"}
PIXEL = {"os": "Android", "device": "Mobile"}
LAPTOP = {"os": "Linux", "device": "Desktop"}
PARIS = {"country": "France", "country_code": "FR"}
LYON = {**PARIS, "language": "fr"}


@pytest.mark.parametrize(
    ("link", "visit", "url"),
    [
        pytest.param({"geotarget": GEO}, PARIS, "https://fr.example/", id="a country by its name"),
        pytest.param({"geotarget": GEO}, {"country_code": "DE"}, "https://de.example/", id="a country by its code"),
        pytest.param({"geotarget": GEO}, {"country": "FRANCE"}, "https://fr.example/", id="a country in capitals"),
        pytest.param({"geotarget": GEO}, {"country": "Spain", "country_code": "ES"}, PAGE, id="another country"),
        pytest.param({"geotarget": GEO}, {}, PAGE, id="no country"),
        pytest.param({"geotarget": [{"location": "", "link": OVER}]}, {}, PAGE, id="nowhere is no country"),
        pytest.param(
            {"geotarget": [*GEO, {"location": "FR", "link": OVER}]}, PARIS, "https://fr.example/", id="the first of two"
        ),
        pytest.param({"devicetarget": DEVICES}, IPHONE, "https://iphone.example/", id="an iPhone"),
        pytest.param({"devicetarget": DEVICES}, IPAD, "https://ipad.example/", id="an iPad"),
        pytest.param({"devicetarget": DEVICES[2:]}, IPAD, "https://tablet.example/", id="an iPad is a tablet"),
        pytest.param({"devicetarget": DEVICES}, PIXEL, "https://android.example/", id="an Android telephone"),
        pytest.param({"devicetarget": DEVICES[3:]}, PIXEL, "https://mobile.example/", id="any telephone"),
        pytest.param(
            {"devicetarget": DEVICES}, {"os": "macOS", "device": "Desktop"}, "https://mac.example/", id="a Mac"
        ),
        pytest.param(
            {"devicetarget": DEVICES}, {"os": "Windows", "device": "Desktop"}, "https://windows.example/", id="a PC"
        ),
        pytest.param({"devicetarget": DEVICES}, LAPTOP, PAGE, id="a device without a destination"),
        pytest.param({"devicetarget": DEVICES}, {}, PAGE, id="no device"),
        pytest.param({"deeplink": APPS}, IPHONE, APPS["apple"], id="the App Store on iOS"),
        pytest.param({"deeplink": APPS}, IPAD, APPS["apple"], id="the App Store on an iPad"),
        pytest.param({"deeplink": APPS}, PIXEL, APPS["google"], id="the Play Store on Android"),
        pytest.param({"deeplink": APPS}, LAPTOP, PAGE, id="no store on a laptop"),
        pytest.param({"deeplink": {"apple": APPS["apple"]}}, PIXEL, PAGE, id="no app for Android"),
        pytest.param({"deeplink": {}}, IPHONE, PAGE, id="no app at all"),
        pytest.param({"languagetarget": WORDS}, {"language": "fr"}, "https://mots.example/", id="a language"),
        pytest.param(
            {"languagetarget": WORDS}, {"language": "pt-BR"}, "https://pt.example/", id="a language with a country"
        ),
        pytest.param({"languagetarget": WORDS}, {"language": "de"}, PAGE, id="another language"),
        pytest.param({"languagetarget": WORDS}, {}, PAGE, id="no language"),
        pytest.param(ALL, {**LYON, **IPHONE}, "https://fr.example/", id="country before device, app and language"),
        pytest.param(ALL, {**IPHONE, "language": "fr"}, "https://iphone.example/", id="device before app and language"),
        pytest.param(
            {**ALL, "devicetarget": []}, {**IPHONE, "language": "fr"}, APPS["apple"], id="app before language"
        ),
        pytest.param(ALL, {**LAPTOP, "language": "fr"}, "https://mots.example/", id="language before everybody"),
        pytest.param(ALL, LAPTOP, PAGE, id="everybody else"),
    ],
)
def test_destination_by_targeting_rules(link: dict[str, Any], visit: dict[str, Any], url: str) -> None:
    assert _answer(link, visit) == Redirect(url)


UTM = {"parameters": [{"name": "utm_source", "value": "our news"}, {"name": "flag", "value": ""}]}


@pytest.mark.parametrize(
    ("link", "query", "url"),
    [
        pytest.param({}, "a=b", f"{PAGE}?a=b", id="the visitor's query goes on"),
        pytest.param({"url": f"{PAGE}?own=1"}, "a=b", f"{PAGE}?own=1&a=b", id="behind the target's own"),
        pytest.param({"url": f"{PAGE}#part"}, "a=b", f"{PAGE}?a=b#part", id="before the fragment"),
        pytest.param({"url": f"{PAGE}?own=1#part?no"}, "a=b", f"{PAGE}?own=1&a=b#part?no", id="between the two"),
        pytest.param({"url": "https://example.com"}, "a=b", "https://example.com?a=b", id="without a path"),
        pytest.param({"url": "HTTPS://EXAMPLE.com/"}, "a=b", "https://EXAMPLE.com/?a=b", id="a scheme in capitals"),
        pytest.param({"url": "HTTPS://EXAMPLE.com/"}, "", "HTTPS://EXAMPLE.com/", id="no query changes nothing"),
        pytest.param(UTM, "", f"{PAGE}?utm_source=our+news&flag=", id="the link's parameters, written for the web"),
        pytest.param(UTM, "a=b", f"{PAGE}?utm_source=our+news&flag=&a=b", id="parameters before the visitor's query"),
        pytest.param({"parameters": [{"name": "x"}]}, "", f"{PAGE}?x=", id="a parameter without a value"),
        pytest.param(
            {"parameters": [{"name": "é&", "value": "=#"}]}, "", f"{PAGE}?%C3%A9%26=%3D%23", id="odd parameters"
        ),
        pytest.param({}, "flag", f"{PAGE}?flag", id="a name alone stays alone"),
        pytest.param({}, "a=1;b=2", f"{PAGE}?a=1;b=2", id="semicolons stay"),
        pytest.param({}, "q=a+b%20c", f"{PAGE}?q=a+b%20c", id="both spellings of a blank stay"),
        pytest.param({}, "q=%E9%C3%A9", f"{PAGE}?q=%E9%C3%A9", id="bytes of any alphabet stay"),
        pytest.param({}, "%0d%0aSet-Cookie:x", f"{PAGE}?%0d%0aSet-Cookie:x", id="an encoded line end stays encoded"),
        pytest.param({}, "a=%zz&&=&b==", f"{PAGE}?a=%zz&&=&b==", id="nonsense stays as it is"),
        pytest.param({}, "next=https://a.b/?c=d", f"{PAGE}?next=https://a.b/?c=d", id="an address in the query stays"),
        pytest.param({}, "&".join("abc" * 100), f"{PAGE}?{'&'.join('abc' * 100)}", id="hundreds of fields stay"),
        pytest.param(
            {**UTM, "url": "mailto:ana@example.com"}, "a=b", "mailto:ana@example.com", id="an app gets no query"
        ),
        pytest.param({**UTM, "url": "tel:+4930"}, "a=b", "tel:+4930", id="nor does a telephone"),
        pytest.param(
            {"geotarget": GEO, **UTM},
            "a=b",
            f"{PAGE}?utm_source=our+news&flag=&a=b",
            id="for everybody who is not elsewhere",
        ),
    ],
)
def test_parameters_are_added_to_destination(link: dict[str, Any], query: str, url: str) -> None:
    assert _answer(link, {"query": query}) == Redirect(url)


@pytest.mark.parametrize(
    ("url", "own", "query", "expected"),
    [
        ("?utm_source=x", {}, "utm_source=y", "?utm_source=y"),
        ("?a=1", {}, "a=1", "?a=1"),
        ("?a=1&b=2&a=3", {}, "a=4", "?a=4&b=2"),
        ("?a=1&b=2", {}, "c=3&a=4&a=5", "?a=4&a=5&b=2&c=3"),
        ("?a[]=1&a[]=2", {}, "b=3", "?a[]=1&a[]=2&b=3"),
        ("?a[]=1&a[]=2", {}, "a%5B%5D=3", "?a%5B%5D=3"),
        ("?a+b=1", {}, "a%20b=2", "?a%20b=2"),
        ("?A=1", {}, "a=2", "?A=1&a=2"),
        ("?a=%27&b=%2b+x#a=1", {}, "c=%3d", "?a=%27&b=%2b+x&c=%3d#a=1"),
        ("?a=1#f", {"a": "2"}, "", "?a=2#f"),
        ("?a=1&b=1&c=1", {"a": "2", "b": "2"}, "b=3", "?a=2&b=3&c=1"),
        ("?flag&a=1", {}, "flag", "?flag&a=1"),
        ("?=x&&a=1", {}, "=y&&a=2", "?=x&&a=2&=y&"),
    ],
)
def test_newer_parameter_replaces_older_one(url: str, own: dict[str, str], query: str, expected: str) -> None:
    parameters = [{"name": name, "value": value} for name, value in own.items()]
    link = {"url": f"{PAGE}{url}", "parameters": parameters}
    assert _answer(link, {"query": query}) == Redirect(f"{PAGE}{expected}")


CHINESE = ("zh-TW", "zh-CN")


@pytest.mark.parametrize(
    ("rules", "accept_language", "matching"),
    [
        (CHINESE, "zh-CN", "zh-CN"),
        (CHINESE, "zh-TW,zh;q=0.9,en;q=0.8", "zh-TW"),
        (CHINESE, "zh-Hans-CN", "zh-CN"),
        (CHINESE, "ZH_cn", "zh-CN"),
        (CHINESE, "zh", None),
        (CHINESE, "zh-HK", None),
        (("zh", *CHINESE), "zh-CN", "zh-CN"),
        (("zh", *CHINESE), "zh-HK", "zh"),
        (("zh-Hant", "zh-Hans"), "zh-TW", "zh-Hant"),
        (("zh-Hant", "zh-Hans"), "zh-Hans-HK", "zh-Hans"),
        (("zh-Hant", "zh-Hans"), "zh-CN", "zh-Hans"),
        (("zh-Hant", "zh-Hant-HK"), "zh-HK", "zh-Hant-HK"),
        (("zh-TW", "zh-Hans"), "zh-Hans-TW", "zh-Hans"),
        (("zh-CN",), "zh-Hant-CN", None),
        (("zh-TW",), "zh-Hant-TW", "zh-TW"),
        (("zh",), "cmn-Hans-CN", "zh"),
        (("no", "en"), "nb-NO,nb;q=0.9,en;q=0.8", "no"),
        (("nb",), "no", "nb"),
        (("no",), "nn", None),
        (("pt-BR", "pt-PT"), "pt-PT", "pt-PT"),
        (("pt-BR", "pt"), "pt-PT", "pt"),
        (("pt", "pt-BR"), "pt,pt-BR;q=0.5", "pt-BR"),
        (("de", "fr"), "fr;q=0.5,de;q=0.8", "de"),
        (("de", "fr"), "nl,fr;q=0.5", "fr"),
        (("fr-CA", "en"), "en,fr-CA;q=0.1", "en"),
        (("de", "fr"), "de;q=0,fr;q=0.1", "fr"),
        (("de",), "*", None),
        (("he",), "iw-IL", "he"),
        (("iw",), "he", "iw"),
        (("es-419", "es"), "es-MX", "es"),
        (("de-DE",), "de-DE-u-co-phonebk", "de-DE"),
        (("de", "de"), "de-AT", "de"),
        ((), "de", None),
    ],
)
def test_language_rule_matches_region_and_script(
    rules: tuple[str, ...], accept_language: str, matching: str | None
) -> None:
    targets = [{"language": rule, "link": f"https://{rule}.example/"} for rule in rules]
    expected = f"https://{matching}.example/" if matching else PAGE
    assert _answer({"languagetarget": targets}, {"language": accept_language}) == Redirect(expected)


def test_targeted_destination_gets_query() -> None:
    assert _answer({"geotarget": GEO, **UTM}, {**PARIS, "query": "a=b"}) == Redirect(
        "https://fr.example/?utm_source=our+news&flag=&a=b"
    )


@pytest.mark.parametrize(("expiryurl", "outcome"), [("", Refusal("expired")), (OVER, Redirect(OVER, is_click=False))])
def test_link_with_reached_limit_behaves_as_expired(expiryurl: str, outcome: Decision) -> None:
    assert (
        expired_outcome(PLAIN._replace(expiryurl=expiryurl), "expired")
        == outcome
        == _answer({"expiryurl": expiryurl, "expiry": 1}, {})
    )


@pytest.mark.parametrize(
    ("link", "plain"),
    [
        ({}, True),
        ({"expiry": NOW, "expiryurl": OVER, "status": "private", **UTM}, True),
        ({"status": "disabled"}, False),
        ({"password": "hash"}, False),
        ({"clicklimit": 5}, False),
        ({"geotarget": GEO}, False),
        ({"devicetarget": DEVICES}, False),
        ({"languagetarget": WORDS}, False),
        ({"deeplink": APPS}, False),
    ],
)
def test_link_with_same_result_for_all_visitors_is_plain(link: dict[str, Any], plain: bool) -> None:  # noqa: FBT001
    assert PLAIN._replace(**link).is_plain is plain
