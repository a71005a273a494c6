"""Visits to links: redirect, interstitials, password form and preview."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from waypost.interstitials.link_outcome import link_outcome
from waypost.urls.blocklist import Blocklist
from waypost.urls.short_urls import report_url
from waypost.visits.alias import AliasKind
from waypost.visits.decide import Refusal
from waypost.visits.i18n import translatable
from waypost.visits.link_record import LinkView
from waypost.visits.outcome import NeedsRequest, Outcome
from waypost.visits.request import VisitRequest, request_host
from waypost.visits.visit import VisitService
from waypost.visits.visitor_services import Services
from waypost.visits.writers import asgi


def visit_link(visits: VisitService, visit: VisitRequest, link: LinkView, blocked: Blocklist) -> Outcome:
    """Return the outcome of a visit."""
    if link.password is not None:
        return NeedsRequest(partial(_unlock, link=link))
    return link_outcome(visits, visit, link, blocked)


async def _unlock(request: Request, services: Services, visit: VisitRequest, *, link: LinkView) -> Response:
    """Check the password that the visitor has sent."""
    visits, unlocked = services.visits, False
    if link.password and visit.password:
        verified = await visits.password_check.verify(f"link {link.id}", link.password, visit)
        if verified is None:
            return services.pages.refuse(request, "guessing")
        unlocked = verified
    outcome = link_outcome(visits, visit, link, await visits.blocklist(), unlocked=unlocked)
    return await asgi.respond(request, services, visit, outcome)


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


LINKS = AliasKind(LinkView, preview_link, has_password, visit_link)
