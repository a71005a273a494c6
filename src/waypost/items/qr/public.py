"""Scans of tracked QR codes: redirect, contact card, calendar event, app link, or a page with the content.

A scan counts like a click, with its source recorded separately (decision 31).
"""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from waypost.clicks import journal
from waypost.clicks.classify import classifier
from waypost.media.qrcode import payloads
from waypost.media.qrcode.payloads import Content
from waypost.urls.alias_namespace import OWN
from waypost.urls.blocklist import Blocklist
from waypost.urls.short_urls import report_url
from waypost.visits.alias import AliasKind
from waypost.visits.i18n import translatable
from waypost.visits.outcome import JournalFields, NeedsRequest, Outcome, Redirection, Refused
from waypost.visits.record_queries import QrView
from waypost.visits.request import VisitRequest
from waypost.visits.responses import OPEN, PAGE_HEADERS, WEB_SCHEMES, app_redirect, payload_download, wants_page
from waypost.visits.visit import VisitService
from waypost.visits.visitor_services import Services

_APP_TITLES = {
    **dict.fromkeys(payloads.TYPES, OPEN),
    "email": translatable("Write an e-mail"),
    "phone": translatable("Call"),
    "sms": translatable("Write a message"),
    "geo": translatable("Open the map"),
    "crypto": translatable("Pay"),
}


def visit_qr(_visits: VisitService, visit: VisitRequest, qr: QrView, _blocked: Blocklist) -> Outcome:
    """Return the outcome of a scan. Only scans of a dynamic code count, since only it encodes this alias."""
    content = qr.content
    if content is None:
        return Refused("disabled")
    if qr.is_blocked:
        return Refused("blocked")
    log = (JournalFields(journal.item_fields(qr.account, "qr", qr.id), journal.SCAN),) if qr.dynamic else ()
    uri = "" if content.file else _uri(visit, content)
    if uri.lower().startswith(WEB_SCHEMES):
        return Redirection(uri, log, is_constant=qr.dynamic and qr.type == "link")
    return NeedsRequest(partial(_deliver, qr=qr, content=content, uri=uri), log)


async def preview_qr(request: Request, services: Services, qr: QrView) -> Response:
    """Show the destination without a visit (decision 50)."""
    content = qr.content
    if content is None or not content.uri:
        return services.pages.refuse(request, "missing")
    if qr.is_blocked:
        return services.pages.refuse(request, "blocked")
    report = report_url(services.settings.base, OWN, None, qr.alias)
    default_title = translatable("QR code preview")
    return services.pages.preview(
        request, url=content.uri, alias=qr.alias, title=qr.name, report=report, default_title=default_title
    )


async def _deliver(
    request: Request, services: Services, visit: VisitRequest, *, qr: QrView, content: Content, uri: str
) -> Response:
    """Return content that is no web page."""
    if content.file:
        return payload_download(content, opens_inline=classifier.agent(visit.agent_text).os == "iOS")
    if not uri:
        return _content_page(request, services, qr, content)
    response = app_redirect(services.pages, request, uri, title=_APP_TITLES[content.type], name=content.name)
    services.meter.count("redirects", "full", response.status_code == 302)
    return response


def _uri(visit: VisitRequest, content: Content) -> str:
    """Return the destination for the visitor's system; "" for content that is only text."""
    if content.apple or content.google:
        system = classifier.agent(visit.agent_text).os
        return {"iOS": content.apple, "Android": content.google}.get(system, "") or content.uri
    return content.uri


def _content_page(request: Request, services: Services, qr: QrView, content: Content) -> Response:
    """Show content that is only text, such as Wi-Fi credentials."""
    if not wants_page(request):
        return Response(content.text, media_type="text/plain; charset=utf-8", headers=PAGE_HEADERS)
    kind = translatable("Wi-Fi") if content.type == "wifi" else translatable("Text")
    title = qr.name or services.pages.translate(request, kind)
    return services.pages.page("qr_content.html", request=request, title=title, rows=content.rows, text=content.text)


QR_CODES = AliasKind(QrView, preview_qr, lambda _: False, visit_qr)
