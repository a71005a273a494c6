"""Visits to links, by their own alias or by a rotator: the outcome, password form and preview, and a dry run."""

from collections.abc import Callable
from functools import partial

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from waypost.clicks import journal
from waypost.clicks.geo.countries import NAMES
from waypost.core import clock
from waypost.interstitials.render import interstitial_response, splash_renderer
from waypost.urls import blocklist
from waypost.urls.blocklist import Blocklist
from waypost.urls.short_urls import report_url
from waypost.visits import writers
from waypost.visits.alias import AliasKind
from waypost.visits.click_limits import LinkKey, has_clicks_left
from waypost.visits.decide import (
    EXPIRY_REASONS,
    Decision,
    Facts,
    Redirect,
    Refusal,
    decide,
    expired_outcome,
    facts_of,
    is_blocked,
)
from waypost.visits.i18n import translatable
from waypost.visits.link_record import LinkView, find_link
from waypost.visits.outcome import Deferred, JournalFields, Log, NeedsRequest, Outcome, Page, Redirection, Refused
from waypost.visits.request import VisitRequest, request_host
from waypost.visits.visit import VisitService
from waypost.visits.visitor_services import Services


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
    facts = facts_of(link, visit, visits.countries, unlocked=unlocked)
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
    return await writers.respond(request, services, visit, outcome if is_allowed else otherwise)


async def _show_interstitial(
    request: Request, services: Services, visit: VisitRequest, *, link: LinkView, url: str
) -> Response:
    page = await interstitial_response(request, services, visit, link, url)
    return page or await writers.respond(request, services, visit, Redirection(url))


async def _ask_for_password(request: Request, services: Services, visit: VisitRequest) -> Response:
    return services.pages.refuse(request, "locked", wrong_password=bool(visit.password))


def _target(link: LinkView) -> bytes:
    return journal.item_fields(link.account, "link", link.id)


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
    return await writers.respond(request, services, visit, outcome)


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
