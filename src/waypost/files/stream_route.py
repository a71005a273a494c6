"""The route of uploads: a lingering close for early responses, and idempotency keys."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import anyio.to_thread
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from waypost.api import idempotency
from waypost.api.context import REQUEST_CONTEXT, RequestContext
from waypost.api.responses import problem_response, validation_problem
from waypost.errors import Problem
from waypost.http.lingering_close import BodyTracker, LingeringResponse


class StreamRoute(APIRoute):
    """A route with a large body. A response before the end of the body uses a lingering close, so that it arrives."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            body_tracker = BodyTracker(request)
            try:
                response = await _respond_once(request, lambda: handler(Request(request.scope, body_tracker)))
                return response if body_tracker.is_complete else LingeringResponse(response, body_tracker)
            except RequestValidationError as error:
                return LingeringResponse(problem_response(validation_problem(error)), body_tracker)
            except Problem as problem:
                return LingeringResponse(problem_response(problem), body_tracker)

        return handle


async def _respond_once(request: Request, respond: Callable[[], Coroutine[Any, Any, Response]]) -> Response:
    """Return the stored response of an upload with an idempotency key, else receive it (decision 78)."""
    context = request.scope.get(REQUEST_CONTEXT)
    claim = context.claim if isinstance(context, RequestContext) else None
    if context is None or claim is None:
        return await respond()
    digest = idempotency.digest_of_upload(request)
    take = partial(idempotency.take, context.database, claim, digest, seconds=idempotency.LONG_CLAIM_SECONDS)
    stored = await anyio.to_thread.run_sync(take)
    if stored is not None:
        return stored
    try:
        return await respond()
    finally:
        release = partial(context.database.write, claim.release, durability="relaxed", autocommit=True)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(release)
