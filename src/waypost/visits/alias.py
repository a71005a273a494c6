"""`/<alias>`: resolve an alias, and pass the visit to the noun that it belongs to."""

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from waypost.urls.short_urls import alias_path
from waypost.visits import writers
from waypost.visits.host_routes import missing_log, unknown_outcome
from waypost.visits.outcome import Refused, Rule
from waypost.visits.record_queries import Resolved
from waypost.visits.request import VisitRequest, read_visit, request_host
from waypost.visits.responses import redirect
from waypost.visits.visitor_services import Handler, Services


@dataclass(frozen=True)
class AliasKind:
    """How visits to one kind of record are handled: a link, QR code, file or bio page."""

    record: type[Resolved]
    preview: Callable[[Request, Services, Any], Awaitable[Response]]
    accepts_form: Callable[[Any], bool]
    """Returns whether the page of a record has a form: for a password, or for a content warning."""
    rule: Rule | None = None
    """Returns the outcome of a visit. None if the rule has a state, which waypost.server.app creates."""


def alias_handler(kinds: Iterable[AliasKind]) -> Handler:
    """Return the handler of `/<alias>`, and of `/<alias>+` for previews."""
    by_record: dict[type, AliasKind] = {kind.record: kind for kind in kinds}

    async def handle_alias(request: Request, services: Services) -> Response:
        started = time.perf_counter()
        alias = request.path_params["alias"]
        handle = _preview if alias.endswith("+") else _visit
        try:
            return await handle(request, services, alias.removesuffix("+"), by_record)
        finally:
            services.meter.time("visit", time.perf_counter() - started)

    return handle_alias


def domain_alias_handler(handle_alias: Handler, image: Handler) -> Handler:
    """Return the handler of every path of a branded domain: an alias, or `<alias>/qr` for its QR code.

    Aliases can contain slashes. An alias that ends with `/qr` is that alias.
    """

    async def handle_path(request: Request, services: Services) -> Response:
        path, visits = request.path_params["alias"], services.visits
        host = request_host(request)
        preview = "+" if path.endswith("+") else ""
        alias = await visits.canonical_alias(host, path.removesuffix("+"))
        if alias.endswith("/qr") and not preview and await visits.resolve(host, alias) is None:
            request.path_params["alias"] = alias.removesuffix("/qr")
            return await image(request, services)
        request.path_params["alias"] = alias + preview
        return await handle_alias(request, services)

    return handle_path


async def _visit(request: Request, services: Services, alias: str, kinds: dict[type, AliasKind]) -> Response:
    visit = await read_visit(request, alias, services.settings)
    record = await services.visits.resolve(visit.host, visit.alias)
    blocked = await services.visits.blocklist()
    if record is None:
        domain = await services.visits.find_domain(visit.host)
        return await writers.respond(request, services, visit, unknown_outcome(visit, domain, blocked))
    if request.method == "POST" and not kinds[type(record)].accepts_form(record):
        # There is no form, and a visit is a GET (decision 47).
        query = f"?{request.url.query}" if request.url.query else ""
        return redirect(f"{alias_path(visit.alias)}{query}", status=303)
    rule = services.rules[type(record)]
    return await writers.respond(request, services, visit, rule(services.visits, visit, record, blocked))


async def respond_missing(request: Request, services: Services, visit: VisitRequest) -> Response:
    """Log a visit to something else than an alias that is not there, and return the error page."""
    domain = await services.visits.find_domain(visit.host)
    log = () if domain is None else missing_log(domain)
    return await writers.respond(request, services, visit, Refused("missing", log))


async def _preview(request: Request, services: Services, alias: str, kinds: dict[type, AliasKind]) -> Response:
    """Show the destination of an alias without a visit (decision 50)."""
    host = request_host(request)
    record = await services.visits.resolve(host, alias)
    if record is None:
        return services.pages.refuse(request, "missing")
    return await kinds[type(record)].preview(request, services, record)
