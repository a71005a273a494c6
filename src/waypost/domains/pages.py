"""The pages of branded domains: the table, the records to set and whether they are in force, where a domain leads."""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard import statistics
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Value
from waypost.dashboard.routing import Router
from waypost.domains import ops
from waypost.domains.api import DomainChange, NewDomain, ask, refuse_elsewhere
from waypost.errors import Kind, Problem
from waypost.http import safe_client
from waypost.urls.short_urls import origin

pages = Router()
_LIST = "/dashboard/domains"


@pages.get("/dashboard/domains")
def list_domains(context: PageContext) -> Response:
    page = context.read(lambda tx: ops.page(tx, context.account, context.page_request()))
    return context.render("domains/list.html", page=page, address=_address)


@pages.get("/dashboard/domains/new")
def blank_domain(context: PageContext) -> Response:
    """First the name; then, with `domain` in the query, the records to set and whether they are in force."""
    typed = context.query("domain", most=300).strip()
    form = Form({"domain": typed})
    domain = form.attempt(lambda: _whole(context, typed)) if typed else None
    if domain is None:
        return context.render("domains/name.html", status=400 if typed else 200, form=form)
    return _second_page(context, domain, Form({"domain": domain}))


@pages.post("/dashboard/domains/new")
def add_domain(context: PageContext) -> Response:
    form = context.form()

    def add() -> ops.Domain:
        body = form.read(NewDomain, context.time_zone)
        if context.settings.checks_domains:
            _count_try(context)
        refuse_elsewhere(context, body.domain)
        return context.write(lambda tx: ops.add(tx, context.account, settings=context.settings, **body.sent()))

    domain = form.attempt(add)
    if domain is not None:
        return context.redirect(f"{_LIST}/{domain.id}", said="Your domain is ready. Choose it when you make a link.")
    known = Form({}).attempt(lambda: _whole(context, form.text("domain")))
    if known is None:
        return context.render("domains/name.html", status=400, form=form)
    return _second_page(context, known, form, status=400)


@pages.get("/dashboard/domains/check")
def check_domain(context: PageContext) -> Response:
    """The part of a page that says whether a domain points here; it asks again by itself while it does not."""
    domain = _whole(context, context.query("domain", most=300))
    return context.render("domains/standing.html", domain=domain, standing=_standing(context, domain))


@pages.get("/dashboard/domains/{id:int}")
def edit_domain(context: PageContext, id: int) -> Response:
    domain = context.read(lambda tx: ops.own(tx, context.account, id))
    return _edit_page(context, domain, Form(_values(domain)))


@pages.post("/dashboard/domains/{id:int}")
def save_domain(context: PageContext, id: int) -> Response:
    before = context.read(lambda tx: ops.own(tx, context.account, id))
    form = context.form(now=_values(before))

    def change() -> None:
        fields = form.read(DomainChange, context.time_zone).sent()
        context.save(
            form,
            lambda tx: _values(ops.own(tx, context.account, id)),
            lambda tx: ops.change(tx, context.account, id, settings=context.settings, **fields),
        )

    form.attempt(change)
    if form.faults:
        return _edit_page(context, before, form, status=400)
    return context.redirect(f"{_LIST}/{id}", said="Saved.")


@pages.get("/dashboard/domains/{id:int}/stats")
def domain_statistics(context: PageContext, id: int) -> Response:
    """Visits to names that do not exist on the domain."""
    domain = context.read(lambda tx: ops.own(tx, context.account, id))
    title = f"{domain.host}: names that do not exist"
    return statistics.page(context, "missing", id, title=title, back=f"{_LIST}/{id}")


@pages.get("/dashboard/domains/{id:int}/delete")
def ask_to_delete(context: PageContext, id: int) -> Response:
    def work(tx: Connection) -> tuple[ops.Domain, Mapping[str, int]]:
        domain = ops.own(tx, context.account, id)
        return domain, ops.uses(tx, context.account, domain.host)

    domain, uses = context.read(work)
    return context.render("domains/delete.html", domain=domain, links=uses.get("link", 0), files=uses.get("file", 0))


@pages.post("/dashboard/domains/{id:int}/delete")
def delete_domain(context: PageContext, id: int) -> Response:
    context.write(lambda tx: ops.remove(tx, context.account, id))
    return context.redirect(_LIST, said="The domain is deleted.")


def _second_page(context: PageContext, domain: str, form: Form, *, status: int = 200) -> Response:
    told: dict[str, Any] = {
        "domain": domain,
        "records": _records(context, domain),
        "must": context.settings.checks_domains,
    }
    standing = _standing(context, domain) if context.query("check") else ("", "")
    return context.render("domains/new.html", status=status, form=form, standing=standing, **told)


def _edit_page(context: PageContext, domain: ops.Domain, form: Form, *, status: int = 200) -> Response:
    address = _address(domain)
    told: dict[str, Any] = {"domain": address, "records": _records(context, address), "thing": domain}
    standing = _standing(context, address) if context.query("check") else ("", "")
    return context.render("domains/edit.html", status=status, form=form, standing=standing, **told)


def _standing(context: PageContext, domain: str) -> tuple[str, str]:
    """(`here` or `elsewhere`, why) of a domain, asked now."""
    try:
        _count_try(context)
        ask(context, *ops.parse(domain, context.settings))
    except Problem as problem:
        return "elsewhere", problem.message.partition(" does not: ")[2] or problem.message
    return "here", ""


def _count_try(context: PageContext) -> None:
    """Each look is a request from us to somebody: ten a minute. Raises RATE_LIMITED."""
    if wait := context.services.login_throttle.wait(f"domain {context.account}", context.network):
        raise Problem(Kind.RATE_LIMITED, f"Too many checks. Please wait {wait} seconds.", retry_after=wait)


def _records(context: PageContext, domain: str) -> Sequence[tuple[str, str, str]]:
    """(type, name, value) of the records of which one kind makes a domain point here."""
    host, own = domain.partition("://")[2], context.settings.own_host
    if (address := _ip(own)) is not None:
        return [("AAAA" if address.version == 6 else "A", host, own)]
    try:
        found = [_ip(one) for one in safe_client.resolve(own, 443)]
    except safe_client.Refused:
        found = []
    known = sorted({one for one in found if one is not None and not one.is_loopback}, key=lambda one: one.version)
    addresses = [("AAAA" if one.version == 6 else "A", host, str(one)) for one in known]
    return [("CNAME", host, own), *addresses]


def _ip(text: str) -> Any:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def _whole(context: PageContext, typed: str) -> str:
    """`https://go.example.com` of what a person types, who may leave the beginning away. Raises INVALID."""
    scheme, host = ops.parse(typed if "://" in typed else f"https://{typed}", context.settings)
    return f"{scheme}://{host}"


def _address(domain: ops.Domain) -> str:
    return origin("", domain.host, domain.scheme)


def _values(domain: ops.Domain) -> Mapping[str, Value]:
    """What the editor shows of a domain."""
    return {"redirectroot": domain.redirectroot, "redirect404": domain.redirect404}
