"""The pages of share links at `/stats/<address>`, for visitors (decision 118).

They show the statistics of an item, of the links of a campaign together, or of a whole account without its items, in
the days of the share link. These come from the share link, never from the request; a visitor can only select a part.
"""

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.clicks.stats.stored_visits import VisitFilter
from waypost.clicks.stats.subjects import ACCOUNT, ItemGroup
from waypost.core import credentials
from waypost.core.errors import Kind, Problem
from waypost.dashboard import periods, statistics, statistics_filter
from waypost.dashboard.context import PageContext, too_many_attempts
from waypost.dashboard.forms import Form
from waypost.dashboard.i18n import gettext
from waypost.dashboard.periods import Bounds, Period
from waypost.dashboard.routing import Router
from waypost.dashboard.statistics import Loaded
from waypost.items.shares import lookup
from waypost.items.shares.lookup import SharedItem
from waypost.items.shares.ops import Share

pages = Router()
_PATH = "/stats/{name:path}"
_UNLOCKED, _COOKIE = "unlocked statistics", "waypost_stats"
_UNLOCKED_SECONDS = 86_400
_FIELD, _MAX_PASSWORD = "password", 128  # name and length of the field
_HEADERS = {"X-Robots-Tag": "noindex, nofollow, noarchive", "Referrer-Policy": "no-referrer"}


@pages.get(_PATH, public=True)
def show_statistics(context: PageContext, name: str) -> Response:
    def work() -> Response:
        shared = _find(context, name)
        return _statistics(context, shared) if _is_unlocked(context, shared.share) else _locked(context, shared)

    return _respond(context, work)


@pages.post(_PATH, public=True)
def enter_password(context: PageContext, name: str) -> Response:
    return _respond(context, lambda: _unlock(context, _find(context, name)))


def _respond(context: PageContext, work: Callable[[], Response]) -> Response:
    """Return the response of `work`, or a page of its problem without links to the dashboard.

    No search engine indexes it, and no other site gets its address.
    """
    try:
        response = work()
    except Problem as problem:
        response = context.render("shares/failed.html", status=problem.kind.status, message=problem.message)
        if problem.retry_after is not None:
            response.headers["Retry-After"] = str(problem.retry_after)
    response.headers.update(_HEADERS)
    return response


def _unlock(context: PageContext, shared: SharedItem) -> Response:
    """Check the password, with the rate limit of the passwords of links. A new password ends the access."""
    share, form = shared.share, context.form()
    if share.password is None:
        return context.redirect(share.path)
    attempt = context.rate_limiter.attempt("password", subject=f"share {share.id}", network=context.network)
    if attempt.wait:
        form.errors[_FIELD] = too_many_attempts(attempt.wait).message
        response = _locked(context, shared, form, status=429)
        response.headers["Retry-After"] = str(attempt.wait)
        return response
    if not credentials.password_matches(share.password, str(form[_FIELD])[:_MAX_PASSWORD]):
        form.errors[_FIELD] = "Wrong password."
        return _locked(context, shared, form)
    context.rate_limiter.release(attempt)
    response = context.redirect(share.path)
    token = context.services.signer.sign(_UNLOCKED, life=_UNLOCKED_SECONDS, bound=_bound(share))
    context.set_cookie(response, _COOKIE, token, max_age=_UNLOCKED_SECONDS, path=share.path)
    return response


def _find(context: PageContext, name: str) -> SharedItem:
    """Return the shared item. Raises NOT_FOUND, with the same message for every reason."""
    shared = context.database.read(lambda tx: lookup.find(tx, name, context.settings.base))
    if shared is None:
        raise Problem(Kind.NOT_FOUND, "This address has no shared statistics.")
    return shared


def _is_unlocked(context: PageContext, share: Share) -> bool:
    token = context.request.cookies.get(_COOKIE, "")
    return share.password is None or context.services.signer.unsign(_UNLOCKED, token, bound=_bound(share)) is not None


def _bound(share: Share) -> str:
    return f"{share.id}\t{share.password}"


def _locked(context: PageContext, shared: SharedItem, form: Form | None = None, *, status: int = 401) -> Response:
    """Return the form for the password. It does not name the item."""
    return context.render("shares/locked.html", status=status, path=shared.share.path, form=form or Form({}))


def _statistics(context: PageContext, shared: SharedItem) -> Response:
    share = shared.share
    key = ("bounds", share.id, share.firstday, share.lastday, share.days, share.timezone)

    def find_bounds() -> Bounds:
        if share.key[0] == "campaign":  # its first visit is among those of all its links
            _limit(context, share)
        return context.database.read(lambda tx: lookup.bounds(tx, share))

    bounds: Bounds = context.services.results.get(key, find_bounds)
    period = periods.requested(context, bounds)
    loaded = _load(context, share, period)
    if context.query("format") == "csv":
        return statistics.csv_response(loaded, share.title or shared.name or gettext("Statistics"))
    shown = statistics.report_context(loaded, period)
    shown["presets"] = periods.presets(context, bounds)
    return context.render(
        "shares/shared.html",
        title=share.title,
        name=shared.name,
        url=shared.url,
        **shown,
    )


def _load(context: PageContext, share: Share, period: Period) -> Loaded:
    """Return the statistics, from the cache or within the limits of visitors. Raises RATE_LIMITED, UNAVAILABLE.

    The newest clicks may be missing: visitors cannot make the ingester hurry.
    """
    kind, item = share.key
    visit_filter = _filter(context, share)
    days = context.settings.events_days
    group = ItemGroup(campaign=item) if kind == "campaign" else ItemGroup()
    # Clicks without a time may be outside the days; those of the links of a campaign are their owner's.
    has_baseline = kind in ("link", ACCOUNT) and not share.is_limited

    def read(tx: Connection) -> Loaded:
        loaded = statistics.load(tx, share.account, kind, item, period, visit_filter, events_days=days, group=group)
        # Events tell what the account did, titles of links are notes, and the addresses of files are secrets.
        loaded = replace(loaded, annotations=[], clicks_by_item={}, items={})
        loaded = replace(loaded, imported=0) if kind == "campaign" else loaded
        loaded = statistics.with_places(tx, loaded, period.span, context.settings)
        return statistics.with_baseline(tx, loaded) if has_baseline else loaded

    def compute() -> Loaded:
        _limit(context, share)
        return context.database.read(read)

    labels = tuple(sorted(visit_filter.labels.items()))
    key = (kind, item, has_baseline, period.span, period.preset, period.compared, period.bounds, labels)
    return context.services.results.get(key, compute)


def _limit(context: PageContext, share: Share) -> None:
    """Count a page that is not in the cache. Raises RATE_LIMITED."""
    kind, item = share.key
    if wait := context.rate_limiter.acquire("shared statistics", network=context.network, subject=f"{kind} {item}"):
        raise too_many_attempts(wait)


def _filter(context: PageContext, share: Share) -> VisitFilter:
    """Return the visits that the query asks for. It cannot select an item of an account, or a link of a campaign."""
    kind, item = share.key
    visit_filter = statistics_filter.requested(context, kind, item, ItemGroup())
    return VisitFilter(labels=visit_filter.labels) if kind in (ACCOUNT, "campaign") else visit_filter
