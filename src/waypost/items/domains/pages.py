"""Pages of branded domains: the list, the DNS records to create and their check, and the redirects of a domain."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.core import ip_networks, setting_urls
from waypost.core.errors import Kind, Problem
from waypost.dashboard import statistics, trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import gettext
from waypost.dashboard.routing import Router
from waypost.db.crud import Page
from waypost.http import safe_client
from waypost.items.domains import domain_checks, ops
from waypost.items.domains.api import DomainChange, NewDomain, ask, refuse_elsewhere, refuse_other_elsewhere
from waypost.items.domains.ownership_check import NotPointingHere
from waypost.urls import hostnames
from waypost.urls.short_urls import origin

pages = Router()
_LIST = "/dashboard/domains"
_UNCHECKED = ("", "")
_SHAPE = Shape(flags=("ignorecase", "alsowww"), urls=("redirectroot", "redirect404"))


@pages.get("/dashboard/domains")
def list_domains(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Page[ops.Domain], Mapping[str, int], Mapping[int, str]]:
        page, account = ops.page(tx, context.account, context.page_request()), context.account
        problems = domain_checks.problems(tx, account, [domain.id for domain in page.items])
        return page, ops.link_counts(tx, account, [domain.host for domain in page.items]), problems

    page, counts, problems = context.read(work)
    shown = problems if context.settings.checks_domains else {}
    return context.render_list("domains/list.html", page, addresses=_addresses, link_counts=counts, problems=shown)


@pages.get("/dashboard/domains/new")
def blank_domain(context: PageContext) -> Response:
    """Ask for the host name; with `domain` in the query, show the DNS records to create and their check."""
    value = context.query("domain", max_length=300).strip()
    form = Form({"domain": value})
    domain = form.attempt(lambda: _parse(context, value)) if value else None
    if domain is None:
        return context.render("domains/host.html", status=400 if value else 200, form=form)
    return _records_page(context, domain, Form({"domain": domain}))


@pages.post("/dashboard/domains/new", resumable=True)
def add_domain(context: PageContext) -> Response:
    form = context.form(_SHAPE)

    def add() -> ops.Domain:
        context.reject_resumed()
        body = form.read(NewDomain, context.time_zone, _SHAPE)
        if context.settings.checks_domains:
            _count_check(context)
        refuse_elsewhere(context, body)
        return context.write(lambda tx: ops.add(tx, context.account, settings=context.settings, **body.sent()))

    domain = form.attempt(add)
    if domain is not None:
        message = "Your domain is ready. Select it when you create a link."
        return context.redirect(f"{_LIST}/{domain.id}", message=message)
    parsed = Form({}).attempt(lambda: _parse(context, form.text("domain")))
    if parsed is None:
        return context.render("domains/host.html", status=400, form=form)
    return _records_page(context, parsed, form, status=400)


@pages.get("/dashboard/domains/check", snapshot=False)
def check_domain(context: PageContext) -> Response:
    """Show whether a domain points to this server; pages fetch this part every ten seconds until it does."""
    form = Form({"domain": context.query("domain", max_length=300).strip()})
    domain = form.attempt(lambda: _parse(context, form.text("domain")))
    if domain is None:
        return context.render("domains/host.html", status=400 if form["domain"] else 200, form=form)
    return context.render("domains/check.html", domain=domain, result=_check(context, domain))


@pages.get("/dashboard/domains/{id:int}", snapshot=False)
def edit_domain(context: PageContext, id: int) -> Response:
    domain = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return _edit_page(context, domain, Form(_values(domain)))


@pages.post("/dashboard/domains/{id:int}", resumable=True)
def save_domain(context: PageContext, id: int) -> Response:
    domain = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    form = context.form(_SHAPE, current=_values(domain))

    def stored(tx: Connection) -> Mapping[str, Value]:
        return _values(ops.get_owned(tx, context.account, id))

    if not (
        form.attempt(lambda: _ask_other_host(context, domain, form))
        and context.update(form, DomainChange, ops.change, id, stored, _SHAPE, settings=context.settings)
    ):
        return _edit_page(context, domain, form, status=400)
    return context.redirect(f"{_LIST}/{id}", message="Saved.")


@pages.get("/dashboard/domains/{id:int}/stats")
def show_statistics(context: PageContext, id: int) -> Response:
    domain = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return statistics.page(context, "domain", id, title=domain.host, back=f"{_LIST}/{id}")


@pages.get("/dashboard/domains/{id:int}/unknown")
def show_unknown_aliases(context: PageContext, id: int) -> Response:
    """Show visits to unknown aliases of the domain."""
    domain = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    title = gettext("%(host)s: visits to unknown aliases", host=domain.host)
    return statistics.page(context, "missing", id, title=title, back=f"{_LIST}/{id}", back_label="Domain")


@pages.get("/dashboard/domains/{id:int}/delete")
def confirm_delete(context: PageContext, id: int) -> Response:
    def work(tx: Connection) -> tuple[ops.Domain, Mapping[str, int]]:
        domain = ops.get_owned(tx, context.account, id)
        return domain, ops.uses(tx, context.account, domain.host)

    domain, uses = context.read(work)
    return context.render("domains/delete.html", domain=domain, links=uses.get("link", 0), files=uses.get("file", 0))


@pages.post("/dashboard/domains/{id:int}/delete")
def delete_domain(context: PageContext, id: int) -> Response:
    return trash.delete(context, "domain", [id], trash.one_by_one(ops.remove), singular="The domain was deleted.")


def _ask_other_host(context: PageContext, domain: ops.Domain, form: Form) -> bool:
    """Check the host with or without `www.` before the domain answers it, too; then return True."""
    body = form.read(DomainChange, context.time_zone, _SHAPE)
    if body.alsowww and not domain.alsowww and context.settings.checks_domains:
        _count_check(context)
    refuse_other_elsewhere(context, domain.id, body)
    return True


def _records_page(context: PageContext, domain: str, form: Form, *, status: int = 200) -> Response:
    return context.render(
        "domains/new.html",
        status=status,
        form=form,
        origin=domain,
        other=_other_host(context, domain.partition("://")[2]),
        records=_records(context, [domain.partition("://")[2]]),
        result=_check(context, domain) if context.query("check") else _UNCHECKED,
        is_check_required=context.settings.checks_domains,
    )


def _edit_page(context: PageContext, domain: ops.Domain, form: Form, *, status: int = 200) -> Response:
    domain_origin = origin("", domain.host, domain.scheme)
    return context.render(
        "domains/edit.html",
        status=status,
        form=form,
        domain=domain,
        origin=domain_origin,
        other=_other_host(context, domain.host),
        records=_records(context, domain.hosts),
        result=_check(context, domain_origin) if context.query("check") else _UNCHECKED,
    )


def _check(context: PageContext, domain: str) -> tuple[str, str]:
    """Check whether a domain, with all its hosts, points to this server. Return `ok` or `failed`, and the reason."""
    try:
        _count_check(context)
        scheme, host = ops.parse(domain, context.settings)
        for name in context.read(lambda tx: ops.hosts_of(tx, context.account, host)):
            ask(context, scheme, name)
    except NotPointingHere as problem:
        return "failed", problem.reason
    except Problem as problem:
        return "failed", problem.message
    return "ok", ""


def _count_check(context: PageContext) -> None:
    """Count a check, which sends a request to another server. Raises RATE_LIMITED after ten in a minute."""
    if wait := context.rate_limiter.acquire("form", subject=f"domain {context.account}", network=context.network):
        raise Problem(Kind.RATE_LIMITED, f"Too many checks. Please wait {wait} seconds.", retry_after=wait)


def _records(context: PageContext, hosts: Sequence[str]) -> Sequence[tuple[str, str, str]]:
    """Return (type, name, value) of the DNS records; any one type makes a host of the domain point to this server.

    There are none if every machine takes the host of the base URL for itself, as it does `localhost`.
    """
    own_host = context.settings.own_host
    if setting_urls.is_local(own_host):
        return []
    if (address := ip_networks.parse(own_host.strip("[]"))) is not None:
        return [("AAAA" if address.version == 6 else "A", host, own_host) for host in hosts]
    try:
        resolved = {ip_networks.parse(text) for text in safe_client.resolve(own_host, 443)}
    except safe_client.Refused:
        resolved = set()
    others = sorted((ip for ip in resolved if ip and not ip_networks.is_loopback(ip)), key=lambda ip: ip.version)
    records = [("CNAME", own_host), *(("AAAA" if ip.version == 6 else "A", str(ip)) for ip in others)]
    return [(kind, host, value) for host in hosts for kind, value in records]


def _parse(context: PageContext, text: str) -> str:
    """Return `https://go.example.com` for user input that may lack the scheme. Raises INVALID."""
    scheme, host = ops.parse(text if "://" in text else f"https://{text}", context.settings)
    return f"{scheme}://{host}"


def _addresses(domain: ops.Domain) -> Sequence[str]:
    return [origin("", host, domain.scheme) for host in domain.hosts]


def _other_host(context: PageContext, host: str) -> str:
    """Return the host with or without `www.` that the domain can answer too; "" if there is none."""
    other = hostnames.other_host(host)
    return "" if other in context.settings.own_hosts else other


def _values(domain: ops.Domain) -> Mapping[str, Value]:
    """Return the values that the editor shows."""
    return {
        "redirectroot": domain.redirectroot,
        "redirect404": domain.redirect404,
        "ignorecase": "on" if domain.ignorecase else "",
        "alsowww": "on" if domain.alsowww else "",
    }
