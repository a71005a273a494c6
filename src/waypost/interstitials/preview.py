"""Preview of splash pages and overlays in the dashboard's editors, rendered with the visitors' templates.

The content is unsaved input in a frame of the dashboard, so the policy sandboxes it: no origin, forms or windows, and
only the images of the page from other sites.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import HTMLResponse, Response

from waypost.interstitials import csp
from waypost.interstitials.render import Destination, is_dark
from waypost.media.branding.brand import Brand
from waypost.urls.url_parts import display_host
from waypost.visits.link_record import OVERLAYS_WITH_FORM, Overlay, Splash
from waypost.visits.responses import ERRORS, PAGE_HEADERS, PageRenderer

_SPLASH = {"title": "", "message": "", "counter": 0, "skip": 0, "link": "", "banner": "", "logo": ""}
_OVERLAY = {
    **dict.fromkeys(("message", "label", "link", "button", "thanks", "code", "image", "webhook"), ""),
    "position": "bottom-right",
    "color": "#000000",
    "background": "#ffffff",
    "delay": 0,
    "options": [],
}
_SCRIPT_CONFIG = {"leave": "never", "count": 0, "pixels": [], "asks": False, "consent": ""}
_NO_FIELDS = frozenset({"name", "brand", "language"})
_HOST, _TITLE = "destination.example", "Your destination"


def render_preview(pages: PageRenderer, kind: str, fields: Mapping[str, Any]) -> Response:
    """Return the preview of a splash page or an overlay, with the brand, in a language. Missing fields are defaults."""
    values = {name: value for name, value in fields.items() if value is not None and name not in _NO_FIELDS}
    for name in ("link", "banner", "logo", "image"):
        if name in values and urlsplit(values[name]).scheme not in ("http", "https"):
            values[name] = ""
    if kind == "brand":
        return _branded(pages, **fields)
    if kind == "splash":
        return _splash(pages, {**_SPLASH, **values}, brand=fields["brand"], language=fields["language"])
    return _overlay(pages, {**_OVERLAY, **values}, brand=fields["brand"], language=fields["language"])


def _branded(pages: PageRenderer, brand: Brand, language: str) -> Response:
    """Return the page that asks for a password, which has a field and a button."""
    values = {"brand": brand, "error": ERRORS["locked"], "message": ERRORS["locked"].text, "is_preview": True}
    headers = _framed({**PAGE_HEADERS}, sandbox="")
    return HTMLResponse(pages.render("password.html", language=language, favicon=brand.icon, **values), headers=headers)


def _splash(pages: PageRenderer, fields: Mapping[str, Any], **shared: Any) -> Response:
    has_button = not fields["counter"] or fields["skip"] < fields["counter"]
    splash = Splash(id=0, **{**fields, "skip": 0})  # shows the skip button at once
    images = [url for url in (splash.banner, splash.logo) if url]
    destination = Destination("#", _HOST, _TITLE)
    context = {"title": splash.title or _TITLE, "splash": splash, "has_button": has_button, **shared}
    return _page(pages, "splash.html", destination, images, link_host=display_host(splash.link), **context)


def _overlay(pages: PageRenderer, fields: Mapping[str, Any], **shared: Any) -> Response:
    overlay = Overlay(id=0, account=0, **{**fields, "delay": 0})
    context = {
        **shared,
        "title": _TITLE,
        "overlay": overlay,
        "form_token": "none" if overlay.type in OVERLAYS_WITH_FORM else "",
        "link_id": 0,
        "framed": True,
        "is_dark": is_dark(overlay.background),
        "link_host": display_host(overlay.link),
    }
    images = [overlay.image] if overlay.image else []
    return _page(pages, "overlay.html", Destination("about:blank", _HOST, _TITLE), images, **context)


def _page(pages: PageRenderer, template: str, destination: Destination, images: list[str], **context: Any) -> Response:
    code = pages.render("interstitial.js", pixel_starters="{}", has_overlay=template == "overlay.html")
    headers = _framed(csp.headers(script=code, images=images), sandbox="allow-scripts")
    script: dict[str, Any] = {
        "script": code,
        "script_config": {**_SCRIPT_CONFIG, "url": destination.url},
        "asks_consent": False,
        "names": [],
    }
    return HTMLResponse(pages.render(template, destination=destination, **script, **context), headers=headers)


def _framed(headers: Mapping[str, str], *, sandbox: str) -> dict[str, str]:
    """Return headers that let the dashboard show a page in a frame, in a sandbox."""
    policy = headers["Content-Security-Policy"].replace("frame-ancestors 'none'", "frame-ancestors 'self'")
    sandboxed = f"{policy}; sandbox {sandbox}".rstrip()
    return {**headers, "Content-Security-Policy": sandboxed, "X-Frame-Options": "SAMEORIGIN"}
