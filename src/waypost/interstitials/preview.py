"""Pages on the way as their owner sees them while making them: the visitors' own templates, leading nowhere.

They are drawn from what somebody types, for a frame in the dashboard, so their policy takes everything from them: an
origin, forms, windows, other sites but those of their pictures.
"""

import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import HTMLResponse, Response

from waypost.interstitials import csp
from waypost.interstitials.render import Destination, host_of, is_dark
from waypost.visits.interstitials import OVERLAYS_WITH_FORM, Overlay, Splash
from waypost.visits.responses import PageRenderer

_SPLASH = {"title": "", "message": "", "counter": 0, "skip": 0, "link": "", "banner": "", "logo": ""}
_OVERLAY = {
    **dict.fromkeys(("message", "label", "link", "button", "thanks", "code", "image", "webhook"), ""),
    "position": "bottom-right",
    "color": "#000000",
    "background": "#ffffff",
    "delay": 0,
    "options": [],
}
_WAY = {"leave": "never", "count": 0, "pixels": [], "asks": False, "cookie": ""}


class Previews:
    """Draws them."""

    def __init__(self, pages: PageRenderer) -> None:
        self._pages = pages

    def draw(self, kind: str, fields: Mapping[str, Any]) -> Response:
        """The splash page or overlay with these fields; what is not given is as it is by default."""
        given = {name: value for name, value in fields.items() if value is not None and name != "name"}
        for name in ("link", "banner", "logo", "image"):
            if name in given and urlsplit(given[name]).scheme not in ("http", "https"):
                given[name] = ""
        return self._splash({**_SPLASH, **given}) if kind == "splash" else self._overlay({**_OVERLAY, **given})

    def _splash(self, fields: Mapping[str, Any]) -> Response:
        button = not fields["counter"] or fields["skip"] < fields["counter"]
        splash = Splash(id=0, **{**fields, "skip": 0})  # the button is to be seen
        images = [url for url in (splash.banner, splash.logo) if url]
        onward = Destination("#", "your-target.example", "Your target")
        shown = {"title": splash.title or onward.title, "splash": splash, "button": button}
        return self._page("splash.html", onward, images, host=host_of(splash.link), **shown)

    def _overlay(self, fields: Mapping[str, Any]) -> Response:
        overlay = Overlay(id=0, account=0, **{**fields, "delay": 0})
        onward = Destination("about:blank", "your-target.example", "Your target")
        ticket = "none" if overlay.type in OVERLAYS_WITH_FORM else ""
        shown = {"title": onward.title, "overlay": overlay, "ticket": ticket, "link": 0, "framed": True}
        shown |= {"is_dark": is_dark(overlay.background), "host": host_of(overlay.link)}
        return self._page("overlay.html", onward, [overlay.image] if overlay.image else [], **shown)

    def _page(self, template: str, onward: Destination, images: list[str], **values: Any) -> Response:
        nonce = secrets.token_urlsafe(16)
        headers = csp.headers(nonce=nonce, images=images)
        told = headers["Content-Security-Policy"].replace("frame-ancestors 'none'", "frame-ancestors 'self'")
        headers |= {"Content-Security-Policy": f"{told}; sandbox allow-scripts", "X-Frame-Options": "SAMEORIGIN"}
        way = {**_WAY, "url": onward.url}
        shared: dict[str, Any] = {
            "nonce": nonce,
            "way": way,
            "starts": "{}",
            "onward": onward,
            "asks": False,
            "names": [],
        }
        html = self._pages.draw(template, leave="never", **shared, **values)
        return HTMLResponse(html, headers=headers)
