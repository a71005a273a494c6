"""What visitors send by an overlay: a message, an address, a vote.

Nothing here is done by the right of a cookie, so there is nothing that a forged request could borrow. What it needs is
a ticket, which only our page with that overlay has.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from urllib.parse import parse_qs

import anyio.to_thread
import email_validator
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost import clock
from waypost.db.database import Database
from waypost.http.attempt_limiter import Limit
from waypost.http.client_ip import network_of
from waypost.interstitials import csp
from waypost.interstitials.form_token import FormTokens
from waypost.overlays import submissions
from waypost.overlays.submissions import Sent
from waypost.settings import Settings
from waypost.visits import interstitials
from waypost.visits.decide import Why
from waypost.visits.i18n import text
from waypost.visits.interstitials import Overlay
from waypost.visits.request import address, body
from waypost.visits.responses import NO_STORE, PageRenderer, wants_page
from waypost.visits.visit import VisitService
from waypost.webhooks import Webhooks

_THANKS, _SENT = text("Thank you"), text("It has been sent.")
_MOST_BODY = 32_768  # bytes: a message of 5000 characters, each of them percent-encoded, and a long URL
_NUMBER = re.compile(r"[0-9]{1,15}\Z")
_MOST_LINE, _MOST_TEXT = 255, 5000


class Answers:
    """Takes what is sent, within limits by network and by overlay."""

    def __init__(
        self, *, settings: Settings, database: Database, visitor: VisitService, pages: PageRenderer, tickets: FormTokens
    ) -> None:
        self._settings = settings
        self._database = database
        self._visitor = visitor
        self._pages = pages
        self._tickets = tickets
        self._hooks = Webhooks()
        self._guesses = visitor.attempt_limiter

    async def take(self, request: Request) -> Response:
        """Keep what a form sent, say thanks, and show the way on."""
        posted = await self._posted(request)
        if posted is None:
            return self._pages.refuse(request, "missing")
        if (await self._visitor.blocklist()).has(posted.url):
            return self._pages.refuse(request, "blocked")
        # A field that people never see: only programs fill it in, and they need not know what we make of it.
        why = None if posted.form.get("website") else await self._try(request, posted)
        return self._pages.refuse(request, why) if why else self._thank(request, posted)

    async def _posted(self, request: Request) -> "_Posted | None":
        """What came, if it is from a form of ours."""
        form = await _form(request)
        item, link, url = request.path_params["overlay"], form.get("link", ""), form.get("url", "")
        if not (_NUMBER.match(item) and _NUMBER.match(link)):
            return None
        if not await self._tickets.fits(form.get("ticket", ""), overlay=int(item), link=int(link), url=url):
            return None
        overlay = await anyio.to_thread.run_sync(self._database.read, lambda tx: interstitials.overlay(tx, int(item)))
        return (
            _Posted(overlay, int(link), url, form)
            if overlay and overlay.type in interstitials.OVERLAYS_WITH_FORM
            else None
        )

    async def _try(self, request: Request, posted: "_Posted") -> Why | None:
        """Keep it; else why not."""
        sent = _sent(posted.overlay, posted.form)
        if sent is None:
            return "unclear"
        network = network_of(address(request, self._settings))
        overlay = f"overlay {posted.overlay.id}"
        tries = (Limit(f"answers to {overlay} from {network}", 5), Limit(f"answers to {overlay}", 300))
        if await anyio.to_thread.run_sync(self._guesses.acquire, *tries):
            return "flood"
        return None if await self._keep(posted.overlay, sent, posted.link) else "flood"

    async def _keep(self, overlay: Overlay, sent: Sent, link: int) -> bool:
        kept = await anyio.to_thread.run_sync(
            self._database.write, lambda tx: submissions.add(tx, overlay.account, overlay.id, sent, link=link)
        )
        if kept and overlay.webhook:
            about = {"overlay": overlay.id, "type": overlay.type, "link": link, "date": clock.text(clock.now())}
            self._hooks.tell(overlay.webhook, {**about, **asdict(sent)})
        return kept

    def _thank(self, request: Request, posted: "_Posted") -> Response:
        words = posted.overlay.thanks or self._pages.say(request, _SENT)
        if not wants_page(request):
            return JSONResponse({"error": 0, "message": words}, headers=NO_STORE)
        title = self._pages.say(request, _THANKS)
        return self._pages.page(
            "thanks.html", request=request, headers=csp.headers(), title=title, words=words, url=posted.url
        )


@dataclass(frozen=True)
class _Posted:
    """A form that came from a page of ours, and where its visitor was going."""

    overlay: Overlay
    link: int
    url: str
    form: Mapping[str, str]


def _sent(overlay: Overlay, form: Mapping[str, str]) -> Sent | None:
    """What the overlay asks for, in bounds; None when it is not all there."""
    if overlay.type == "poll":
        choice = form.get("choice", "")
        return Sent(choice=choice) if choice in overlay.options else None
    name, message = form.get("name", "").strip(), form.get("message", "").strip()
    try:
        email = email_validator.validate_email(form.get("email", "").strip(), check_deliverability=False).normalized
    except email_validator.EmailNotValidError:
        return None
    if overlay.type == "newsletter":
        return Sent(email=email)
    fits = len(name) <= _MOST_LINE and name.isprintable() and 0 < len(message) <= _MOST_TEXT
    return Sent(name=name, email=email, message=message) if fits and "\x00" not in message else None


async def _form(request: Request) -> dict[str, str]:
    """The fields of the form, the first of each name; nothing of a body that is too large."""
    sent = await body(request, most=_MOST_BODY)
    try:
        fields = parse_qs(sent.decode("ascii"), errors="strict", max_num_fields=20)
    except ValueError:
        return {}
    return {name: values[0].replace("\r\n", "\n") for name, values in fields.items()}
