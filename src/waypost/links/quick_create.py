"""Quick create: the short form for a new link. It asks before it creates a second link to the same destination."""

from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard import qr_image
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.links import duplicates, ops


def find_existing(tx: Connection, account: int, form: Form, fields: dict[str, Any]) -> ops.Link | None:
    """Return the newest link to the destination of a new one, or None.

    None also if the form is another one, has an alias, or was sent again to create another link.
    """
    if not form.text("ask") or form.text("custom") or "url" in form.errors:
        return None
    existing = duplicates.find_by_destination(tx, account, fields["url"])
    return None if existing is None or form.text("another") == str(existing.id) else existing


def respond(context: PageContext, form: Form, link: ops.Address | ops.Link | None) -> Response:
    """Return the form again: with its errors, with the existing link, or empty and with the new link."""
    place, template = form.text("quick"), "links/quick_create.html"
    if link is None:
        return context.render(template, status=400, place=place, form=form, link=None)
    kept = form if isinstance(link, ops.Link) else None
    qr_code = qr_image.qr_data_url(context.short_url(link))
    return context.render(template, place=place, form=kept, link=link, qr_code=qr_code)
