"""Visits to links: redirect, interstitials, password form and preview."""

from starlette.requests import Request
from starlette.responses import Response

from waypost.clicks.journal import entry
from waypost.interstitials.render import interstitial_response, splash_renderer
from waypost.urls.short_urls import report_url
from waypost.visits.alias import AliasKind
from waypost.visits.click_limits import LinkKey
from waypost.visits.decide import Redirect, Refusal, decide
from waypost.visits.fast_outcomes import FastPage, FastRedirect
from waypost.visits.i18n import translatable
from waypost.visits.link_view import LinkView
from waypost.visits.request import VisitRequest, request_host
from waypost.visits.responses import redirect
from waypost.visits.services import Services
from waypost.visits.visit import VisitService, is_blocked


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
    return redirect(outcome.url, status=303 if request.method == "POST" else 302)


def fast_link(visits: VisitService, visit: VisitRequest, link: LinkView) -> FastRedirect | FastPage | None:
    """Return the redirect or splash page, if the link has no password, and the destination is allowed."""
    blocked = visits.cache.blocklist
    takes_click = link.clicklimit is not None
    if blocked is None or link.password is not None or (takes_click and not visit.is_click):
        return None
    facts = visits.facts(link, visit, unlocked=False)
    outcome = decide(link, facts)
    if not isinstance(outcome, Redirect) or is_blocked(blocked, link, outcome, facts):
        return None
    target = entry.item_fields(link.account, "link", link.id)
    if link.interstitials and outcome.is_click:
        render = splash_renderer(visits, visit, link, outcome.url)
        return FastPage(target, render, expiry=link.expiry, is_for_browsers=True) if render else None
    return FastRedirect(
        outcome.url,
        target,
        (entry.TAKEN if takes_click else b"") if outcome.is_click else entry.LATE,
        is_constant=link.is_plain and outcome.is_click and not visit.query,
        expiry=link.expiry,
        limited_link=LinkKey(link.account, link.id) if takes_click and outcome.is_click else None,
    )


async def preview_link(request: Request, services: Services, link: LinkView) -> Response:
    """Show the destination without a visit (decision 50). A link with a password has no preview."""
    outcome = await services.visits.preview(link)
    if isinstance(outcome, Refusal):
        return services.pages.refuse(request, "missing" if outcome.reason == "locked" else outcome.reason)
    host = request_host(request)
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


LINKS = AliasKind(LinkView, visit_link, preview_link, has_password, fast_link)
