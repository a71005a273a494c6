"""Visits to links: redirect, interstitials, password form and preview, and a dry run that counts no click."""

from functools import partial

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from waypost.clicks.geo.countries import NAMES
from waypost.core import clock
from waypost.interstitials.link_outcome import link_outcome
from waypost.urls import blocklist
from waypost.urls.blocklist import Blocklist
from waypost.urls.short_urls import report_url
from waypost.visits.alias import AliasKind
from waypost.visits.click_limits import has_clicks_left
from waypost.visits.decide import Facts, Redirect, Refusal, decide, expired_outcome
from waypost.visits.i18n import translatable
from waypost.visits.link_record import LinkView, find_link
from waypost.visits.outcome import NeedsRequest, Outcome
from waypost.visits.request import VisitRequest, request_host
from waypost.visits.visit import VisitService, is_blocked
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


def dry_run(
    tx: Connection, account: int, link: int, *, country: str, os: str, device: str, language: str
) -> tuple[str, str]:
    """Return (reason for an error page or "", destination or "").

    `country` is a country code; `os` and `device` are names of the classifier. The password counts as entered: the
    result for a protected link is ("locked", destination).
    """
    view = find_link(tx, account, link)
    if view is None:
        return "missing", ""
    name, code = NAMES.get(country, ""), country if country in NAMES else ""
    facts = Facts(
        now=clock.now(), unlocked=True, country=name, country_code=code, os=os, device=device, language=language
    )
    outcome = decide(view, facts)
    if isinstance(outcome, Redirect) and outcome.is_click and not has_clicks_left(tx, account, view.id):
        outcome = expired_outcome(view, "limit")
    if is_blocked(blocklist.read(tx), view, outcome, facts):
        outcome = Refusal("blocked")
    if isinstance(outcome, Refusal):
        return outcome.reason, ""
    if not outcome.is_click:
        return "expired", outcome.url
    return ("locked" if view.password is not None else ""), outcome.url
