"""OpenTelemetry traces: a span for each request of the API and the dashboard, and one for each of its transactions.

Needs the optional extra `otel`, so this module is imported only if `WAYPOST_TRACES_URL` is set. Names and attributes
follow the semantic conventions for HTTP and databases. Spans contain no path, query, address or account. Visits have
no spans. The SDK reads the standard `OTEL_…` variables, such as those for sampling and headers.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from sqlalchemy import Connection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost import __version__
from waypost.api.threads import RequestThreads
from waypost.db.database import Database

T = TypeVar("T")
RouteOf = Callable[[Scope], str]
"""Returns the route of a request, such as `/api/url/{id}`, or "". Called after the response."""
_EXPORT_SECONDS = 3
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Tracing:
    """The exporter of a worker. A collector that does not answer delays no request: then spans are dropped."""

    def __init__(self, url: str) -> None:
        resource = Resource.create({"service.name": "waypost", "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(url, timeout=_EXPORT_SECONDS)))
        self._tracer = self._provider.get_tracer("waypost", __version__)

    def database(self, url: str) -> Database:
        """Open a database whose transactions have spans."""
        return _TracedDatabase(url, self._tracer)

    def app(self, app: ASGIApp, route_of: RouteOf) -> ASGIApp:
        """Return the app with a span for each request."""
        return _TracedApp(app, self._tracer, route_of)

    def threads(self) -> RequestThreads:
        """Return threads in which the span of the request is the current one."""
        return _ContextThreads()

    def close(self) -> None:
        """Send the last spans, in seconds."""
        self._provider.shutdown()


class _TracedApp:
    def __init__(self, app: ASGIApp, tracer: Tracer, route_of: RouteOf) -> None:
        self._app, self._tracer, self._route_of = app, tracer, route_of
        self._propagator = TraceContextTextMapPropagator()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        attributes = {"http.request.method": method, "url.scheme": scope["scheme"]}
        parent = self._propagator.extract(headers)
        with _span(self._tracer, method, SpanKind.SERVER, attributes, parent) as span:

            async def traced_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _set_status(span, message["status"])
                await send(message)

            await self._app(scope, receive, traced_send)
            if route := self._route_of(scope):
                span.set_attribute("http.route", route)
                span.update_name(f"{method} {route}")


def _span(
    tracer: Tracer, name: str, kind: SpanKind, attributes: Mapping[str, str], parent: Context | None = None
) -> AbstractContextManager[Span]:
    """Start a span. It has no messages of exceptions, which can contain values of users, such as SQL parameters."""
    return tracer.start_as_current_span(
        name,
        context=parent,
        kind=kind,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    )


def _set_status(span: Span, status: int) -> None:
    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_attribute("error.type", str(status))
        span.set_status(StatusCode.ERROR)


class _ContextThreads(RequestThreads):
    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread, with the context variables of the request."""
        return await super().run(partial(copy_context().run, work))


class _TracedDatabase(Database):
    """A database with a span for each transaction of a traced request."""

    def __init__(self, url: str, tracer: Tracer) -> None:
        super().__init__(url)
        self._tracer = tracer
        self._attributes = {"db.system.name": "sqlite" if self.is_sqlite else "postgresql"}

    def read(self, work: Callable[[Connection], T], **options: Any) -> T:
        return self._traced("read", partial(super().read, work, **options))

    def write(self, work: Callable[[Connection], T], **options: Any) -> T:
        return self._traced("write", partial(super().write, work, **options))

    def _traced(self, name: str, transaction: Callable[[], T]) -> T:
        if not trace.get_current_span().is_recording():
            return transaction()
        attributes = {**self._attributes, "db.operation.name": name}
        with _span(self._tracer, f"database {name}", SpanKind.CLIENT, attributes) as span:
            try:
                return transaction()
            except Exception as error:
                span.set_attribute("error.type", type(error).__qualname__)
                raise
