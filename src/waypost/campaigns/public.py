"""`/r/<slug>`: one address that hands out the links of a campaign (decision 51)."""

from dataclasses import replace
from functools import partial

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from waypost import clock
from waypost.campaigns import rotator as campaigns_rotator
from waypost.campaigns.rotator import RotatorVisit, Rotator
from waypost.clicks.journal import writer as journal
from waypost.db.database import Database
from waypost.interstitials.render import InterstitialPages
from waypost.observability.metrics import Meter
from waypost.settings import Settings
from waypost.urls.alias_namespace import OWN
from waypost.urls.short_urls import list_url
from waypost.visits.blocklist_filter import without_blocked_link
from waypost.visits.decide import Refusal
from waypost.visits.lookup import LinkView
from waypost.visits.request import VisitRequest, read_visit
from waypost.visits.responses import PageRenderer, redirect
from waypost.visits.visit import VisitService, is_valid_name

_COOKIE = "wp_turn"
_COOKIE_SECONDS = 30 * 86_400
_LONGEST = 50
_DIGITS = 15


class Rotators:
    """Answers visits of rotators."""

    def __init__(
        self,
        *,
        settings: Settings,
        database: Database,
        visitor: VisitService,
        pages: PageRenderer,
        ahead: InterstitialPages,
        meter: Meter,
    ) -> None:
        self._settings = settings
        self._database = database
        self._visitor = visitor
        self._pages = pages
        self._ahead = ahead
        self._meter = meter

    async def answer(self, request: Request) -> Response:
        """The way to one of the campaign's links; to its list page when there is none, if it is public."""
        slug = request.path_params["slug"]
        asked = await read_visit(request, slug, self._settings)
        rotator = None
        if asked.host == OWN and is_valid_name(slug, _LONGEST):
            rotator = await self._visitor.read(lambda tx: campaigns_rotator.find_rotator(tx, slug))
        if rotator is None:
            await self._visitor.log_missing(asked)
            return self._pages.refuse(request, "missing")
        kept = _kept(request) if rotator.sticky else None
        target = await self._choose(rotator, asked, kept)
        if target is None:
            return self._without_links(request, rotator)
        answer = await self._visitor.visit(asked, target, has_taken=asked.is_click)
        if isinstance(answer, Refusal):  # something changed this moment
            return self._pages.refuse(request, answer.reason)
        if answer.is_click:
            self._visitor.log_visit(
                journal.target_of(rotator.account, "campaign", rotator.id), asked, journal.rotated(target.id)
            )
        shown = without_blocked_link(target, await self._visitor.blocklist())
        response = await self._ahead.answer(request, asked, shown, answer.url) if answer.is_click else None
        if response is None:
            self._meter.count("redirects", "full")
            response = redirect(answer.url)
        if rotator.sticky and asked.is_click and target.id != kept:
            self._keep(response, slug, target.id)
        return response

    async def _choose(self, rotator: Rotator, asked: VisitRequest, kept: int | None) -> LinkView | None:
        """The link for this visitor. Only a click is ever taken from anything, and only that waits for a write."""
        forbidden = await self._visitor.blocklist()

        def leads_on(target: LinkView) -> bool:
            return self._visitor.is_reachable(asked, target, forbidden)

        spin = RotatorVisit(asked.is_click, kept, leads_on, clock.now())
        target = None
        if not (spin.is_click and rotator.counts_turns):
            target, is_limited = await self._visitor.read(lambda tx: campaigns_rotator.peek(tx, rotator, spin))
            if target is None or not spin.is_click or not is_limited:
                return target
            # What was drawn is to be had, if it still can be: else limited links would be drawn less than others.
            spin = replace(spin, kept=target.id)
        return await anyio.to_thread.run_sync(
            partial(self._database.write, durability="process"), lambda tx: campaigns_rotator.take(tx, rotator, spin)
        )

    def _without_links(self, request: Request, rotator: Rotator) -> Response:
        if not rotator.public:
            return self._pages.refuse(request, "missing")
        return redirect(list_url(self._settings.base, rotator.username, rotator.slug, rotator.id))

    def _keep(self, response: Response, slug: str, link: int) -> None:
        """Let the visitor's browser know its link. Not signed: all that it can ask for is a usable link of this one."""
        response.set_cookie(
            _COOKIE,
            str(link),
            max_age=_COOKIE_SECONDS,
            path=f"/r/{slug}",
            secure=self._settings.base.startswith("https:"),
            httponly=True,
            samesite="lax",
        )


def _kept(request: Request) -> int | None:
    value = request.cookies.get(_COOKIE, "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) <= _DIGITS else None
