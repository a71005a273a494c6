"""Responses that deliver a payload: a redirect into an app, a contact card or a calendar event."""

from starlette.requests import Request
from starlette.responses import Response

from waypost.core.uris import to_uri
from waypost.http import file_names
from waypost.http.middleware import NOSNIFF
from waypost.media.qrcode.payloads import Content
from waypost.visits.i18n import translatable
from waypost.visits.responses import NO_STORE, PageRenderer

_FILES = {"vcard": ("text/vcard; charset=utf-8", ".vcf"), "event": ("text/calendar; charset=utf-8", ".ics")}
_MAX_NAME = 60
_POLICY = "default-src 'none'; sandbox"
OPEN = translatable("Open")


def app_redirect(pages: PageRenderer, request: Request, uri: str, *, title: str = OPEN, name: str = "") -> Response:
    """Redirect to an app. The body is a page with the same link, for clients without that app."""
    title, uri = pages.translate(request, title), to_uri(uri)
    response = pages.page("app_link.html", request=request, status=302, title=title, uri=uri, name=name)
    response.headers["Location"] = uri
    return response


def payload_download(content: Content, *, opens_inline: bool) -> Response:
    """Send a contact card or an event.

    iOS displays it if it is inline; on other systems a download opens the right app.
    """
    media_type, suffix = _FILES[content.type]
    disposition = file_names.disposition(f"{content.name[:_MAX_NAME].strip() or content.type}{suffix}")
    if opens_inline:
        disposition = disposition.replace("attachment", "inline", 1)
    headers = {**NO_STORE, "Content-Disposition": disposition, **NOSNIFF, "Content-Security-Policy": _POLICY}
    return Response(content.file, media_type=media_type, headers=headers)
