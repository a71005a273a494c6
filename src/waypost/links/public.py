"""Visits to links: redirect, interstitials, password form and preview."""

from starlette.requests import Request
from starlette.responses import Response

from waypost.clicks.journal import entry
from waypost.interstitials.render import interstitial_response
from waypost.urls.short_urls import report_url
from waypost.visits.alias import AliasKind
from waypost.visits.decide import Refusal
from waypost.visits.i18n import translatable
from waypost.visits.lookup import LinkView
from waypost.visits.request import VisitRequest, request_host
from waypost.visits.responses import redirect
from waypost.visits.services import Services


async def visit_link(request: Request, services: Services, visit: VisitRequest, link: LinkView) -> Response:
    """Redirect, or show an interstitial, a password form or an error."""
    outcome = await services.visits.visit(visit, link)
    if isinstance(outcome, Refusal):
        return services.pages.refuse(request, outcome.reason, wrong_password=bool(visit.password))
    if outcome.is_click and link.interstitials:
        page = await interstitial_response(request, services, visit, link, outcome.url)
        if page is not None:
            return page
    services.meter.count("redirects", "full")
    response = redirect(outcome.url, status=303 if request.method == "POST" else 302)
    if link.is_plain and outcome.is_click and not visit.query:
        target = entry.item_fields(link.account, "link", link.id)
        services.worker_state.cache.put_redirect(request, visit, response, journal_target=target, expiry=link.expiry)
    return response


async def preview_link(request: Request, services: Services, link: LinkView) -> Response:
    """Show the destination without a visit (decision 50). A link with a password has no preview."""
    outcome = await services.visits.preview(link)
    if isinstance(outcome, Refusal):
        return services.pages.refuse(request, "missing" if outcome.reason == "locked" else outcome.reason)
    host = request_host(request, services.settings)
    report = report_url(services.settings.base, host, await services.visits.scheme(host), link.alias)
    return services.pages.preview(
        request,
        url=outcome.url,
        alias=link.alias,
        title=link.title,
        report=report,
        default_title=translatable("Link preview"),
    )


def has_password(link: LinkView) -> bool:
    """Return whether the link's page has a form."""
    return link.password is not None


LINKS = AliasKind(LinkView, visit_link, preview_link, has_password)
