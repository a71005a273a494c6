"""Rotators at `/r/<slug>`: redirect each visitor to a link of a campaign (decision 51)."""

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from waypost.core.settings import Settings
from waypost.items.campaigns import rotator
from waypost.items.campaigns.fast_rotator import RotatorChoice, rotator_outcome, visit_of_rotator
from waypost.items.campaigns.rotator import Rotator
from waypost.urls.alias_namespace import OWN
from waypost.urls.short_urls import list_url
from waypost.visits import writers
from waypost.visits.alias import respond_missing
from waypost.visits.link_record import LinkView
from waypost.visits.request import VisitRequest, read_visit
from waypost.visits.responses import redirect
from waypost.visits.visit import is_valid_name
from waypost.visits.visitor_services import Services

_COOKIE = "wp_turn"
_COOKIE_SECONDS = 30 * 86_400
_MAX_SLUG = 50
_MAX_DIGITS = 15


async def visit_rotator(request: Request, services: Services) -> Response:
    """Redirect to one of the campaign's links; without a usable link, to its list page if that is public."""
    slug = request.path_params["slug"]
    visit = await read_visit(request, slug, services.settings)
    sticky_link = _sticky_link(request)
    campaign = link = None
    if visit.host == OWN and is_valid_name(slug, _MAX_SLUG):
        campaign, link = await _choose_link(services, visit, sticky_link)
    if campaign is None:
        return await respond_missing(request, services, visit)
    if link is None:
        if not campaign.public:
            return services.pages.refuse(request, "missing")
        return redirect(list_url(services.settings.base, campaign.username, campaign.slug, campaign.id))
    outcome = rotator_outcome(services.visits, visit, RotatorChoice(campaign, link), await services.visits.blocklist())
    response = await writers.respond(request, services, visit, outcome)
    if response.status_code < 400 and campaign.sticky and visit.is_click and link.id != sticky_link:
        _set_sticky_link(response, slug, link.id, services.settings)
    return response


async def _choose_link(
    services: Services, visit: VisitRequest, sticky_link: int | None
) -> tuple[Rotator | None, LinkView | None]:
    """Return (campaign, the link for this visitor). Only clicks are taken from limits, and only they need a write."""
    rotator_visit = visit_of_rotator(services.visits, visit, await services.visits.blocklist(), sticky_link)
    campaign, link, is_limited = await services.visits.read(lambda tx: rotator.peek(tx, visit.alias, rotator_visit))
    if campaign is None or not visit.is_click or not is_limited:
        return campaign, link
    if link is not None:
        # Try the drawn link first: otherwise links with a limit would be chosen less often than others.
        rotator_visit = replace(rotator_visit, sticky_link=link.id)
    elif not campaign.sticky:
        rotator_visit = replace(rotator_visit, sticky_link=None)
    return campaign, await services.write(lambda tx: rotator.take(tx, campaign, rotator_visit), durability="process")


def _set_sticky_link(response: Response, slug: str, link: int, settings: Settings) -> None:
    """Store the visitor's link in a cookie. It is not signed: it can only select a usable link of this campaign."""
    response.set_cookie(
        _COOKIE,
        str(link),
        max_age=_COOKIE_SECONDS,
        path=f"/r/{slug}",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )


def _sticky_link(request: Request) -> int | None:
    value = request.cookies.get(_COOKIE, "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS else None
