"""What somebody meets who scans a tracked code: the target, a card, a mail, a call, a message, or a page.

A scan is counted like a click, with its source kept apart (decision 31).
"""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost.aliases.namespace import OWN
from waypost.clicks import classify, journal
from waypost.errors import Problem
from waypost.files import names
from waypost.qr import payloads
from waypost.qr.payloads import Content
from waypost.settings import Settings
from waypost.visits.asked import URL_SAFE, Asked
from waypost.visits.find import Code
from waypost.visits.languages import text
from waypost.visits.pages import NO_STORE, PAGE, Pages, redirect, wants_page
from waypost.visits.reports import address_of_report
from waypost.visits.visit import Visitor

_FILES = {"vcard": ("text/vcard; charset=utf-8", ".vcf"), "event": ("text/calendar; charset=utf-8", ".ics")}
_WEB = ("http://", "https://")


class Scans:
    """Answers visits of QR codes."""

    def __init__(self, *, settings: Settings, visitor: Visitor, pages: Pages) -> None:
        self._settings = settings
        self._visitor = visitor
        self._pages = pages

    async def answer(self, request: Request, asked: Asked, code: Code) -> Response:
        """What the code holds. Counted when its picture leads here; whoever types the alias of another sees it too."""
        content = self._content(code)
        if content is None:
            return self._pages.refuse(request, "disabled")
        if await self._is_blocked(content):
            return self._pages.refuse(request, "blocked")
        if code.dynamic:
            self._visitor.write(journal.target_of(code.account, "qr", code.id), asked, journal.SCAN)
        system = classify.agent(asked.agent.decode("utf-8", "replace")).os
        if content.file:
            return handed(content, opens_inline=system == "iOS")
        uri = _uri_for(content, system)
        if not uri:
            return self._page(request, code, content)
        if uri.lower().startswith(_WEB):
            return redirect(uri)
        return opened(self._pages, request, uri, title=_VERBS[content.type], name=content.name)

    async def preview(self, request: Request, code: Code) -> Response:
        """Where a code leads, without going there (decision 50)."""
        content = self._content(code)
        if content is None or not content.uri:
            return self._pages.refuse(request, "missing")
        if await self._is_blocked(content):
            return self._pages.refuse(request, "blocked")
        if not wants_page(request):
            return JSONResponse({"error": 0, "url": content.uri, "title": code.name}, headers=NO_STORE)
        title = code.name or self._pages.say(request, text("Where this code leads"))
        report = address_of_report(self._settings, OWN, code.alias)
        return self._pages.page(
            "preview.html", request=request, title=title, url=content.uri, alias=code.alias, report=report
        )

    async def _is_blocked(self, content: Content) -> bool:
        forbidden = await self._visitor.blocked()
        return any(map(forbidden.has, content.urls())) if forbidden.hosts or forbidden.words else False

    def _content(self, code: Code) -> Content | None:
        """None when a rule of the operator's has changed since the code was made: an app scheme that was allowed."""
        try:
            return payloads.read(code.type, code.data, self._settings)
        except Problem:
            return None

    def _page(self, request: Request, code: Code, content: Content) -> Response:
        """The content itself, to be read."""
        if wants_page(request):
            kind = text("Wi-Fi") if content.type == "wifi" else text("Text")
            title = code.name or self._pages.say(request, kind)
            return self._pages.page("content.html", request=request, title=title, rows=content.rows, text=content.text)
        return Response(content.text, media_type="text/plain; charset=utf-8", headers=PAGE)


_OPEN = text("Open it")
_VERBS = {
    **dict.fromkeys(payloads.TYPES, _OPEN),
    "email": text("Write a mail"),
    "phone": text("Call"),
    "sms": text("Write a message"),
    "geo": text("Open the map"),
    "crypto": text("Pay"),
}


def opened(pages: Pages, request: Request, uri: str, *, title: str = _OPEN, name: str = "") -> Response:
    """A redirect to the app for it, and for programs that have none a page with the same link."""
    page = pages.page("opened.html", request=request, status=302, title=pages.say(request, title), uri=uri, name=name)
    page.headers["Location"] = quote(uri, safe=URL_SAFE)
    return page


def _uri_for(content: Content, system: str) -> str:
    """Where this phone goes."""
    own = {"iOS": content.apple, "Android": content.google}.get(system, "")
    return own or content.uri


def handed(content: Content, *, opens_inline: bool) -> Response:
    """A card or an event. iOS shows it at once unless it is a download; elsewhere a download opens the app for it."""
    media, ending = _FILES[content.type]
    told = names.disposition(f"{content.name[:60].strip() or content.type}{ending}")
    if opens_inline:
        told = told.replace("attachment", "inline", 1)
    headers = {**NO_STORE, "Content-Disposition": told, "X-Content-Type-Options": "nosniff"}
    return Response(content.file, media_type=media, headers=headers)
