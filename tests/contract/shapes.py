"""Shapes of responses: patterns of exact keys and types, and their comparison."""

import re
from collections.abc import Mapping
from typing import Any

Shape = Mapping[str, Any]

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
DAY = re.compile(r"\d{4}-\d\d-\d\d")
COLOUR = re.compile(r"#[0-9A-Fa-f]{6}")
URL = re.compile(r"https?://[^\s/]+(/\S*)?")
CODE = re.compile(r"[a-z]+(_[a-z]+)*")
SENTENCE = re.compile(r"\S.*\S\.", re.DOTALL)

ACCOUNT: Shape = {
    "id": int,
    "email": "ana@example.com",
    "username": "ana",
    "avatar": URL,
    "status": "free",
    "plan": "free",
    "expires": "9999-12-31 23:59:59",
    "registered": TIMESTAMP,
}
CAMPAIGN: Shape = {
    "id": int,
    "name": str,
    "domain": str,
    "campaign": str,
    "public": bool,
    "rotator": (False, URL),
    "list": URL,
    "views": int,
}
CAMPAIGN_DETAILS: Shape = {
    **CAMPAIGN,
    "indexable": bool,
    "rotation": "random",
    "sticky": bool,
    "winner": (int, None),
    "winnerlink": (int, None),
}
CHANNEL: Shape = {"id": int, "name": str, "description": str, "color": COLOUR, "starred": bool}
ITEM: Shape = {"type": ("links", "bio"), "id": int, "title": str, "preview": URL, "link": URL, "date": DAY}
PIXEL: Shape = {"id": int, "type": "analyticspixel", "name": str, "tag": str, "date": TIMESTAMP}
UTM: Shape = {
    "id": int,
    **dict.fromkeys(("name", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"), str),
    "date": TIMESTAMP,
}
SHARE: Shape = {
    **dict.fromkeys(("id", "itemid"), int),
    "type": "link",
    "url": URL,
    **dict.fromkeys(("title", "slug", "firstday", "lastday", "timezone", "expiry"), str),
    "haspassword": bool,
    "days": (int, None),
    "date": TIMESTAMP,
}
WEBHOOK: Shape = {
    "id": int,
    **dict.fromkeys(("title", "disabledreason", "format", "site", "signature", "publickey"), str),
    "url": URL,
    "events": [str],
    **dict.fromkeys(("campaign", "channel", "link", "overlay"), (int, None)),
    "enabled": bool,
    "state": "active",
    "failing": None,
    "date": TIMESTAMP,
}
DELIVERY: Shape = {
    "id": int,
    **dict.fromkeys(("uid", "event", "body"), str),
    "state": str,
    "next": (TIMESTAMP, None),
    "date": TIMESTAMP,
    "attempts": list,
}
DOMAIN: Shape = {"id": int, "domain": URL, "redirectroot": str, "redirect404": str}
DOMAIN_DETAILS: Shape = {**DOMAIN, "alsowww": bool, "brandname": str, "brandcolor": str, "brandlogo": str}
SPLASH_ITEM: Shape = {"id": int, "name": str, "date": TIMESTAMP}
SPLASH: Shape = {
    **SPLASH_ITEM,
    **dict.fromkeys(("title", "message", "link", "banner", "logo"), str),
    "counter": int,
    "skip": int,
}
OVERLAY_ITEM: Shape = {"id": int, "type": "poll", "name": str, "date": TIMESTAMP}
OVERLAY: Shape = {
    **OVERLAY_ITEM,
    **dict.fromkeys(("message", "label", "link", "position", "button", "thanks", "code", "image"), str),
    "color": COLOUR,
    "background": COLOUR,
    "delay": int,
    "webhook": str,
    "options": [str],
}
LINK: Shape = {
    **dict.fromkeys(("alias", "title", "description"), str),
    **dict.fromkeys(("shorturl", "longurl", "domain"), URL),
    **dict.fromkeys(("id", "clicks", "uniqueclicks"), int),
    "campaign": (int, None),
    "channel": list,
    "date": TIMESTAMP,
}
LINK_DETAILS: Shape = {
    **LINK,
    **dict.fromkeys(("type", "expiry", "expiryurl", "metatitle", "metadescription", "metaimage"), str),
    **dict.fromkeys(("geotarget", "devicetarget", "languagetarget", "parameters", "pixels"), list),
    "status": "public",
    "password": bool,
    "clicklimit": (int, None),
    "dropquery": bool,
    "importedclicks": int,
    "deeplink": dict,
}
STATISTICS: Shape = {
    "clicks": int,
    "uniqueClicks": int,
    **dict.fromkeys(("topCountries", "topReferrers", "topBrowsers", "topOs"), dict),
    "socialCount": {"social_a": int, "social_b": int, "social_c": int},
}
BIO: Shape = {
    **dict.fromkeys(("name", "alias", "title", "description", "theme"), str),
    **dict.fromkeys(("id", "clicks", "uniqueclicks"), int),
    "shorturl": URL,
    "date": TIMESTAMP,
}
QR: Shape = {"id": int, "link": URL, "scans": int, "name": str, "date": TIMESTAMP}
QR_DETAILS: Shape = {
    **QR,
    **dict.fromkeys(("alias", "modules", "eyes", "level", "caption"), str),
    **dict.fromkeys(("foreground", "background"), COLOUR),
    **dict.fromkeys(("margin", "version"), int),
    **dict.fromkeys(("dynamic", "logo"), bool),
    "shorturl": URL,
    "type": "link",
    "data": (str, dict),
    "gradient": (None, dict),
}
FILE: Shape = {"id": int, "name": str, "downloads": int, "shorturl": URL, "date": TIMESTAMP}
FILE_DETAILS: Shape = {
    **FILE,
    **dict.fromkeys(("filename", "type", "sha256", "expiry"), str),
    **dict.fromkeys(("size", "uniquedownloads"), int),
    **dict.fromkeys(("password", "available", "kept"), bool),
    "maxdownloads": (int, None),
}
IMPORT: Shape = {
    **dict.fromkeys(("state", "error", "source"), str),
    **dict.fromkeys(("rows", "losing"), int),
    "running": bool,
    "fates": dict.fromkeys(("create", "there", "changed", "conflict", "impossible"), int),
    "ignored": list,
    "date": TIMESTAMP,
}
FAILURE: Shape = {"error": 1, "message": SENTENCE, "code": CODE}


def differs(value: Any, shape: Any, where: str = "answer") -> str:
    """Return where and how `value` differs from the shape; "" if it does not.

    A dict has exactly these keys, `[shape]` is a list of at least one such item, a tuple is a choice, a pattern is a
    string that matches as a whole, a type is exactly that type (a boolean is no integer), anything else is itself.
    """
    if isinstance(shape, dict):
        if type(value) is not dict or value.keys() != shape.keys():
            return f"{where} should have the keys {sorted(shape)}: {value!r}"
        return next(filter(None, (differs(value[name], shape[name], f"{where}.{name}") for name in shape)), "")
    if isinstance(shape, list):
        if type(value) is not list or not value:
            return f"{where} should be a list with something in it: {value!r}"
        return next(filter(None, (differs(item, shape[0], f"{where}[]") for item in value)), "")
    if isinstance(shape, tuple):
        return "" if any(not differs(value, choice) for choice in shape) else f"{where} is none of {shape}: {value!r}"
    if isinstance(shape, re.Pattern):
        good = type(value) is str and shape.fullmatch(value) is not None
    elif isinstance(shape, type):
        good = type(value) is shape
    else:
        good = type(value) is type(shape) and value == shape
    return "" if good else f"{where} should be {shape}: {value!r}"
