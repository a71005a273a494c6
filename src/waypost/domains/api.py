"""`/domains` and `/domain/…` (API document, section Branded domains; decisions 39 and 41)."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from waypost.aliases.urls import origin
from waypost.api import lists
from waypost.api.answers import Created, Done, Success
from waypost.api.bodies import Body, JsonRoute
from waypost.api.door import Came, Door
from waypost.api.fields import PathId, Target
from waypost.api.spans import AskedSpan
from waypost.clicks.api import ReportAnswer, read_report
from waypost.domains import check, ops

router = APIRouter(route_class=JsonRoute, tags=["Branded domains"])


class DomainOut(BaseModel):
    """A branded domain, as the API document shows it."""

    id: int
    domain: str
    redirectroot: str
    redirect404: str


class DomainDetails(Success):
    details: DomainOut


class NewDomain(Body):
    domain: Target
    redirectroot: Target | None = None
    redirect404: Target | None = None


class DomainChange(Body):
    redirectroot: Target | None = None
    redirect404: Target | None = None


@router.get("/domains", response_model=lists.envelope("domains", DomainOut))
def list_domains(door: Came, asked: lists.Asked) -> Any:
    return lists.answer("domains", door.read(lambda tx: ops.page(tx, door.account, asked)), _shown)


@router.get("/domain/{id}")
def read_domain(door: Came, id: PathId) -> DomainDetails:
    return DomainDetails(details=_shown(door.read(lambda tx: ops.own(tx, door.account, id))))


@router.get("/domain/{id}/stats")
def domain_statistics(door: Came, id: PathId, span: AskedSpan) -> ReportAnswer:
    """Visits to names that do not exist on the domain."""
    door.read(lambda tx: ops.own(tx, door.account, id))
    return ReportAnswer(data=read_report(door, "missing", id, span))


@router.post("/domain/add")
def add_domain(door: Came, body: NewDomain) -> Created:
    refuse_elsewhere(door, body.domain)
    domain = door.write(lambda tx: ops.add(tx, door.account, settings=door.settings, **body.sent()))
    return Created(id=domain.id)


@router.put("/domain/{id}/update")
def update_domain(door: Came, id: PathId, body: DomainChange) -> Done:
    door.write(lambda tx: ops.change(tx, door.account, id, settings=door.settings, **body.sent()))
    return Done(message="Domain has been updated successfully.")


@router.delete("/domain/{id}/delete")
def delete_domain(door: Came, id: PathId) -> Done:
    door.write(lambda tx: ops.remove(tx, door.account, id))
    return Done(message="Domain has been deleted successfully.")


def _shown(domain: ops.Domain) -> DomainOut:
    address = origin("", domain.host, domain.scheme)
    return DomainOut(id=domain.id, domain=address, redirectroot=domain.redirectroot, redirect404=domain.redirect404)


def refuse_elsewhere(door: Door, domain: str) -> None:
    """Ask the domain itself where it points, before and outside the transaction that adds it (decision 39)."""
    scheme, host = ops.parse(domain, door.settings)
    if door.settings.checks_domains:
        ask(door, scheme, host)


def ask(door: Door, scheme: str, host: str) -> None:
    """Raise INVALID on `domain` unless it points at this service now."""
    challenge = check.new_challenge()
    expected = door.read(lambda tx: check.proof(tx, challenge))
    check.must_point_here(scheme, host, challenge=challenge, expected=expected)
