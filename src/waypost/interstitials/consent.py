"""Consent to tracking pixels: the visitor's answer, stored in a cookie per address and set of providers.

A page with pixels can have no origin (decision 72), so the server sets the cookie.
"""

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from waypost.db import moved_items
from waypost.interstitials.render import CONSENT_COOKIE, CONSENT_PURPOSE, interstitial_response
from waypost.interstitials.select import Consent, consent_scope
from waypost.visits.link_record import LinkView, find_link
from waypost.visits.record_queries import without_blocked_link
from waypost.visits.request import read_visit
from waypost.visits.responses import redirect
from waypost.visits.visitor_services import Services

_ANSWERS: dict[str, Consent] = {"yes": "yes", "no": "no"}
_COOKIE_SECONDS = 180 * 86_400


async def answer_consent(request: Request, services: Services) -> Response:
    """`GET /pixel/consent?ticket=…&answer=yes`: store the answer, and show the visit's page again without counting."""
    signer = await services.signer.get()
    values = signer.unsign(CONSENT_PURPOSE, request.query_params.get("ticket", ""))
    answer = _ANSWERS.get(request.query_params.get("answer", ""))
    if values is None or answer is None:
        return services.pages.refuse(request, "missing")
    account, item, path, url = values
    link = await services.read(lambda tx: _find(tx, int(account), int(item)))
    if link is None:
        return services.pages.refuse(request, "missing")
    if link.status == "disabled":
        return services.pages.refuse(request, "disabled")
    blocked = await services.visits.blocklist()
    if blocked.blocks(url):
        return services.pages.refuse(request, "blocked")
    link = without_blocked_link(link, blocked)
    visit = await read_visit(request, link.alias, services.settings)
    page = await interstitial_response(request, services, visit, link, url, path=path, answer=answer)
    response = page or redirect(url)
    if link.interstitials is not None:
        response.set_cookie(
            CONSENT_COOKIE,
            f"{answer}.{consent_scope(link.interstitials.pixels)}",
            max_age=_COOKIE_SECONDS,
            path=path,
            secure=services.settings.secure_cookies,
            httponly=True,
            samesite="lax",
        )
    return response


def _find(tx: Connection, account: int, item: int) -> LinkView | None:
    """Return the link, also if it was moved to another account since its page was shown."""
    link = find_link(tx, account, item)
    owner = moved_items.owner(tx, "link", item) if link is None else None
    return link if owner is None else find_link(tx, owner, item)
