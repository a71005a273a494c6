"""Render interstitials: preview cards, splash pages, frames, overlays and pixels.

A signed token in an overlay's form proves that a page of this link contained the form, and what its destination is. It
rejects programs that never loaded the page, and destinations that this service did not put into the form.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from waypost.clicks.classify import classifier
from waypost.core.settings import NEVER_SCHEMES, Settings
from waypost.core.uris import MAX_LOCATION, to_uri
from waypost.db.signing import Signer
from waypost.interstitials import csp, pixel_providers
from waypost.interstitials.select import ClientTraits, Consent, InterstitialChoice, choose_interstitial, parse_consent
from waypost.urls.alias_namespace import OWN
from waypost.urls.hostnames import has_dashboard
from waypost.urls.short_urls import report_url
from waypost.urls.url_parts import display_host, origin_of
from waypost.visits.link_record import OVERLAYS_WITH_FORM, Interstitials, LinkView, Overlay, SocialCard, Splash
from waypost.visits.request import VisitRequest
from waypost.visits.responses import PageRenderer, is_browser
from waypost.visits.visit import VisitService
from waypost.visits.visitor_services import Services

CONSENT_COOKIE = "wp_consent"
CONSENT_PURPOSE = "pixel consent"
CONSENT_PATH = "/pixel/consent"
MAX_CONSENT_QUERY = 2 * MAX_LOCATION
"""Bytes of the query of CONSENT_PATH, which has the destination in Base64."""
_CONSENT_SECONDS = 3600  # for the answer
_NAME_AND_PORT = re.compile(r"[a-z0-9._-]+(:[0-9]+)?\Z")
_FORM_PURPOSE = "overlay form"


@dataclass(frozen=True)
class Destination:
    """The destination of a page: its URL, fit for a header and an attribute, its host, and its title."""

    url: str
    host: str
    title: str


async def interstitial_response(
    request: Request,
    services: Services,
    visit: VisitRequest,
    link: LinkView,
    url: str,
    *,
    path: str = "",
    answer: Consent = "",
) -> Response | None:
    """Return the page between this visitor and `url`; None if the visitor is to be redirected.

    `path` and `answer`: the path of the visit, if it is not the request's, and what the visitor answered there.
    """
    interstitials = link.interstitials
    if interstitials is None or not _is_safe(url, services.settings):
        return None
    needs_consent = services.settings.pixel_consent == "on"
    client = _client_traits(request, visit, interstitials, answer)
    choice = choose_interstitial(interstitials, url, client, needs_consent=needs_consent)
    page = _Page(request, services, visit, link, _destination(link, url), choice, path or request.scope["path"])
    if choice.kind == "card" and interstitials.card:
        return page.card(interstitials.card)
    if choice.kind == "splash" and interstitials.splash:
        return await page.splash(interstitials.splash)
    if choice.kind == "overlay" and interstitials.overlay:
        return await page.overlay(interstitials.overlay)
    if choice.kind == "frame":
        return await page.frame()
    return await page.pixels_only() if choice.kind == "pixels" else None


@dataclass(frozen=True)
class _Page:
    """An interstitial for one visit."""

    request: Request
    services: Services
    visit: VisitRequest
    link: LinkView
    destination: Destination
    choice: InterstitialChoice
    path: str
    """The path that the visitor opened."""

    def card(self, card: SocialCard) -> Response:
        """Preview for messengers and social networks: the owner's title, description and image."""
        headers = csp.headers(images=[card.image])
        return self._response("social_card.html", headers, title=card.title or self.destination.title, card=card)

    async def splash(self, splash: Splash) -> Response:
        script = await self._script_context(leave="count" if splash.counter else "never", count=splash.counter)
        headers = self._headers(script, images=_splash_images(splash))
        context = _splash_context(splash, self.destination)
        return self._response("splash.html", headers, **script, **context, report=await self._report_url())

    async def frame(self) -> Response | None:
        origins = await self._framing_origins()
        if not origins:
            return await self.pixels_only() if self.choice.pixels else None
        context = await self._script_context(leave="never") if self.choice.pixels else {}
        headers = self._headers(context, frames=origins)
        return self._response("frame.html", headers, title=self.destination.title, **context)

    async def overlay(self, overlay: Overlay) -> Response:
        """Over the framed destination if it allows framing, else on a page before it."""
        origins = await self._framing_origins()
        has_form = overlay.type in OVERLAYS_WITH_FORM
        token = ""
        if has_form:
            signer = await self.services.signer.get()
            token = create_form_token(signer, overlay=overlay.id, link=self.link.id, url=self.destination.url)
        images = [overlay.image] if overlay.image else []
        script = await self._script_context(leave="never", has_overlay=True)
        form = _own_source(self.request, f"/overlay/{overlay.id}") if has_form else ""
        headers = self._headers(script, images=images, frames=origins, form=form)
        context = {
            **script,
            "title": self.destination.title,
            "overlay": overlay,
            "form_token": token,
            "link_id": self.link.id,
            "link_host": display_host(overlay.link),
            "is_dark": is_dark(overlay.background),
            "framed": bool(origins),
            "report": await self._report_url(),
        }
        return self._response("overlay.html" if origins else "interstitial.html", headers, **context)

    async def pixels_only(self) -> Response:
        """An empty page that runs pixels and redirects, if necessary after asking for consent."""
        context = await self._script_context(leave="pixels")
        return self._response("pixels.html", self._headers(context), title=self.destination.title, **context)

    def _headers(self, context: Mapping[str, Any], **sources: Any) -> dict[str, str]:
        """Return the headers of a page with the script in `context`. On a host with the dashboard it gets no origin."""
        is_sandboxed = has_dashboard(self.request.headers.get("host", ""), self.services.settings)
        return csp.headers(
            script=context.get("script", ""), providers=self._providers(), sandboxed=is_sandboxed, **sources
        )

    def _providers(self) -> list[pixel_providers.Provider]:
        return pixel_providers.providers_of(self.choice.pixels)

    async def _framing_origins(self) -> Sequence[str]:
        scheme = await self.services.visits.scheme(self.visit.host)
        own_origin = _own_origin(self.request, self.services.settings, scheme)
        return await self.services.frame_checker.framing_origins(self.destination.url, own_origin)

    async def _report_url(self) -> str:
        """The abuse report form for the URL that the visitor opened: a link's or a rotator's."""
        scheme = await self.services.visits.scheme(self.visit.host)
        return report_url(self.services.settings.base, self.visit.host, scheme, self.path[1:])

    async def _script_context(self, *, leave: str, count: int = 0, has_overlay: bool = False) -> dict[str, Any]:
        """Return the template values for the page's script, as `_script_values`."""
        consent_url = await self._consent_url() if self.choice.asks_consent else ""
        config = {"url": self.destination.url, "leave": leave, "count": count, "consent": consent_url}
        return _script_values(self.services.pages, self.choice, config, has_overlay=has_overlay)

    async def _consent_url(self) -> str:
        """The URL that stores the visitor's consent; the answer is to be appended."""
        signer = await self.services.signer.get()
        values = (str(self.link.account), str(self.link.id), self.path, self.destination.url)
        ticket = signer.sign(CONSENT_PURPOSE, *values, life=_CONSENT_SECONDS)
        return f"{CONSENT_PATH}?{urlencode({'ticket': ticket, 'answer': ''})}"

    def _response(self, template: str, headers: dict[str, str], **context: Any) -> Response:
        return self.services.pages.page(
            template, request=self.request, headers=headers, destination=self.destination, **context
        )


def splash_renderer(
    visits: VisitService, visit: VisitRequest, link: LinkView, url: str
) -> Callable[[Request, PageRenderer], Response] | None:
    """Return a function that renders the link's splash page; None if the page may differ between visits."""
    splash = link.interstitials.splash if link.interstitials else None
    is_cached, domain = visits.cache.get_domain(visit.host)
    is_constant = splash is not None and visit.is_click and not (link.varies or visit.query) and is_cached
    has_two_hosts = bool(visits.settings.dashboard_url) and visit.host == OWN  # with and without the dashboard
    if not is_constant or splash is None or has_two_hosts or not _is_safe(url, visits.settings):
        return None
    if link.interstitials is None or link.interstitials.pixels:
        return None
    destination = _destination(link, url)
    scheme = domain.scheme or None if domain else None
    report = report_url(visits.settings.base, visit.host, scheme, visit.alias)
    config = {"url": destination.url, "leave": "count" if splash.counter else "never", "count": splash.counter}

    def render(request: Request, pages: PageRenderer) -> Response:
        script = _script_values(pages, InterstitialChoice("splash"), {**config, "consent": ""})
        headers = csp.headers(script=script["script"], images=_splash_images(splash), sandboxed=visit.host == OWN)
        context = {**script, **_splash_context(splash, destination), "report": report}
        return pages.page("splash.html", request=request, headers=headers, destination=destination, **context)

    return render


def _splash_images(splash: Splash) -> list[str]:
    return [url for url in (splash.banner, splash.logo) if url]


def _splash_context(splash: Splash, destination: Destination) -> dict[str, Any]:
    return {
        "title": splash.title or destination.title,
        "splash": splash,
        # A skip button that appears no sooner than the redirect is useless.
        "has_button": not splash.counter or splash.skip < splash.counter,
        "link_host": display_host(splash.link),
    }


def _script_values(
    pages: PageRenderer, choice: InterstitialChoice, config: Mapping[str, Any], *, has_overlay: bool = False
) -> dict[str, Any]:
    """Return the template values for a page's script.

    `config`: `url`, the destination; `leave`, when to redirect; `count`, after so many seconds; `consent`, the URL that
    stores the visitor's consent.
    """
    tags = [
        {"type": pixel.type, "tag": pixel.tag, "src": pixel_providers.PROVIDERS[pixel.type].script_for(pixel.tag)}
        for pixel in choice.pixels
    ]
    starters = pixel_providers.start_functions(choice.pixels)
    return {
        "script": pages.render("interstitial.js", pixel_starters=starters, has_overlay=has_overlay),
        "script_config": {**config, "pixels": tags, "asks": choice.asks_consent},
        "asks_consent": choice.asks_consent,
        "names": sorted({provider.name for provider in pixel_providers.providers_of(choice.pixels)}),
    }


def _is_safe(url: str, settings: Settings) -> bool:
    """Return whether a page may link to the URL. Every URL was validated when it was saved; this is a second check."""
    scheme = url.partition(":")[0].lower()
    allowed = {"http", "https", *settings.schemes} - NEVER_SCHEMES
    return scheme in allowed and url.isprintable()


def _client_traits(
    request: Request, visit: VisitRequest, interstitials: Interstitials, answer: Consent
) -> ClientTraits:
    headers = request.headers
    return ClientTraits(
        agent=classifier.agent(visit.agent_text).kind,
        is_browser=is_browser(request),
        is_private=headers.get("dnt") == "1" or headers.get("sec-gpc") == "1",
        consent=answer or parse_consent(request.cookies.get(CONSENT_COOKIE, ""), interstitials.pixels),
    )


def _destination(link: LinkView, url: str) -> Destination:
    card_title = link.interstitials.card.title if link.interstitials and link.interstitials.card else ""
    host = display_host(url)
    return Destination(to_uri(url), host, card_title or link.title or host or "…")


def is_dark(color: str) -> bool:
    """Return whether a background color is dark, so that the browser draws its own controls light."""
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 128


def _own_origin(request: Request, settings: Settings, scheme: str | None) -> str:
    """Return the origin of this page as the visitor sees it. A branded domain is an origin with a scheme of its own."""
    scheme = scheme or urlsplit(settings.base).scheme
    return origin_of(f"{scheme}://{request.headers.get('host', '')}") or settings.base


def _own_source(request: Request, path: str) -> str:
    """Return one path of this host as a source of a policy. No source can be an IPv6 address."""
    host = request.headers.get("host", "").lower()
    return f"{host}{path}" if _NAME_AND_PORT.match(host) else "'self'"


def create_form_token(signer: Signer, *, overlay: int, link: int, url: str) -> str:
    """Return the token for the form of an overlay between a link and `url`."""
    return signer.sign(_FORM_PURPOSE, bound=f"{overlay}\t{link}\t{url}")


def verify_form_token(signer: Signer, token: str, *, overlay: int, link: int, url: str) -> bool:
    """Return whether the token was created for exactly these values."""
    return signer.unsign(_FORM_PURPOSE, token, bound=f"{overlay}\t{link}\t{url}") is not None
