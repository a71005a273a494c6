"""Answers that hand over a payload: a redirect into an app, or a vCard or calendar file."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from waypost.http import file_names
from waypost.qrcode.payloads import Content
from waypost.visits.i18n import text
from waypost.visits.request import URL_SAFE
from waypost.visits.responses import NO_STORE, PageRenderer

_FILES = {"vcard": ("text/vcard; charset=utf-8", ".vcf"), "event": ("text/calendar; charset=utf-8", ".ics")}
OPEN = text("Open it")


def app_redirect(pages: PageRenderer, request: Request, uri: str, *, title: str = OPEN, name: str = "") -> Response:
    """A redirect to the app for it, and for programs that have none a page with the same link."""
    page = pages.page("opened.html", request=request, status=302, title=pages.say(request, title), uri=uri, name=name)
    page.headers["Location"] = quote(uri, safe=URL_SAFE)
    return page


def payload_download(content: Content, *, opens_inline: bool) -> Response:
    """A card or an event. iOS shows it at once unless it is a download; elsewhere a download opens the app for it."""
    media, ending = _FILES[content.type]
    told = file_names.disposition(f"{content.name[:60].strip() or content.type}{ending}")
    if opens_inline:
        told = told.replace("attachment", "inline", 1)
    headers = {**NO_STORE, "Content-Disposition": told, "X-Content-Type-Options": "nosniff"}
    return Response(content.file, media_type=media, headers=headers)
