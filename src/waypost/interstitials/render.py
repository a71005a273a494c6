"""The pages on the way to a target, drawn: previews, splash pages, frames, overlays, pixels."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from waypost.clicks.classify import classifier
from waypost.interstitials import csp, pixel_providers
from waypost.interstitials.decide import ClientTraits, Decision, choose_interstitial, consent, purpose
from waypost.interstitials.form_token import FormTokens
from waypost.interstitials.frame_check import Framing
from waypost.settings import NEVER_SCHEMES, Settings
from waypost.urls.short_urls import report_url
from waypost.visits.interstitials import OVERLAYS_WITH_FORM, Interstitials, Overlay, SocialCard, Splash
from waypost.visits.lookup import LinkView
from waypost.visits.request import URL_SAFE, VisitRequest
from waypost.visits.responses import PageRenderer, wants_page

_CONSENT = "wp_consent"
_CONSENT_SECONDS = 180 * 86_400


@dataclass(frozen=True)
class Destination:
    """Where a page leads: the URL fit for a header and an attribute, and what to call it."""

    url: str
    host: str
    title: str


class InterstitialPages:
    """Answers visits whose target has something before it."""

    def __init__(self, *, settings: Settings, pages: PageRenderer, tickets: FormTokens) -> None:
        self._settings = settings
        self._pages = pages
        self._tickets = tickets
        self._framing = Framing()

    async def answer(self, request: Request, asked: VisitRequest, target: LinkView, url: str) -> Response | None:
        """The page between this visitor and `url`; None when there is none, and they are to be sent on."""
        way = target.interstitials
        if way is None or not self.may_lead(url):
            return None
        asks = self._settings.pixel_consent == "on"
        chosen = choose_interstitial(way, url, _manner(request, asked, way), asks=asks)
        onward = _onward(target, url)
        if chosen.kind == "card" and way.card:
            return self._card(request, way.card, onward)
        if chosen.kind == "splash" and way.splash:
            return self._splash(request, asked, way.splash, onward, chosen)
        if chosen.kind == "overlay" and way.overlay:
            return await self._overlaid(request, asked, target, onward, chosen, way.overlay)
        if chosen.kind == "frame":
            return await self._framed(request, asked, onward, chosen)
        return self._tiny(request, asked, onward, chosen) if chosen.kind == "pixels" else None

    def may_lead(self, url: str) -> bool:
        """Whether a page of ours may have this as a link. Every URL was checked when it was set; it costs little."""
        scheme = url.partition(":")[0].lower()
        allowed = {"http", "https", *self._settings.schemes} - NEVER_SCHEMES
        return scheme in allowed and url.isprintable()

    def _card(self, request: Request, card: SocialCard, onward: Destination) -> Response:
        """For programs that draw previews: the link's own words and picture."""
        title = card.title or onward.title
        return self._page(request, "card.html", csp.headers(images=[card.image]), title=title, card=card, onward=onward)

    def _splash(
        self, request: Request, asked: VisitRequest, splash: Splash, onward: Destination, chosen: Decision
    ) -> Response:
        nonce = secrets.token_urlsafe(16)
        images = [url for url in (splash.banner, splash.logo) if url]
        headers = csp.headers(nonce=nonce, images=images, providers=pixel_providers.used(chosen.pixels))
        leave = "count" if splash.counter else "never"
        told = _told(asked, onward, chosen, leave=leave, count=splash.counter)
        # A button that comes no sooner than the target itself would never be seen.
        button = not splash.counter or splash.skip < splash.counter
        shown = {
            "splash": splash,
            "button": button,
            "host": host_of(splash.link),
            "report": self._report(request, asked),
        }
        return self._page(
            request, "splash.html", headers, title=splash.title or onward.title, nonce=nonce, **shown, **told
        )

    async def _framed(
        self, request: Request, asked: VisitRequest, onward: Destination, chosen: Decision
    ) -> Response | None:
        origins = await self._framing.allows(onward.url, _own_origin(request, self._settings))
        if not origins:
            return self._tiny(request, asked, onward, chosen) if chosen.pixels else None
        nonce = secrets.token_urlsafe(16) if chosen.pixels else ""
        headers = csp.headers(nonce=nonce, frames=origins, providers=pixel_providers.used(chosen.pixels))
        told = _told(asked, onward, chosen, leave="never")
        return self._page(request, "frame.html", headers, title=onward.title, nonce=nonce, **told)

    async def _overlaid(
        self,
        request: Request,
        asked: VisitRequest,
        target: LinkView,
        onward: Destination,
        chosen: Decision,
        overlay: Overlay,
    ) -> Response:
        """Over the target where that can be framed, else a page of its own before it."""
        origins = await self._framing.allows(onward.url, _own_origin(request, self._settings))
        nonce = secrets.token_urlsafe(16)
        sends = overlay.type in OVERLAYS_WITH_FORM
        ticket = await self._tickets.of(overlay.id, target.id, onward.url) if sends else ""
        images = [overlay.image] if overlay.image else []
        used = pixel_providers.used(chosen.pixels)
        headers = csp.headers(nonce=nonce, images=images, frames=origins, providers=used, sends=sends)
        shown = {"overlay": overlay, "ticket": ticket, "link": target.id, "host": host_of(overlay.link)}
        told = {**_told(asked, onward, chosen, leave="never"), "is_dark": is_dark(overlay.background)}
        template = "overlay.html" if origins else "interstitial.html"
        values = {**shown, **told, "framed": bool(origins), "report": self._report(request, asked)}
        return self._page(request, template, headers, title=onward.title, nonce=nonce, **values)

    def _tiny(self, request: Request, asked: VisitRequest, onward: Destination, chosen: Decision) -> Response:
        """Pixels and nothing else: seen for a moment, or for as long as the visitor thinks about a consent."""
        nonce = secrets.token_urlsafe(16)
        headers = csp.headers(nonce=nonce, providers=pixel_providers.used(chosen.pixels))
        told = _told(asked, onward, chosen, leave="pixels")
        return self._page(request, "pixels.html", headers, title=onward.title, nonce=nonce, **told)

    def _report(self, request: Request, asked: VisitRequest) -> str:
        """Where this visitor can complain of the address that brought them here, be it a link's or a rotator's."""
        return report_url(self._settings.base, asked.host, request.url.path[1:])

    def _page(self, request: Request, template: str, headers: dict[str, str], **values: Any) -> Response:
        return self._pages.page(template, request=request, headers=headers, **values)


def _manner(request: Request, asked: VisitRequest, way: Interstitials) -> ClientTraits:
    headers = request.headers
    return ClientTraits(
        agent=classifier.agent(asked.agent.decode("utf-8", "replace")).kind,
        wants_page=wants_page(request),
        is_private=headers.get("dnt") == "1" or headers.get("sec-gpc") == "1",
        consent=consent(request.cookies.get(_CONSENT, ""), way.pixels),
    )


def _onward(target: LinkView, url: str) -> Destination:
    own = target.interstitials.card.title if target.interstitials and target.interstitials.card else ""
    host = host_of(url)
    return Destination(quote(url, safe=URL_SAFE), host, own or target.title or host or "…")


def host_of(url: str) -> str:
    """What a visitor may read as the name of a place: letters as people write them, without user or port."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_dark(color: str) -> bool:
    """Whether light words are read on it: what the browser draws by itself should fit, such as a radio button."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 128


def _own_origin(request: Request, settings: Settings) -> str:
    """The origin under which the visitor sees us: by its host, since a branded domain is another one."""
    scheme = urlsplit(settings.base).scheme
    return csp.origin(f"{scheme}://{request.headers.get('host', '')}") or settings.base


def _told(asked: VisitRequest, onward: Destination, chosen: Decision, *, leave: str, count: int = 0) -> dict[str, Any]:
    """What the page's script is told, and its template: `leave` is when to go on, after `count` seconds at `count`."""
    used = pixel_providers.used(chosen.pixels)
    tags: Sequence[dict[str, str]] = [
        {"type": one.type, "tag": one.tag, "src": pixel_providers.PROVIDERS[one.type].script_of(one.tag)}
        for one in chosen.pixels
    ]
    cookie = f".{purpose(chosen.pixels)}; Max-Age={_CONSENT_SECONDS}; Path=/{asked.alias}; SameSite=Lax"
    told = {"url": onward.url, "leave": leave, "count": count, "pixels": tags, "asks": chosen.asks, "cookie": cookie}
    return {
        "way": told,
        "starts": pixel_providers.starts(chosen.pixels),
        "onward": onward,
        "asks": chosen.asks,
        "names": sorted({one.name for one in used}),
        "leave": leave,
    }
