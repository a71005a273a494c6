"""The link editor's preview: how social networks show the link, and the links that exist for its destination."""

from starlette.responses import Response

from waypost.dashboard.context import PageContext, too_many_attempts
from waypost.dashboard.forms import complete_url, parse_id
from waypost.dashboard.i18n import gettext
from waypost.dashboard.routing import Router
from waypost.errors import Problem
from waypost.http import safe_client
from waypost.links import duplicates, social_card
from waypost.links.social_card import Card

pages = Router()


@pages.post("/dashboard/links/preview")
def show_preview(context: PageContext) -> Response:
    """Return the page with the card. A script takes the card out of it; without scripts it opens in a tab."""
    form = context.form()
    url, own_image = complete_url(form.text("url")), complete_url(form.text("metaimage"))
    if wait := context.rate_limiter.acquire("preview", subject=str(context.account), network=""):
        raise too_many_attempts(wait)
    link = parse_id(form.text("link")) or 0
    same = (
        context.read(lambda tx: duplicates.find_by_destination(tx, context.account, url, without=link)) if url else None
    )
    card, error = _read(url) if url else (Card(), "")
    image = own_image or card.image
    return context.render(
        "links/preview.html",
        form=form,
        url=url,
        card=card,
        error=error,
        image=social_card.image_data(image) if image else "",
        same=same,
        short_url=context.short_url,
    )


def _read(url: str) -> tuple[Card, str]:
    """Return the card of the destination, or why it could not be read."""
    try:
        return social_card.read(url), ""
    except safe_client.Refused as refused:
        return Card(), gettext("The destination could not be read: %(reason)s.", reason=str(refused))
    except Problem as problem:
        return Card(), problem.message
