"""Outcomes of visits as ASGI responses."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from waypost.visits.outcome import Content, Deferred, NeedsRequest, Outcome, Page, Redirection
from waypost.visits.request import VisitRequest
from waypost.visits.responses import redirect
from waypost.visits.visitor_services import Services


async def respond(request: Request, services: Services, visit: VisitRequest, outcome: Outcome) -> Response:
    """Log a visit, and return the response to it."""
    if isinstance(outcome, Deferred):
        outcome = await _result(outcome)
    assert not isinstance(outcome, Content | Deferred), "a download needs a request here"
    for fields in outcome.log:
        services.visits.log_visit(fields.target, visit, fields.flags)
    if isinstance(outcome, NeedsRequest):
        return await outcome.handle(request, services, visit)
    if isinstance(outcome, Page):
        return outcome.render(request, services.pages)
    if isinstance(outcome, Redirection):
        services.meter.count("redirects", "full")
        return redirect(outcome.url, status=303 if request.method == "POST" else 302)
    return services.pages.refuse(request, outcome.reason)


async def _result(deferred: Deferred) -> Outcome:
    """Return the outcome, once the database has responded."""
    future: asyncio.Future[Outcome | BaseException] = asyncio.get_running_loop().create_future()
    deferred.begin(lambda result: None if future.done() else future.set_result(result))
    outcome = await future
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
