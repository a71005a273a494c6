"""Routes of a whole host: its root, unknown names, on-demand certificates (decision 39), robots.txt and the favicon."""

from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from waypost.clicks import journal
from waypost.core.settings import ROOT_PAGE
from waypost.core.uris import ascii_host, encoded
from waypost.http.client_ip import client_ip, is_private
from waypost.media.branding.brand import NO_BRAND, Brand, icon_file
from waypost.urls.alias_namespace import OWN
from waypost.urls.blocklist import Blocklist
from waypost.urls.hostnames import has_dashboard, host_of
from waypost.urls.url_parts import with_queries
from waypost.visits.i18n import translatable
from waypost.visits.outcome import JournalFields, Log, NeedsRequest, Outcome, Redirection, Refused
from waypost.visits.record_queries import DomainView
from waypost.visits.request import VisitRequest, request_host
from waypost.visits.responses import BRAND_KEY, DOMAIN_KEY, NO_STORE, json_error, redirect
from waypost.visits.visitor_services import Services

# Crawlers may follow short links: link previews need that, and bots are counted separately. The API needs a key, and
# QR code images would be rendered again for each crawler.
_ROBOTS = "User-agent: *\nDisallow: /api/\nDisallow: /qr/\nDisallow: /*/qr\nDisallow: /tls/\n"
_ROBOTS_UNKNOWN_HOST = "User-agent: *\nDisallow: /\n"
_HEADERS = {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"}
_MAX_NAME = 300


async def root(request: Request, services: Services) -> Response:
    """`/`: the redirect of a branded domain or of the service's own host; without one, the dashboard on the latter."""
    host = request_host(request)
    domain = await services.visits.find_domain(host)
    if domain is not None and domain.redirectroot:
        query = encoded(request.scope["query_string"])
        return await domain_redirect(request, services, domain.redirectroot, query=query)
    if host != OWN:
        return refuse_host(request, services) if domain is None else services.pages.refuse(request, "missing")
    if services.settings.root_redirect == ROOT_PAGE:
        return _root_page(request, services)
    header = request.headers.get("host", "")
    return redirect(
        "/dashboard" if has_dashboard(header, services.settings) else f"{services.settings.dashboard}/dashboard"
    )


def _root_page(request: Request, services: Services) -> Response:
    settings, pages = services.settings, services.pages
    return pages.page(
        "root.html",
        request=request,
        title=settings.own_host,
        host="",
        dashboard=f"{settings.dashboard}/dashboard",
        report=f"{settings.base}/report",
    )


def refuse_host(request: Request, services: Services) -> Response:
    """Respond to a visit by a host name that is not known. In a private network, name the one that is expected."""
    if not is_private(client_ip(request.scope, services.settings.proxies)):
        return services.pages.refuse(request, "missing")
    message = translatable("This host name is not known. Open %(url)s, or change WAYPOST_BASE_URL.")
    detail = services.pages.translate(request, message) % {"url": services.settings.base}
    return services.pages.refuse(request, "missing", detail=detail)


def unknown_outcome(visit: VisitRequest, domain: DomainView | None, blocked: Blocklist) -> Outcome:
    """Return the outcome of a visit to an unknown alias. It is logged for the domain or the service's own host."""
    if domain is None:  # a page for a private network names the host name that is expected
        return NeedsRequest(_refuse_host) if is_private(visit.client_ip) else Refused("missing")
    log = missing_log(domain)
    if not domain.redirect404:
        return Refused("missing", log)
    return Refused("blocked", log) if blocked.blocks(domain.redirect404) else Redirection(domain.redirect404, log)


def missing_log(domain: DomainView) -> Log:
    """Return the journal fields of a visit that finds nothing."""
    return (JournalFields(journal.item_fields(domain.account, "missing", domain.id)),)


async def _refuse_host(request: Request, services: Services, _visit: VisitRequest) -> Response:
    return refuse_host(request, services)


async def domain_redirect(request: Request, services: Services, url: str, *, query: str = "") -> Response:
    """Redirect to a URL that the owner of a branded domain has set, unless it is blocked. `query` is the visitor's."""
    if (await services.visits.blocklist()).blocks(url):
        return services.pages.refuse(request, "blocked")
    return redirect(with_queries(url, query))


async def profile(request: Request, services: Services) -> Response:
    """`/u/<username>`: explain that only lists of links have pages."""
    return services.pages.fail(request, "no_profile", code="missing")


async def not_found(request: Request, services: Services) -> Response:
    """Every path without a route."""
    return services.pages.refuse(request, "missing")


async def tls_ask(request: Request, services: Services) -> Response:
    """`/tls/ask?domain=`: whether a reverse proxy may request a certificate for a host.

    Proxies call it by any name that is not a branded domain, such as `waypost:8000`. Unknown hosts cost one read each:
    the cache holds thousands of them.
    """
    host = request_host(request)
    if host != OWN and await services.visits.find_domain(host) is not None:
        return services.pages.refuse(request, "missing")
    name = ascii_host(host_of(request.query_params.get("domain", "")[:_MAX_NAME]))
    is_known = name in services.settings.own_hosts or (name and await services.visits.find_domain(name) is not None)
    if not is_known:
        return json_error("domain is not a host of this service.", code="missing", status=404)
    return Response("ok", media_type="text/plain", headers=NO_STORE)


async def robots(request: Request, services: Services) -> Response:
    """`/robots.txt`."""
    domain = await services.visits.find_domain(request_host(request))
    text = _ROBOTS if domain is not None else _ROBOTS_UNKNOWN_HOST
    return Response(text, media_type="text/plain", headers=_HEADERS)


async def favicon(request: Request, services: Services) -> Response:  # noqa: ARG001  # the signature of a Handler
    """`/favicon.ico`: the icon of the brand, if there is one."""
    domain: DomainView | None = request.scope.get(DOMAIN_KEY)
    brand: Brand = request.scope.get(BRAND_KEY, NO_BRAND) if domain is None else domain.brand
    if brand != NO_BRAND:
        media_type, content = icon_file(brand)
        return Response(content, media_type=media_type, headers=_HEADERS)
    return Response(_icon(), media_type="image/x-icon", headers=_HEADERS)


@cache
def _icon() -> bytes:
    return files("waypost.visits").joinpath("templates", "favicon.ico").read_bytes()
