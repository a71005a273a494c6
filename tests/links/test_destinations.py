"""Validation of destinations: web URLs only, and never this service itself (decision 44)."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.assertions import refused
from tests.support.databases import ON_SQLITE
from waypost.core.settings import Settings

GOOD = "https://example.com/"
FIELDS: dict[str, Callable[[str], dict[str, Any]]] = {
    "url": lambda url: {"url": url},
    "expiryurl": lambda url: {"url": GOOD, "expiryurl": url},
    "geotarget": lambda url: {"url": GOOD, "geotarget": [{"location": "France", "link": url}]},
    "devicetarget": lambda url: {"url": GOOD, "devicetarget": [{"device": "iPhone", "link": url}]},
    "languagetarget": lambda url: {"url": GOOD, "languagetarget": [{"language": "fr", "link": url}]},
    "deeplink": lambda url: {"url": GOOD, "deeplink": {"apple": GOOD, "google": url}},
}
TWO_FIELDS = ("url", "geotarget")  # for cases of a rule that all fields share
pytestmark = ON_SQLITE

SCRIPTS = (
    *("javascript:alert(1)", "JavaScript:alert(1)", "JAVASCRIPT:alert(1)", "javascript://example.com/%0aalert(1)"),
    *(" javascript:alert(1)", "\tjavascript:alert(1)", "\njavascript:alert(1)", "\u00a0javascript:alert(1)"),
    *("\u2028javascript:alert(1)", "\ufeffjavascript:alert(1)", "\u200bjavascript:alert(1)", "\x01javascript:alert(1)"),
    *("\x1fjavascript:alert(1)", "\x00javascript:alert(1)", "java\tscript:alert(1)", "java\nscript:alert(1)"),
    *("java\rscript:alert(1)", "java\x00script:alert(1)", "javascript\t:alert(1)", "javascript :alert(1)"),
    *("\uff4aavascript:alert(1)", "java\u017fcript:alert(1)", "javascript\uff1aalert(1)", "javascript&colon;alert(1)"),
    *("javascript%3Aalert(1)", "javascript:https://example.com/", "feed:javascript:alert(1)", "vbscript:msgbox(1)"),
    *("VBScript:x", "data:text/html,<script>alert(1)</script>", "DATA:text/html;base64,PHNjcmlwdD4", " data:,x"),
    *(
        "file:///etc/passwd",
        "FILE://localhost/etc/passwd",
        "blob:https://example.com/x",
        "filesystem:https://a.example/",
    ),
    *("view-source:https://example.com/", "about:blank", "jar:https://example.com!/", "intent://x#Intent;end"),
)
NOT_WEB_URLS = (
    *("ftp://example.com/", "ws://example.com/", "mailto:ana@example.com", "tel:+4912345", "whatsapp://send?text=x"),
    *("//example.com/", "/path", "?x", "#x", "example.com", "www.example.com/x", "https", "https:", "://example.com"),
    *("https:example.com", "https:/example.com", "https:///example.com", "https://", "https://?x", "https://#x"),
    *("https://:80/", "https://user@/", "https://@", "https://.", "https://..", "https://.example.com/"),
    *("https://example..com/", "https://-example.com/", "https://example-.com/", "https://exam!ple.com/"),
    *("https://exa mple.com/", "https://example.com/a b", "https://example.com\\@evil.example/", "https:\\\\a.example"),
    *("https://example.com\t/", "ht\ntps://example.com/", "https://example.com/\x00", "https://example.com/\x7f"),
    *("https://example.com/\r\nSet-Cookie: a=b", "https://example.com/\u0085x", "https://example.com/\u2029x"),
    *("https://[::1", "https://::1]/", "https://[x]/", "https://[::1]x/", "https://example.com:x/"),
    *(
        "https://https://example.com",
        "http://http://e.example/x",
        "HTTPS://http//e.example/",
        "https://https:/e.example",
    ),
    *("https://example.com:/", "https://example.com:", "https://user@example.com:?x", "https://[::1]:/x"),
    *("https://\U0001f3f9\u2044.example/", "https://-\U0001f3f9.example/", "https://\u0301\U0001f3f9.example/"),
    *("https://example.com:99999/", "https://example.com:-1/", "https://example.com:0/", "https://example.com:8 0/"),
    *("https://b%C3%BCcher%2Fx.example/", "https://b%C3%BCcher%40x.example/"),
    *("https://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/", "https://b%FCcher.example/", "https://b%25C3%25BCcher.example/"),
    *("https://%65xample.com/", "https://example%2ecom/", "https://999.999.999.999/", "https://0x1ffffffff/"),
    *(f"https://{'x' * 64}.example/", f"https://{'x.' * 130}example/", "https://\u200b/", "https://exa\u2044mple.com/"),
)
VALID_URLS = (
    *("https://example.com", "https://example.com/", "HTTPS://EXAMPLE.COM/Path", "http://example.com:8080/a?b=c#d"),
    *("https://user:pass@example.com/", "https://b\u00fccher.example/stra\u00dfe?q=\u00fc#\u00df", "https://example/"),
    *("https://example.com/%20%0A?x=javascript:alert(1)", "https://example.com/'\"<>{}|^`", "https://example.com./"),
    *("https://[2606:4700::1111]/", "https://93.184.216.34/", "https://a_b.example.com/", "https://example.com:443/"),
    *(
        "https://xn--bcher-kva.example",
        "https://b%C3%BCcher.example:8080/",
        "https://example.com/\U0001f98a",
        "https://\U0001f3f9.example/x",
    ),
    *("https://\u2764\ufe0f.example", "https://i\u2665\u00fc.example", "https://https.example//x", "https://https/"),
)


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings of every test, overridden by the parameter of a test."""
    return Settings(**{**settings.model_dump(exclude_unset=True), **getattr(request, "param", {})})


def _results(
    person: Person, urls: Iterable[str], fields: Iterable[str]
) -> dict[tuple[str, str], tuple[int, str | None]]:
    """Create a link with each URL in each field; return the status and the field of the error."""
    answers = {}
    for field, url in itertools.product(fields, urls):
        response = person.call("POST", "/url/add", FIELDS[field](url))
        answers[field, url] = (response.status_code, response.json().get("field"))
    return answers


def _assert_rejected(person: Person, urls: Iterable[str], fields: Iterable[str] = FIELDS) -> None:
    responses = _results(person, urls, fields)
    assert responses == {(field, url): (400, field) for field, url in responses}


def _assert_accepted(person: Person, urls: Iterable[str], fields: Iterable[str] = FIELDS) -> None:
    responses = _results(person, urls, fields)
    assert responses == dict.fromkeys(responses, (200, None))


def test_script_and_file_urls_are_rejected_in_any_disguise(ana: Person) -> None:
    _assert_rejected(ana, SCRIPTS)


def test_incomplete_or_other_urls_are_rejected(ana: Person) -> None:
    _assert_rejected(ana, NOT_WEB_URLS)


def test_web_urls_are_accepted(ana: Person) -> None:
    _assert_accepted(ana, VALID_URLS)


def test_url_is_trimmed_and_otherwise_kept(ana: Person) -> None:
    for url in (*VALID_URLS, "  https://example.com/x \n"):
        link = ana.add("url", url=url, expiryurl=url)
        details = ana.details("url", link)
        assert (details["longurl"], details["expiryurl"]) == (url.strip(), url.strip())


def test_update_validates_urls(ana: Person) -> None:
    link = ana.add("url", url=GOOD)
    for field, url in itertools.product(FIELDS, ("javascript:alert(1)", "http://go.localhost:8000/x")):
        refused(ana.call("PUT", f"/url/{link}/update", FIELDS[field](url)), 400, field)
    assert ana.details("url", link)["longurl"] == GOOD


OWN_HOST = (
    *("http://go.localhost:8000", "http://go.localhost:8000/", "http://go.localhost:8000/abc?x#y"),
    *(
        "https://go.localhost:8000/",
        "HTTP://GO.LOCALHOST:8000/",
        "http://Go.LocalHost:8000/",
        "http://go.localhost.:8000/",
    ),
    *("http://go.localhost:08000/", "http://user@go.localhost:8000/", "http://evil.example@go.localhost:8000/"),
    *("http://user:evil.example@go.localhost:8000/", "http://go.localhost:8000#@evil.example/"),
    *(
        "http://go.localhost:8000?@evil.example/",
        "http://\uff47\uff4f.localhost:8000/",
        "http://go\uff0elocalhost:8000/",
    ),
    *("http://go\u3002localhost:8000/", "http://g\u00ado.localhost:8000/", "http://go\u200b.localhost:8000/"),
    *("http://\u24d6\u24de.localhost:8000/", "http://%67o.localhost:8000/", "http://go%2elocalhost:8000/"),
    *("http://localhost:8000/", "http://127.0.0.1:8000/", "http://0.0.0.0:8000/", "http://[::1]:8000/"),
)
OTHER_HOSTS = (
    *("http://go.localhost:9000/", "http://go.localhost.evil.example:8000/", "http://xgo.example:8000/"),
    *("http://go.localhost:8000@evil.example/", "http://evil.example#@go.localhost:8000/"),
    *("http://evil.example/http://go.localhost:8000/", "http://evil.example:8000/go.localhost"),
)


def test_own_host_is_rejected_in_any_spelling(ana: Person) -> None:
    _assert_rejected(ana, OWN_HOST)


def test_hosts_similar_to_own_host_are_accepted(ana: Person) -> None:
    _assert_accepted(ana, OTHER_HOSTS)


@pytest.mark.parametrize("settings", [{"base_url": "http://127.0.0.1:8000"}], indirect=True, ids=["127.0.0.1"])
def test_own_ip_address_is_rejected_in_any_spelling(ana: Person) -> None:
    hosts = (
        *("127.0.0.1", "127.0.0.1.", "2130706433", "0x7f000001", "0X7F000001", "017700000001", "0177.0.0.1", "127.1"),
        *(
            "127.0.1",
            "0x7f.1",
            "0x7f.0x0.0x0.0x1",
            "00000177.0.0.1",
            "\uff11\uff12\uff17.0.0.1",
            "127\u30020\u30020\u30021",
        ),
        *(
            "\u2460\u2461\u2466.0.0.1",
            "%31%32%37.0.0.1",
            "127.0.0.2",
            "0",
            "0.0.0.0",
            "localhost",
            "LOCALHOST.",
            "a.localhost",
        ),
        *("[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "user@127.1"),
    )
    _assert_rejected(ana, [f"http://{host}:8000/x" for host in hosts], TWO_FIELDS)
    _assert_accepted(
        ana, ["http://127.0.0.1:8001/", "http://128.0.0.1:8000/", "http://[2606:4700::1111]:8000/"], TWO_FIELDS
    )


@pytest.mark.parametrize("settings", [{"base_url": "https://go.example.com"}], indirect=True, ids=["https"])
def test_own_host_is_rejected_with_both_web_ports(ana: Person) -> None:
    own = (
        *(
            "https://go.example.com/x",
            "http://go.example.com/x",
            "https://go.example.com:443/",
        ),
        *("http://go.example.com:80/", "https://GO.example.com./", "https://user:pass@go.example.com"),
    )
    other = ("https://go.example.com:8443/", "https://example.com/", "https://go.example.com.evil.example/")
    _assert_rejected(ana, own, TWO_FIELDS)
    _assert_accepted(ana, other, TWO_FIELDS)


def test_branded_domain_of_any_account_is_rejected(ana: Person, ben: Person) -> None:
    domains = [
        ben.add("domain", domain=domain) for domain in ("https://go.brand.example", "http://b\u00fccher.example")
    ]
    branded = (
        *("https://go.brand.example", "http://go.brand.example/x", "https://GO.brand.example:8443/"),
        *("https://go.brand.example./", "https://\uff47o.brand.example/", "https://user@go.brand.example/"),
        *("https://b\u00fccher.example/", "https://B\u00dcCHER.example/", "https://xn--bcher-kva.example/"),
        *("https://XN--BCHER-KVA.example/", "https://bu\u0308cher.example/"),
    )
    for person in (ana, ben):
        _assert_rejected(person, branded, TWO_FIELDS)
    _assert_accepted(
        ana, ["https://brand.example/", "https://x.go.brand.example/", "https://bucher.example/"], TWO_FIELDS
    )
    for domain in domains:
        ben.remove("domain", domain)
    _assert_accepted(ana, branded, TWO_FIELDS)


@pytest.mark.parametrize("settings", [{"link_schemes": "mailto, tel,whatsapp"}], indirect=True, ids=["apps"])
def test_app_scheme_is_accepted_when_enabled_in_settings(ana: Person) -> None:
    apps = ("mailto:ana@example.com?subject=x%20y", "MAILTO:ana@example.com", "tel:+4912345", "whatsapp://send?text=hi")
    _assert_accepted(ana, [*apps, GOOD])
    _assert_rejected(ana, ["mailto:a b", "mailto:a\nb", "mailto:a\x00", "mail\tto:a", "sms:+49", "tels:1", "tel"])
    _assert_rejected(ana, [*SCRIPTS, "http://go.localhost:8000/"], TWO_FIELDS)


@pytest.mark.parametrize("settings", [{"link_schemes": "mailto"}], indirect=True, ids=["apps"])
def test_preview_image_must_be_web_url(ana: Person) -> None:
    for url in ("mailto:ana@example.com", "data:image/png;base64,AAAA", "javascript:alert(1)", "x.png"):
        refused(ana.call("POST", "/url/add", {"url": GOOD, "metaimage": url}), 400, "metaimage")
    ana.post("/url/add", {"url": GOOD, "metaimage": "https://example.com/x.png"})


def test_error_message_names_the_valid_form(ana: Person) -> None:
    messages = {
        url: refused(ana.call("POST", "/url/add", {"url": url}), 400, "url")
        for url in ("ftp://a.example/", "https://a b/", "https:///x", "http://go.localhost:8000/")
    }
    assert [
        word in text for word, text in zip(("http://", "%20", "host name", "loop"), messages.values(), strict=True)
    ] == [True] * 4


@pytest.mark.parametrize("field", ["geotarget", "devicetarget", "languagetarget"])
def test_message_names_refused_rule(ana: Person, field: str) -> None:
    ana.post("/domain/add", {"domain": "https://go.brand.example"})
    for url, message in (("x", "must begin with"), ("https://go.brand.example/", "must not lead to this service")):
        (rule,) = FIELDS[field](url)[field]
        body = {"url": GOOD, field: [{**rule, "link": GOOD}, {**rule, "link": GOOD}, rule]}
        assert refused(ana.call("POST", "/url/add", body), 400, field).startswith(f"{field}[2].link {message}")


def test_message_names_refused_deep_link(ana: Person) -> None:
    body = {"url": GOOD, "deeplink": {"apple": GOOD, "google": "x"}}
    assert refused(ana.call("POST", "/url/add", body), 400, "deeplink").startswith("deeplink.google must begin with")


def test_atomic_bulk_request_names_first_failed_item(ana: Person) -> None:
    items = [{"action": "create", "noun": "url", "fields": {"url": url}} for url in (GOOD, GOOD, "x", GOOD)]
    message = refused(ana.call("POST", "/bulk", {"items": items, "atomic": True}), 400, "items")
    assert message == "Nothing was changed, because items[2] is the first of 1 of 4 that failed; see results."


@pytest.mark.parametrize("settings", [{"link_schemes": "mailto"}], indirect=True, ids=["apps"])
def test_message_names_blank_in_app_url(ana: Person) -> None:
    message = refused(ana.call("POST", "/url/add", {"url": "mailto:a@b.example?subject=a b"}), 400, "url")
    assert "must not contain spaces" in message


def test_link_cannot_move_to_domain_of_its_destination(ana: Person) -> None:
    link = ana.add("url", url="https://late.brand.example/circle", custom="circle")
    ana.post("/domain/add", {"domain": "https://late.brand.example"})
    refused(ana.call("PUT", f"/url/{link}/update", {"domain": "late.brand.example"}), 400, "domain")
