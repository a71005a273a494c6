"""The outcome of a visit to a link, by its own alias or by a rotator."""

from collections.abc import Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from waypost.clicks import journal
from waypost.interstitials.render import interstitial_response, splash_renderer
from waypost.urls.blocklist import Blocklist
from waypost.visits.click_limits import LinkKey, has_clicks_left
from waypost.visits.decide import EXPIRY_REASONS, Decision, Redirect, decide, expired_outcome
from waypost.visits.link_record import LinkView
from waypost.visits.outcome import Deferred, JournalFields, Log, NeedsRequest, Outcome, Page, Redirection, Refused
from waypost.visits.request import VisitRequest
from waypost.visits.visit import VisitService, is_blocked
from waypost.visits.visitor_services import Services
from waypost.visits.writers import asgi


def link_outcome(
    visits: VisitService,
    visit: VisitRequest,
    link: LinkView,
    blocked: Blocklist,
    *,
    unlocked: bool = False,
    rotation: JournalFields | None = None,
) -> Outcome:
    """Return the outcome of a visit.

    `unlocked`: the visitor knows the link's password. `rotation`: the journal fields of a rotator that chose the link;
    it has taken the click from the link's limit.
    """
    facts = visits.facts(link, visit, unlocked=unlocked)
    decision = decide(link, facts)
    if is_blocked(blocked, link, decision, facts):
        return Refused("blocked")
    if not isinstance(decision, Redirect) or not decision.is_click:
        return _late(link, decision)
    outcome = _click(visits, visit, link, decision.url, rotation)
    if link.clicklimit is None or (rotation is not None and visit.is_click):
        return outcome
    expired = expired_outcome(link, "limit")
    otherwise = Refused("blocked") if is_blocked(blocked, link, expired, facts) else _late(link, expired)
    return _limited(visits, visit, link, outcome, otherwise)


def _click(
    visits: VisitService, visit: VisitRequest, link: LinkView, url: str, rotation: JournalFields | None
) -> Outcome:
    """Return the redirect, or the page before it."""
    takes_click = link.clicklimit is not None and visit.is_click
    log: Log = (JournalFields(_target(link), journal.TAKEN if takes_click else b""),)
    if rotation is not None:
        log = (*log, rotation)
    if link.interstitials is None:
        is_constant = rotation is None and link.is_plain and not visit.query
        return Redirection(url, log, is_constant=is_constant, expiry=link.expiry)
    render = splash_renderer(visits, visit, link, url) if rotation is None and visit.wants_page else None
    if render is not None:
        return Page(render, log, expiry=link.expiry)
    return NeedsRequest(partial(_show_interstitial, link=link, url=url), log)


def _late(link: LinkView, decision: Decision) -> Outcome:
    """Return the outcome of a visit that is no click."""
    log = (JournalFields(_target(link), journal.LATE),)
    if isinstance(decision, Redirect):
        return Redirection(decision.url, log, expiry=link.expiry)
    if decision.reason == "locked":
        return NeedsRequest(_ask_for_password)
    return Refused(decision.reason, log if decision.reason in EXPIRY_REASONS else ())


def _limited(
    visits: VisitService, visit: VisitRequest, link: LinkView, outcome: Outcome, otherwise: Outcome
) -> Outcome:
    """Return `outcome` if the link's click limit allows it, else `otherwise`."""
    key, taker = LinkKey(link.account, link.id), visits.click_taker
    if not visit.is_click or isinstance(outcome, NeedsRequest):  # a handler must not begin after a click was taken
        return NeedsRequest(partial(_respond_within_limit, key=key, outcome=outcome, otherwise=otherwise))

    def begin(done: Callable[[Outcome | BaseException], None]) -> None:
        def finish(is_taken: bool | BaseException) -> None:  # noqa: FBT001  # a callback's value
            done(is_taken if isinstance(is_taken, BaseException) else outcome if is_taken else otherwise)

        taker.submit(key, finish)

    return Deferred(begin, taker.is_overloaded, outcome)


async def _respond_within_limit(
    request: Request, services: Services, visit: VisitRequest, *, key: LinkKey, outcome: Outcome, otherwise: Outcome
) -> Response:
    visits = services.visits
    if visit.is_click:
        is_allowed = await visits.click_taker.take(key)
    else:
        is_allowed = await visits.read(lambda tx: has_clicks_left(tx, key.account, key.id))
    return await asgi.respond(request, services, visit, outcome if is_allowed else otherwise)


async def _show_interstitial(
    request: Request, services: Services, visit: VisitRequest, *, link: LinkView, url: str
) -> Response:
    page = await interstitial_response(request, services, visit, link, url)
    return page or await asgi.respond(request, services, visit, Redirection(url))


async def _ask_for_password(request: Request, services: Services, visit: VisitRequest) -> Response:
    return services.pages.refuse(request, "locked", wrong_password=bool(visit.password))


def _target(link: LinkView) -> bytes:
    return journal.item_fields(link.account, "link", link.id)
