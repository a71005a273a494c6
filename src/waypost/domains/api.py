"""`/domains` and `/domain/…` (API document, section Branded domains; decisions 39 and 41)."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from waypost.api import pagination
from waypost.api.context import Context, RequestContext
from waypost.api.date_range import RequestedSpan
from waypost.api.request_body import Body
from waypost.api.responses import CreatedResponse, MessageResponse, ReportResponse, Success
from waypost.api.types import PathId, Url
from waypost.domains import ops, ownership_check
from waypost.urls.short_urls import origin

router = APIRouter(tags=["Branded domains"])


class DomainOut(BaseModel):
    """A branded domain, as the API document shows it."""

    id: int
    domain: str
    redirectroot: str
    redirect404: str


class DomainDetails(Success):
    details: DomainOut


class NewDomain(Body):
    domain: Url
    redirectroot: Url | None = None
    redirect404: Url | None = None
    ignorecase: bool | None = None


class DomainChange(Body):
    redirectroot: Url | None = None
    redirect404: Url | None = None
    ignorecase: bool | None = None


@router.get("/domains", response_model=pagination.list_model("domains", DomainOut))
def list_domains(context: Context, page_request: pagination.RequestedPage) -> Any:
    return pagination.list_response(
        "domains", context.read(lambda tx: ops.page(tx, context.account, page_request)), _shown
    )


@router.get("/domain/{id}")
def read_domain(context: Context, id: PathId) -> DomainDetails:
    return DomainDetails(details=_shown(context.read(lambda tx: ops.get_owned(tx, context.account, id))))


@router.get("/domain/{id}/stats")
def domain_statistics(context: Context, id: PathId, span: RequestedSpan) -> ReportResponse:
    """Visits to names that do not exist on the domain."""
    context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return ReportResponse(data=context.read_report("missing", id, span))


@router.post("/domain/add")
def add_domain(context: Context, body: NewDomain) -> CreatedResponse:
    refuse_elsewhere(context, body.domain)
    return context.change(
        lambda tx: ops.add(tx, context.account, settings=context.settings, **body.sent()),
        lambda domain: CreatedResponse(id=domain.id),
    )


@router.put("/domain/{id}/update")
def update_domain(context: Context, id: PathId, body: DomainChange) -> MessageResponse:
    return context.change(
        lambda tx: ops.change(tx, context.account, id, settings=context.settings, **body.sent()),
        lambda _: MessageResponse(message="Domain has been updated successfully."),
    )


@router.delete("/domain/{id}/delete")
def delete_domain(context: Context, id: PathId) -> MessageResponse:
    return context.change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Domain has been deleted successfully."),
    )


def _shown(domain: ops.Domain) -> DomainOut:
    address = origin("", domain.host, domain.scheme)
    return DomainOut(id=domain.id, domain=address, redirectroot=domain.redirectroot, redirect404=domain.redirect404)


def refuse_elsewhere(context: RequestContext, domain: str) -> None:
    """Ask the domain itself where it points, before and outside the transaction that adds it (decision 39)."""
    scheme, host = ops.parse(domain, context.settings)
    if context.settings.checks_domains:
        ask(context, scheme, host)


def ask(context: RequestContext, scheme: str, host: str) -> None:
    """Raise INVALID on `domain` unless it points at this service now."""
    challenge = ownership_check.new_challenge()
    expected = context.read(lambda tx: ownership_check.proof(tx, challenge))
    ownership_check.must_point_here(scheme, host, challenge=challenge, expected=expected)
