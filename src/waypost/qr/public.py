"""What somebody meets who scans a tracked code: the target, a card, a mail, a call, a message, or a page.

A scan is counted like a click, with its source kept apart (decision 31).
"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost.clicks.classify import classifier
from waypost.clicks.journal import writer as journal
from waypost.errors import Problem
from waypost.qrcode import payloads
from waypost.qrcode.payloads import Content
from waypost.settings import Settings
from waypost.urls.alias_namespace import OWN
from waypost.urls.short_urls import report_url
from waypost.visits.i18n import text
from waypost.visits.lookup import QrView
from waypost.visits.payload_responses import OPEN, app_redirect, payload_download
from waypost.visits.request import VisitRequest
from waypost.visits.responses import NO_STORE, PAGE, PageRenderer, redirect, wants_page
from waypost.visits.visit import VisitService

_WEB = ("http://", "https://")


class Scans:
    """Answers visits of QR codes."""

    def __init__(self, *, settings: Settings, visitor: VisitService, pages: PageRenderer) -> None:
        self._settings = settings
        self._visitor = visitor
        self._pages = pages

    async def answer(self, request: Request, asked: VisitRequest, code: QrView) -> Response:
        """What the code holds. Counted when its picture leads here; whoever types the alias of another sees it too."""
        content = self._content(code)
        if content is None:
            return self._pages.refuse(request, "disabled")
        if await self._is_blocked(content):
            return self._pages.refuse(request, "blocked")
        if code.dynamic:
            self._visitor.write(journal.target_of(code.account, "qr", code.id), asked, journal.SCAN)
        system = classifier.agent(asked.agent.decode("utf-8", "replace")).os
        if content.file:
            return payload_download(content, opens_inline=system == "iOS")
        uri = _uri_for(content, system)
        if not uri:
            return self._page(request, code, content)
        if uri.lower().startswith(_WEB):
            return redirect(uri)
        return app_redirect(self._pages, request, uri, title=_VERBS[content.type], name=content.name)

    async def preview(self, request: Request, code: QrView) -> Response:
        """Where a code leads, without going there (decision 50)."""
        content = self._content(code)
        if content is None or not content.uri:
            return self._pages.refuse(request, "missing")
        if await self._is_blocked(content):
            return self._pages.refuse(request, "blocked")
        if not wants_page(request):
            return JSONResponse({"error": 0, "url": content.uri, "title": code.name}, headers=NO_STORE)
        title = code.name or self._pages.say(request, text("Where this code leads"))
        report = report_url(self._settings.base, OWN, code.alias)
        return self._pages.page(
            "preview.html", request=request, title=title, url=content.uri, alias=code.alias, report=report
        )

    async def _is_blocked(self, content: Content) -> bool:
        forbidden = await self._visitor.blocklist()
        return any(map(forbidden.has, content.urls())) if forbidden.hosts or forbidden.words else False

    def _content(self, code: QrView) -> Content | None:
        """None when a rule of the operator's has changed since the code was made: an app scheme that was allowed."""
        try:
            return payloads.read(code.type, code.data, self._settings)
        except Problem:
            return None

    def _page(self, request: Request, code: QrView, content: Content) -> Response:
        """The content itself, to be read."""
        if wants_page(request):
            kind = text("Wi-Fi") if content.type == "wifi" else text("Text")
            title = code.name or self._pages.say(request, kind)
            return self._pages.page("content.html", request=request, title=title, rows=content.rows, text=content.text)
        return Response(content.text, media_type="text/plain; charset=utf-8", headers=PAGE)


_VERBS = {
    **dict.fromkeys(payloads.TYPES, OPEN),
    "email": text("Write a mail"),
    "phone": text("Call"),
    "sms": text("Write a message"),
    "geo": text("Open the map"),
    "crypto": text("Pay"),
}


def _uri_for(content: Content, system: str) -> str:
    """Where this phone goes."""
    own = {"iOS": content.apple, "Android": content.google}.get(system, "")
    return own or content.uri
