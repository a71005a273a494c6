"""The link editor's requests: previews of the social card and the QR code, other links to its destination, names."""

from sqlalchemy import Connection, select
from starlette.responses import JSONResponse, Response

from waypost.core.errors import Kind, Problem, not_found, taken
from waypost.dashboard.context import PageContext, too_many_attempts
from waypost.dashboard.forms import parse_id
from waypost.dashboard.i18n import gettext
from waypost.dashboard.routing import Router
from waypost.db.schema import domains
from waypost.http import safe_client
from waypost.items.links import destination_card, ops
from waypost.items.links.destination_card import Card
from waypost.items.links.form import GROUPS, suggest_groups
from waypost.media.qrcode import render
from waypost.urls import alias_namespace, hostnames
from waypost.urls.alias_namespace import OWN
from waypost.urls.validation import complete_url

pages = Router()


@pages.get("/dashboard/links/names.json")
def list_names(context: PageContext) -> Response:
    """Return names of the account's campaigns or channels that contain the text `q`, for a script of the editor."""
    kind = context.query("kind")
    if kind not in GROUPS:
        raise not_found()
    names = context.read(lambda tx: suggest_groups(tx, context.account, kind, context.query("q")))
    return JSONResponse(names, headers={"Cache-Control": "no-store"})


@pages.post("/dashboard/links/preview")
def show_preview(context: PageContext) -> Response:
    """Return the page with the card. A script takes the card out of it; without scripts it opens in a tab."""
    form = context.form()
    url, own_image = complete_url(form.text("url")), complete_url(form.text("metaimage"))
    if wait := context.rate_limiter.acquire("preview", subject=str(context.account), network=""):
        raise too_many_attempts(wait)
    link = parse_id(form.text("link")) or 0
    same = context.read(lambda tx: ops.find_by_destination(tx, context.account, url, without=link)) if url else None
    with context.resources.fetch_slots.hold(context.account):
        card, error = _read(url) if url else (Card(), "")
        image = own_image or card.image
        image_data = destination_card.image_data(image) if image else ""
    return context.render(
        "links/preview.html",
        form=form,
        url=url,
        card=card,
        error=error,
        image=image_data,
        same=same,
        short_url=context.short_url,
    )


@pages.post("/dashboard/links/qr")
def show_qr_draft(context: PageContext) -> Response:
    """Return the page with the short URL and the QR code of a new link, or why it cannot have this alias."""
    form = context.form()
    url, error = "", ""
    if custom := form.text("custom"):
        try:
            url = context.read(lambda tx: _short_url(tx, context, form.text("domain"), custom))
        except Problem as problem:
            if problem.kind not in (Kind.INVALID, Kind.TAKEN):
                raise
            form.errors[problem.field or ""] = problem.message
            error = form.describe(
                problem.field or "", gettext("Domain") if problem.field == "domain" else gettext("Alias")
            )
    qr_code = render.qr_data_url(url or context.settings.base)
    return context.render("links/qr_draft.html", url=url, qr_code=qr_code, error=error)


def _short_url(tx: Connection, context: PageContext, domain: str, custom: str) -> str:
    """Return the short URL of a new link. Raises INVALID and TAKEN as its creation does."""
    host = hostnames.resolve_domain(tx, context.account, domain, settings=context.settings) if domain else OWN
    alias = alias_namespace.pick(tx, host, custom)
    if alias_namespace.find(tx, host, alias) is not None:
        raise taken("custom", alias_namespace.TAKEN)
    scheme = tx.execute(select(domains.c.scheme).where(domains.c.host == host)).scalar() if host else None
    return context.short_url(ops.Address(0, host, alias, scheme))


def _read(url: str) -> tuple[Card, str]:
    """Return the card of the destination, or why it could not be read."""
    try:
        return destination_card.read(url), ""
    except safe_client.Unreachable:
        return Card(), gettext("The destination does not answer.")
    except safe_client.Refused as refused:
        return Card(), gettext("The destination could not be read: %(reason)s.", reason=gettext(str(refused)))
    except Problem as problem:
        return Card(), gettext(problem.message)
