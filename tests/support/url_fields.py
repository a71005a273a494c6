"""Every field that contains a URL a visitor opens or loads: noun, body with the URL, and field name."""

from typing import Any

EVIL = "https://sub.evil.example/page"
_LINK: dict[str, Any] = {"url": "https://example.com/"}
URL_FIELDS: list[tuple[str, dict[str, Any], str]] = [
    ("/url", {"url": EVIL}, "url"),
    ("/url", {**_LINK, "expiryurl": EVIL}, "expiryurl"),
    ("/url", {**_LINK, "metaimage": EVIL}, "metaimage"),
    ("/url", {**_LINK, "geotarget": [{"location": "France", "link": EVIL}]}, "geotarget"),
    ("/url", {**_LINK, "devicetarget": [{"device": "iPhone", "link": EVIL}]}, "devicetarget"),
    ("/url", {**_LINK, "languagetarget": [{"language": "fr", "link": EVIL}]}, "languagetarget"),
    ("/url", {**_LINK, "deeplink": {"google": EVIL}}, "deeplink"),
    ("/qr", {"type": "link", "data": EVIL}, "data"),
    ("/qr", {"type": "text", "data": f"See {EVIL} now"}, "data"),
    ("/qr", {"type": "vcard", "data": {"fname": "Ana", "site": EVIL}}, "data"),
    ("/bio", {"name": "A", "blocks": [{"type": "link", "title": "x", "url": EVIL}]}, "blocks"),
    ("/bio", {"name": "A", "blocks": [{"type": "image", "image": EVIL}]}, "blocks"),
    ("/bio", {"name": "A", "blocks": [{"type": "image", "image": _LINK["url"], "link": EVIL}]}, "blocks"),
    ("/bio", {"name": "A", "blocks": [{"type": "social", "network": "x", "url": EVIL}]}, "blocks"),
    ("/bio", {"name": "A", "blocks": [{"type": "vcard", "fname": "A", "site": EVIL}]}, "blocks"),
    ("/splash", {"name": "A", "link": EVIL}, "link"),
    ("/splash", {"name": "A", "banner": EVIL}, "banner"),
    ("/splash", {"name": "A", "logo": EVIL}, "logo"),
    ("/overlay", {"name": "A", "type": "message", "message": "x", "link": EVIL}, "link"),
    ("/overlay", {"name": "A", "type": "image", "image": EVIL}, "image"),
    ("/domain", {"domain": "https://go.brand.example", "redirectroot": EVIL}, "redirectroot"),
    ("/domain", {"domain": "https://go.brand.example", "redirect404": EVIL}, "redirect404"),
]
