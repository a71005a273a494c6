"""One row a noun: what the contract tests need to know of it. A new noun gets its tests by adding a row here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Family:
    """A noun of the API. `{n}` in `new` becomes a number, so that names are unique.

    `new` is a whole valid body; `needed` are its required fields; `cleared` says what an optional field answers with
    after `null`; `wrong` has values that each field must refuse; `item` is the shape of a list item.
    """

    noun: str
    list: str
    collection: str
    one: str
    new: Mapping[str, Any]
    needed: tuple[str, ...]
    item: Mapping[str, type | tuple[type, ...]]
    change: Mapping[str, Any]
    cleared: Mapping[str, Any] = field(default_factory=dict)
    wrong: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    created_status: int = 200
    change_needs: tuple[str, ...] = ()
    reads_one: bool = True

    def body(self, number: int = 1) -> dict[str, Any]:
        """A valid body, unlike that of any other number."""
        return {k: v.format(n=number) if isinstance(v, str) else v for k, v in self.new.items()}

    def __str__(self) -> str:
        return self.noun


NOT_TEXT: tuple[Any, ...] = (5, 1.5, True, [], {}, ["x"], {"x": 1})
NOT_LINE = (*NOT_TEXT, "x" * 10_000, "a\u0000b", "a\nb", "\ud800")
NOT_NAME = (*NOT_LINE, None, "", "   ")
NOT_PARAGRAPH = (*NOT_TEXT, "x" * 10_000, "a\u0000b")
NOT_FLAG: tuple[Any, ...] = (5, "true", "yes", [], {}, 0, 1)
NOT_COLOUR = (*NOT_TEXT, "red", "#12345", "#1234567", "#GGGGGG", "123456", "", "#12345\n")
NOT_NUMBER: tuple[Any, ...] = ("5", 1.5, True, [], {}, -1, 10**400)
NOT_URL = (
    *NOT_TEXT,
    "example.com",
    "ftp://example.com/",
    "javascript:alert(1)",
    " JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "vbscript:x",
    "//example.com",
    "https://",
    "https:///path",
    "https://exa mple.com/",
    "https://example.com/\r\nSet-Cookie: a=b",
    "https://example.com\\@evil.example/",
    "https://example.com:99999/",
    "https://[::1/",
    "https://example.com/" + "x" * 10_000,
    "https://example.com/\u0000",
)

CHANNEL = Family(
    noun="channel",
    list="/channels",
    collection="channels",
    one="/channel",
    new={"name": "Channel {n}", "description": "for friends", "color": "#12ab34", "starred": True},
    needed=("name",),
    item={"id": int, "name": str, "description": str, "color": str, "starred": bool},
    change={"name": "Renamed", "color": "#FFFFFF"},
    cleared={"description": "", "color": "#000000", "starred": False},
    wrong={"name": NOT_NAME, "description": NOT_PARAGRAPH, "color": NOT_COLOUR, "starred": NOT_FLAG},
    reads_one=False,
)
CAMPAIGN = Family(
    noun="campaign",
    list="/campaigns",
    collection="campaigns",
    one="/campaign",
    new={"name": "Campaign no. {n}", "slug": "slug-{n}", "public": True},
    needed=(),
    item={
        "id": int,
        "name": str,
        "domain": str,
        "campaign": str,
        "public": bool,
        "rotator": (str, bool),
        "list": str,
        "views": int,
    },
    change={"name": "Renamed", "public": False},
    change_needs=("name",),
    cleared={"slug": None, "public": False},
    wrong={
        "name": tuple(value for value in NOT_NAME if value is not None),
        "slug": (*NOT_LINE, "ab", "has space", "ünïcode", "a/b", "x" * 51, "api"),
        "public": NOT_FLAG,
        "rotation": (*NOT_LINE, "", "RANDOM", "turn"),
        "sticky": NOT_FLAG,
        "winner": (*NOT_NUMBER, 0),
    },
    created_status=201,
)
PIXEL = Family(
    noun="pixel",
    list="/pixels",
    collection="pixels",
    one="/pixel",
    new={"type": "analyticspixel", "name": "Pixel {n}", "tag": "G-1234/a.b_c"},
    needed=("type", "name", "tag"),
    item={"id": int, "type": str, "name": str, "tag": str, "date": str},
    change={"name": "Renamed", "tag": "NEW-1"},
    change_needs=("tag",),
    wrong={
        "type": (*NOT_NAME, "nopixel"),
        "name": NOT_NAME,
        "tag": (*NOT_NAME, "a b", "a'b", 'a"b', "<script>", "a;b", "x" * 65, "é"),
    },
)
DOMAIN = Family(
    noun="domain",
    list="/domains",
    collection="domains",
    one="/domain",
    new={
        "domain": "https://go{n}.brand.example",
        "redirectroot": "https://brand.example/",
        "redirect404": "https://brand.example/404",
    },
    needed=("domain",),
    item={"id": int, "domain": str, "redirectroot": str, "redirect404": str},
    change={"redirectroot": "https://other.example/"},
    cleared={"redirectroot": "", "redirect404": ""},
    wrong={
        "domain": (
            *NOT_TEXT,
            None,
            "",
            "brand.example",
            "ftp://brand.example",
            "https://brand.example/path",
            "https://brand.example:8443",
            "https://user@brand.example",
            "https://127.0.0.1",
            "https://[::1]",
            "https://go.localhost",
            "https://bra nd.example",
            "https://" + "x" * 300 + ".example",
        ),
        "redirectroot": NOT_URL,
        "redirect404": NOT_URL,
    },
)
SPLASH = Family(
    noun="splash page",
    list="/splash",
    collection="splash",
    one="/splash",
    new={
        "name": "Splash {n}",
        "title": "Welcome",
        "message": "Two\nlines",
        "counter": 5,
        "skip": 2,
        "link": "https://example.com/product",
        "banner": "https://example.com/b.png",
        "logo": "https://example.com/l.png",
    },
    needed=("name",),
    item={"id": int, "name": str, "date": str},
    change={"name": "Renamed", "counter": 9},
    cleared={"title": "", "message": "", "counter": 0, "skip": 0, "link": "", "banner": "", "logo": ""},
    wrong={
        "name": NOT_NAME,
        "title": NOT_LINE,
        "message": NOT_PARAGRAPH,
        "counter": (*NOT_NUMBER, 3601),
        "skip": (*NOT_NUMBER, 3601),
        "link": NOT_URL,
        "banner": NOT_URL,
        "logo": NOT_URL,
    },
)
OVERLAY = Family(
    noun="overlay",
    list="/overlay",
    collection="cta",
    one="/overlay",
    new={
        "name": "Overlay {n}",
        "type": "poll",
        "message": "Which?",
        "label": "Vote",
        "link": "https://example.com/",
        "position": "top-left",
        "color": "#111111",
        "background": "#EEEEEE",
        "delay": 3,
        "webhook": "https://example.com/hook",
        "options": ["Red", "Blue"],
    },
    needed=("name", "type"),
    item={"id": int, "type": str, "name": str, "date": str},
    change={"name": "Renamed", "options": ["Left", "Right"]},
    cleared={
        "message": "",
        "label": "",
        "link": "",
        "position": "bottom-right",
        "color": "#000000",
        "background": "#ffffff",
        "delay": 0,
        "webhook": "",
    },
    wrong={
        "name": NOT_NAME,
        "type": (*NOT_NAME, "popup"),
        "message": NOT_PARAGRAPH,
        "link": NOT_URL,
        "webhook": NOT_URL,
        "position": (*NOT_TEXT, "left", ""),
        "color": NOT_COLOUR,
        "background": NOT_COLOUR,
        "delay": (*NOT_NUMBER, 3601),
        "options": (5, "x", {}, ["only one"], [1, 2], ["a", ""], ["x"] * 11),
    },
)
_TARGETS = (*NOT_URL, "http://go.localhost:8000/abc", "http://GO.localhost:8000/")
LINK = Family(
    noun="link",
    list="/urls",
    collection="urls",
    one="/url",
    new={
        "url": "https://example.com/page?a=b#c",
        "custom": "alias-{n}",
        "title": "Title {n}",
        "description": "Some\nwords",
        "expiryurl": "https://example.com/over",
        "clicklimit": 100,
        "metatitle": "Meta",
        "metadescription": "Meta words",
        "metaimage": "https://example.com/i.png",
        "status": "private",
    },
    needed=("url",),
    item={
        "id": int,
        "alias": str,
        "shorturl": str,
        "longurl": str,
        "title": str,
        "description": str,
        "clicks": int,
        "uniqueclicks": int,
        "domain": str,
        "campaign": (int, type(None)),
        "channel": list,
        "date": str,
    },
    change={"title": "Renamed", "url": "https://example.org/"},
    cleared={
        "title": "",
        "description": "",
        "expiryurl": "",
        "clicklimit": None,
        "metatitle": "",
        "metadescription": "",
        "metaimage": "",
        "status": "public",
        "pixels": [],
        "channel": [],
        "campaign": None,
        "geotarget": [],
        "devicetarget": [],
        "languagetarget": [],
        "deeplink": {},
        "parameters": [],
        "expiry": "",
    },
    wrong={
        "url": (*_TARGETS, None, ""),
        "custom": (*NOT_LINE, "", "ab", "has space", "ünïcode", "a/b", "x" * 51, "api", "Login", "healthz"),
        "domain": (*NOT_TEXT, "", "elsewhere.example", "https://elsewhere.example"),
        "title": NOT_LINE,
        "description": NOT_PARAGRAPH,
        "password": (*NOT_LINE, ""),
        "expiry": (*NOT_TEXT, "", "2001-01-01", "tomorrow", "2030-13-01", "2030-02-30", "2030-1-1", "x" * 100),
        "clicklimit": (*NOT_NUMBER, 0),
        "expiryurl": _TARGETS,
        "type": (1.5, True, [], {}, "popup", "999999", 999_999, "overlay-999999", "overlay-", "overlay-x"),
        "status": (*NOT_TEXT, "secret", ""),
        "metaimage": NOT_URL,
        "pixels": (5, "x", {}, ["x"], [999_999], [None], [0]),
        "channel": ("x", {}, 999_999, [999_999], ["x"], 0, True),
        "campaign": ("x", [], {}, 999_999, 0, True),
        "geotarget": (5, "x", {}, ["x"], [{}], [{"location": "France"}], [{"location": "France", "link": "nope"}]),
        "devicetarget": (5, "x", {}, [{"device": "iPhone", "link": "javascript:alert(1)"}], [{"link": "https://a.b/"}]),
        "languagetarget": (5, [{"language": "", "link": "https://a.b/"}], [{"language": "fr", "link": 5}]),
        "deeplink": (5, "x", [], {"apple": 5}, {"google": "javascript:alert(1)"}),
        "parameters": (5, "x", {}, ["x"], [{"name": 5}], [{"name": "a", "value": {}}], [{"name": "x" * 300}]),
    },
)
BIO = Family(
    noun="bio page",
    list="/bios",
    collection="bios",
    one="/bio",
    new={
        "name": "Bio {n}",
        "alias": "bio-{n}",
        "title": "Ana",
        "description": "Hello",
        "theme": "dark",
        "blocks": [
            {"type": "heading", "text": "My links"},
            {"type": "link", "title": "Shop", "url": "https://example.com/shop"},
            {"type": "image", "image": "https://example.com/a.png", "link": "https://example.com/"},
            {"type": "social", "network": "mastodon", "url": "https://example.social/@ana"},
            {"type": "vcard", "fname": "Ana", "email": "ana@example.com"},
        ],
    },
    needed=("name",),
    item={
        "id": int,
        "name": str,
        "alias": str,
        "shorturl": str,
        "title": str,
        "description": str,
        "theme": str,
        "clicks": int,
        "uniqueclicks": int,
        "date": str,
    },
    change={"name": "Renamed", "title": "Anna"},
    cleared={"title": "", "description": "", "theme": "default", "blocks": [], "sensitive": False},
    wrong={
        "sensitive": NOT_FLAG,
        "name": NOT_NAME,
        "alias": (*NOT_LINE, "", "ab", "a b", "x" * 51, "api"),
        "title": NOT_LINE,
        "description": NOT_PARAGRAPH,
        "theme": (*NOT_TEXT, "", "a b", "../etc"),
        "blocks": (
            5,
            "x",
            {},
            ["x"],
            [{}],
            [{"type": "video"}],
            [{"type": "heading"}],
            [{"type": "link", "title": "x", "url": "javascript:alert(1)"}],
            [{"type": "link", "url": "https://a.b/"}],
            [{"type": "image", "image": "file:///etc/passwd"}],
            [{"type": "text", "text": "x"}] * 201,
        ),
    },
)

_NOT_CODE_COLOUR = (
    *NOT_TEXT,
    "red",
    "#12345",
    "#1234567",
    "123456",
    "",
    "rgb(1,2)",
    "rgb(256,0,0)",
    "rgb(1,2,3",
    "x" * 300,
)
QR = Family(
    noun="QR code",
    list="/qr",
    collection="qrs",
    one="/qr",
    new={
        "type": "text",
        "data": "Hello {n}",
        "name": "Code {n}",
        "foreground": "#102030",
        "background": "#fff8f0",
        "modules": "dots",
        "eyes": "circle",
        "level": "Q",
        "margin": 3,
        "caption": "Scan me",
    },
    needed=("type", "data"),
    item={"id": int, "link": str, "scans": int, "name": str, "date": str},
    change={"data": "Changed", "name": "Renamed", "level": "H"},
    change_needs=("data",),
    cleared={
        "name": "",
        "foreground": "#000000",
        "background": "#ffffff",
        "gradient": None,
        "modules": "square",
        "eyes": "square",
        "level": "auto",
        "margin": 4,
        "caption": "",
    },
    wrong={
        "type": (*NOT_NAME, "qr", "TEXT"),
        "data": (5, 1.5, True, [], ["x"], None, "", "  ", {}, {"text": []}, "a\u0000b", "x" * 3000, "\ud800"),
        "name": NOT_LINE,
        "foreground": (*_NOT_CODE_COLOUR, "#ffffff", "rgb(255,255,255)", "#fffff0"),
        "background": (*_NOT_CODE_COLOUR,),
        "gradient": (5, "x", [], {}, {"color": "red"}, {"color": "#ffffff"}, {"color": "#000000", "angle": 361}),
        "modules": (*NOT_TEXT, "hearts", ""),
        "eyes": (*NOT_TEXT, "hearts", ""),
        "level": (*NOT_TEXT, "X", "h", ""),
        "margin": (*NOT_NUMBER, 1, 21),
        "caption": (*NOT_LINE, "x" * 41, "日本", "🦊"),
        "dynamic": NOT_FLAG,
        "logo": (*NOT_TEXT, "", "/etc/passwd", "logo.png", "file:///etc/passwd", "data:image/png;base64,AAAA"),
    },
)

FAMILIES = (CHANNEL, CAMPAIGN, PIXEL, DOMAIN, SPLASH, OVERLAY, LINK, BIO, QR)
