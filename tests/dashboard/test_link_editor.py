"""The link editor: preview of the shared link, channels that are typed, badges of the options."""

import base64
import re
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.fake_internet import PUBLIC, FakeInternet, ok, server
from tests.support.visits import new_link

PAGE = """<html><head><title>Plain title</title>
<meta property="og:title" content="Boots &amp; shoes <b>">
<meta name="description" content=" Warm
 and dry ">
<meta property="og:image" content="/boots.png"></head><body><title>Not this</title></body></html>"""


def _picture() -> bytes:
    output = BytesIO()
    Image.new("RGB", (1200, 630), "#800000").save(output, "PNG")
    return output.getvalue() + b"<script>trailing bytes</script>"


def _respond(head: bytes) -> list[bytes]:
    if b"boots.png" in head:
        return [ok(_picture(), b"Content-Type: image/png")]
    if b"fake.png" in head:
        return [ok(b"<svg onload=alert(1)>", b"Content-Type: image/png")]
    if b"/large" in head:
        return [ok(b"x" * (1024 * 1024 + 1), b"Content-Type: text/html")]
    return [ok(PAGE.encode(), b"Content-Type: text/html; charset=utf-8")]


def test_preview_shows_card_of_destination_with_image_encoded_again(internet: FakeInternet, dashboard: Browser) -> None:
    with server(_respond) as internet.routes[PUBLIC]:
        internet.add_host("shop.example", PUBLIC)
        page = dashboard.submit("/links/preview", at="/links/new", url="http://shop.example/boots").text
        own = dashboard.submit(
            "/links/preview",
            at="/links/new",
            url="http://shop.example/",
            metatitle="Mine",
            metaimage="http://shop.example/fake.png",
        ).text
        large = dashboard.submit("/links/preview", at="/links/new", url="http://shop.example/large").text
    assert "Boots &amp; shoes &lt;b&gt;" in page
    assert "Warm and dry" in page
    assert 'class="site">shop.example<' in page
    encoded = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', page)
    picture = base64.b64decode(encoded[0])
    assert b"script" not in picture
    assert Image.open(BytesIO(picture)).size == (600, 315)
    assert ">Mine</p>" in own
    assert "data:image/jpeg" not in own, "no image, so nothing is shown"
    assert "could not be read: it is larger than" in large


@pytest.mark.parametrize(
    ("label", "codec", "title", "place"),
    [
        ("x-sjis", "cp932", "\u2460\u3231", "header"),
        ("Shift_JIS", "cp932", "\u2460\u3231", "page"),
        ("windows-31j", "cp932", "\u2460\u3231", "page"),
        ("iso-8859-1", "cp1252", "\u201eB\u00fcro\u201c \u20ac", "header"),
        ("gb2312", "gbk", "\u9555", "page"),
        ("ks_c_5601-1987", "cp949", "\ub620", "page"),
        ("utf-16", "utf-8", "B\u00fcro", "page"),
        ("unknown", "utf-8", "B\u00fcro", "header"),
        ("utf-8", "utf-8-sig", "B\u00fcro", "header"),
        ("iso-8859-1", "utf-8-sig", "B\u00fcro", "header"),
    ],
)
def test_preview_reads_page_in_encoding_as_browsers_do(
    internet: FakeInternet, dashboard: Browser, label: str, codec: str, title: str, place: str
) -> None:
    declared = f'<meta charset="{label}">' if place == "page" else ""
    media_type = "text/html" if place == "page" else f"text/html; charset={label}"
    body = f"{declared}<title>{title}</title>".encode(codec)
    with server(lambda _: [ok(body, f"Content-Type: {media_type}".encode())]) as internet.routes[PUBLIC]:
        internet.add_host("shop.example", PUBLIC)
        page = dashboard.submit("/links/preview", at="/links/new", url="http://shop.example/").text
    assert title in page


def test_preview_reads_no_internal_address_and_is_rate_limited(internet: FakeInternet, dashboard: Browser) -> None:
    internet.add_host("evil.example", "127.0.0.1")
    for url in ("http://evil.example/", "http://169.254.169.254/latest", "http://[::1]/"):
        page = dashboard.submit("/links/preview", at="/links/new", url=url, metaimage=url)
        assert page.status_code == 200
        assert "could not be read" in page.text or "must" in page.text
    assert internet.connections == []
    assert dashboard.submit("/links/preview", at="/links/new", url="javascript:alert(1)").status_code == 200
    statuses = [dashboard.submit("/links/preview", at="/links/new").status_code for _ in range(27)]
    assert statuses[-1] == 429
    assert dashboard.client.post("/dashboard/links/preview", data={"url": "https://shop.example"}).status_code == 403


def test_preview_names_another_link_to_the_destination(
    ana: Person, ben: Person, internet: FakeInternet, dashboard: Browser
) -> None:
    url = "https://gone.example/sale"
    new_link(ben, "theirs", url=url)
    fields = {"at": "/links/new", "url": url}
    assert "You already have" not in dashboard.submit("/links/preview", **fields).text
    own_link = new_link(ana, "mine", url=url)
    assert "You already have a link to this destination" in dashboard.submit("/links/preview", **fields).text
    assert "You already have" not in dashboard.submit("/links/preview", **fields, link=own_link).text


def test_typed_channels_are_found_or_created(ana: Person, ben: Person, dashboard: Browser) -> None:
    ben.add("channel", name="Theirs")
    news, shop = (ana.add("channel", name=name) for name in ("News, weekly", "Shop"))
    form: dict[str, Any] = {"url": "https://example.com/a", "custom": "first", "channel": ["", str(news)]}
    created = dashboard.submit("/links/new", **form, newchannel=" shop ,  Spring  sale, ,Theirs, Spring sale")
    assert created.status_code == 303
    channels = {channel["name"]: channel["id"] for channel in ana.get("/channels")["data"]["channels"]}
    assert set(channels) == {"News, weekly", "Shop", "Spring sale", "Theirs"}
    link = ana.get("/urls")["data"]["urls"][0]["id"]
    assert set(ana.details("url", link)["channel"]) == {news, shop, channels["Spring sale"], channels["Theirs"]}
    assert ben.get("/channels")["data"]["result"] == 1
    page = dashboard.get(f"/links/{link}")
    version = re.findall(r'name="version" value="([^"]*)"', page.text)[0]
    path = f"/links/{link}"
    assert dashboard.submit_for_message(path, version=version, channel="", newchannel="Shop").startswith("Saved.")
    assert ana.details("url", link)["channel"] == [shop]


def test_channel_names_that_are_too_long_are_reported_with_all_other_errors(ana: Person, dashboard: Browser) -> None:
    rejected = dashboard.submit("/links/new", url="nothing", newchannel="x" * 256)
    assert rejected.status_code == 400
    assert "The name of a channel must have at most 255 characters" in rejected.text
    assert "Not saved: 2 problems" in rejected.text
    assert f'value="{"x" * 256}"' in rejected.text
    assert ana.get("/channels")["data"]["result"] == 0, "nothing is created by a form with errors"


def _badges(page: str) -> list[str]:
    """Return the texts of the badges that are visible."""
    badges = re.findall(r'<span class="tag" dir="auto" data-badge([^>]*)>(.*?)</span>', page)
    return [text for attributes, text in badges if "hidden" not in attributes]


def test_options_show_their_values_as_badges(ana: Person, dashboard: Browser) -> None:
    pixels = [ana.add("pixel", type="gapixel", name=f"Shop {n}", tag=f"G-{n}") for n in range(3)]
    link = new_link(
        ana,
        "all",
        expiry="2999-12-31 12:00:00",
        clicklimit=5000,
        pixels=pixels,
        campaign=ana.add("campaign", name="Spring <b>"),
        geotarget=[{"location": name, "link": "https://example.com/x"} for name in ("Germany", "France")],
        metatitle="A card",
        type="frame",
    )
    page = dashboard.get(f"/links/{link}").text
    badges = _badges(page)
    assert badges == [
        *("Spring &lt;b&gt;", "3 pixels", "31 Dec 2999", "5,000 clicks", "Frame", "Germany, France", "A card")
    ]
    assert _badges(dashboard.get("/links/new").text) == []


def test_utm_fields_suggest_values_of_own_destinations(ana: Person, ben: Person, dashboard: Browser) -> None:
    new_link(ben, "theirs", url="https://example.com/?utm_source=theirs")
    for number, query in enumerate(("utm_source=a%22%3E%3Cb%3E&x=1", "utm_source=news+letter", "utm_source=")):
        new_link(ana, f"own-{number}", url=f"https://example.com/?{query}")
    edited = new_link(ana, "again", url="https://example.com/?utm_source=news+letter&utm_term=boots#utm_source=no")
    for path in ("/links/new", f"/links/{edited}"):
        page = dashboard.get(path).text
        options = re.findall(r'<datalist id="utm_source-used">(.*?)</datalist>', page)[0]
        assert re.findall('value="([^"]*)"', options) == ["news letter", "a&#34;&gt;&lt;b&gt;"]
        assert '<datalist id="utm_term-used"><option value="boots">' in page
        assert page.count('name="utm_source"') == 1, "the fields of the script are those without scripts"
