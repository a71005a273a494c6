"""Internal errors of all applications: counted, logged and named in one place, with the id that the client gets."""

import uuid

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.core.metrics import Meter

REQUEST_ID = "waypost.request_id"
"""Key of the request's id in its scope. Every request has one."""
_HEADER = "X-Request-Id"
_log = structlog.get_logger("requests")


class InternalErrors:
    """ASGI middleware around all applications.

    An application answers an exception that it did not expect in its own format and raises it again, so that it is
    counted and logged here. An exception without a response is answered here.
    """

    def __init__(self, app: ASGIApp, meter: Meter) -> None:
        self._app = app
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope[REQUEST_ID] = request_id = uuid.uuid4().hex
        is_started = False

        async def send_identified(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                if message["status"] == 500:
                    headers = MutableHeaders(raw=list(message.get("headers", ())))
                    headers.setdefault(_HEADER, request_id)
                    message["headers"] = headers.raw
            await send(message)

        try:
            await self._app(scope, receive, send_identified)
        except ClientDisconnect:
            response = Response(status_code=400)
        except Exception as error:  # noqa: BLE001  # the outermost edge of a request
            record(self._meter, request_id, error)
            message = f"Internal error. If it happens again, report this request id: {request_id}\n"
            response = Response(message, 500, media_type="text/plain", headers={"Cache-Control": "no-store"})
        else:
            return
        if not is_started:
            await response(scope, receive, send_identified)


def record(meter: Meter, request_id: str, error: Exception) -> None:
    """Count and log the exception that is handled now, which a request did not expect."""
    meter.count("errors")
    _log.exception("request failed", request_id=request_id, error=type(error).__name__)
