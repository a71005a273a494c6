"""The pages of branded domains: the table, the records to set and whether they are in force, where a domain leads."""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.aliases.urls import origin
from waypost.dashboard import statistics
from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form, Value
from waypost.dashboard.pages import Pages
from waypost.domains import ops
from waypost.domains.api import DomainChange, NewDomain, ask, refuse_elsewhere
from waypost.errors import Kind, Problem
from waypost.net import guard

pages = Pages()
_LIST = "/dashboard/domains"


@pages.get("/dashboard/domains")
def list_domains(desk: Desk) -> Response:
    page = desk.read(lambda tx: ops.page(tx, desk.account, desk.window()))
    return desk.page("domains/list.html", page=page, address=_address)


@pages.get("/dashboard/domains/new")
def blank_domain(desk: Desk) -> Response:
    """First the name; then, with `domain` in the query, the records to set and whether they are in force."""
    typed = desk.asked("domain", most=300).strip()
    form = Form({"domain": typed})
    domain = form.attempt(lambda: _whole(desk, typed)) if typed else None
    if domain is None:
        return desk.page("domains/name.html", status=400 if typed else 200, form=form)
    return _second_page(desk, domain, Form({"domain": domain}))


@pages.post("/dashboard/domains/new")
def add_domain(desk: Desk) -> Response:
    form = desk.typed()

    def add() -> ops.Domain:
        body = form.read(NewDomain, desk.zone)
        if desk.settings.checks_domains:
            _count_try(desk)
        refuse_elsewhere(desk, body.domain)
        return desk.write(lambda tx: ops.add(tx, desk.account, settings=desk.settings, **body.sent()))

    domain = form.attempt(add)
    if domain is not None:
        return desk.go(f"{_LIST}/{domain.id}", said="Your domain is ready. Choose it when you make a link.")
    known = Form({}).attempt(lambda: _whole(desk, form.text("domain")))
    if known is None:
        return desk.page("domains/name.html", status=400, form=form)
    return _second_page(desk, known, form, status=400)


@pages.get("/dashboard/domains/check")
def check_domain(desk: Desk) -> Response:
    """The part of a page that says whether a domain points here; it asks again by itself while it does not."""
    domain = _whole(desk, desk.asked("domain", most=300))
    return desk.page("domains/standing.html", domain=domain, standing=_standing(desk, domain))


@pages.get("/dashboard/domains/{id:int}")
def edit_domain(desk: Desk, id: int) -> Response:
    domain = desk.read(lambda tx: ops.own(tx, desk.account, id))
    return _edit_page(desk, domain, Form(_values(domain)))


@pages.post("/dashboard/domains/{id:int}")
def save_domain(desk: Desk, id: int) -> Response:
    before = desk.read(lambda tx: ops.own(tx, desk.account, id))
    form = desk.typed(now=_values(before))

    def change() -> None:
        fields = form.read(DomainChange, desk.zone).sent()
        desk.save(
            form,
            lambda tx: _values(ops.own(tx, desk.account, id)),
            lambda tx: ops.change(tx, desk.account, id, settings=desk.settings, **fields),
        )

    form.attempt(change)
    if form.faults:
        return _edit_page(desk, before, form, status=400)
    return desk.go(f"{_LIST}/{id}", said="Saved.")


@pages.get("/dashboard/domains/{id:int}/stats")
def domain_statistics(desk: Desk, id: int) -> Response:
    """Visits to names that do not exist on the domain."""
    domain = desk.read(lambda tx: ops.own(tx, desk.account, id))
    title = f"{domain.host}: names that do not exist"
    return statistics.page(desk, "missing", id, title=title, back=f"{_LIST}/{id}")


@pages.get("/dashboard/domains/{id:int}/delete")
def ask_to_delete(desk: Desk, id: int) -> Response:
    def work(tx: Connection) -> tuple[ops.Domain, Mapping[str, int]]:
        domain = ops.own(tx, desk.account, id)
        return domain, ops.uses(tx, desk.account, domain.host)

    domain, uses = desk.read(work)
    return desk.page("domains/delete.html", domain=domain, links=uses.get("link", 0), files=uses.get("file", 0))


@pages.post("/dashboard/domains/{id:int}/delete")
def delete_domain(desk: Desk, id: int) -> Response:
    desk.write(lambda tx: ops.remove(tx, desk.account, id))
    return desk.go(_LIST, said="The domain is deleted.")


def _second_page(desk: Desk, domain: str, form: Form, *, status: int = 200) -> Response:
    told: dict[str, Any] = {"domain": domain, "records": _records(desk, domain), "must": desk.settings.checks_domains}
    standing = _standing(desk, domain) if desk.asked("check") else ("", "")
    return desk.page("domains/new.html", status=status, form=form, standing=standing, **told)


def _edit_page(desk: Desk, domain: ops.Domain, form: Form, *, status: int = 200) -> Response:
    address = _address(domain)
    told: dict[str, Any] = {"domain": address, "records": _records(desk, address), "thing": domain}
    standing = _standing(desk, address) if desk.asked("check") else ("", "")
    return desk.page("domains/edit.html", status=status, form=form, standing=standing, **told)


def _standing(desk: Desk, domain: str) -> tuple[str, str]:
    """(`here` or `elsewhere`, why) of a domain, asked now."""
    try:
        _count_try(desk)
        ask(desk, *ops.parse(domain, desk.settings))
    except Problem as problem:
        return "elsewhere", problem.message.partition(" does not: ")[2] or problem.message
    return "here", ""


def _count_try(desk: Desk) -> None:
    """Each look is a request from us to somebody: ten a minute. Raises RATE_LIMITED."""
    if wait := desk.kit.tries.wait(f"domain {desk.account}", desk.network):
        raise Problem(Kind.RATE_LIMITED, f"Too many checks. Please wait {wait} seconds.", retry_after=wait)


def _records(desk: Desk, domain: str) -> Sequence[tuple[str, str, str]]:
    """(type, name, value) of the records of which one kind makes a domain point here."""
    host, own = domain.partition("://")[2], desk.settings.own_host
    if (address := _ip(own)) is not None:
        return [("AAAA" if address.version == 6 else "A", host, own)]
    try:
        found = [_ip(one) for one in guard.resolve(own, 443)]
    except guard.Refused:
        found = []
    known = sorted({one for one in found if one is not None and not one.is_loopback}, key=lambda one: one.version)
    addresses = [("AAAA" if one.version == 6 else "A", host, str(one)) for one in known]
    return [("CNAME", host, own), *addresses]


def _ip(text: str) -> Any:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def _whole(desk: Desk, typed: str) -> str:
    """`https://go.example.com` of what a person types, who may leave the beginning away. Raises INVALID."""
    scheme, host = ops.parse(typed if "://" in typed else f"https://{typed}", desk.settings)
    return f"{scheme}://{host}"


def _address(domain: ops.Domain) -> str:
    return origin("", domain.host, domain.scheme)


def _values(domain: ops.Domain) -> Mapping[str, Value]:
    """What the editor shows of a domain."""
    return {"redirectroot": domain.redirectroot, "redirect404": domain.redirect404}
