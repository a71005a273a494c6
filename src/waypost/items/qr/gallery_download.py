"""The codes of the gallery as one ZIP archive, in the formats and sizes of single downloads."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection
from starlette.responses import Response, StreamingResponse

from waypost.dashboard import trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import gettext, ngettext
from waypost.http import file_names
from waypost.items.qr import export, ops
from waypost.items.qr.export import Member
from waypost.media.qrcode.render import Format

MAX_CODES = 500
"""Codes in an archive. Each is drawn while the archive is sent, so memory holds one image at a time."""
SIZES: Mapping[str, tuple[Format, int]] = {"svg": ("svg", 512), "png": ("png", 1024), "pdf": ("pdf", 142)}
"""Format, and width in pixels or points, by the value of a button or parameter."""
_LIST = "/dashboard/qr"


def of_selected(context: PageContext, ids: Sequence[int], kind: str) -> Response:
    """Return the codes with these ids; those that were deleted are left out."""
    if len(ids) > MAX_CODES:
        return _refuse_so_many(context)
    members = context.read(lambda tx: export.of_codes(tx, context.account, ids))
    if not members:
        return context.redirect(_LIST, message=trash.skipped_message("qr", len(set(ids))), tone="bad")
    return _archive(context, members, kind)


def of_search(context: PageContext, q: str, kind: str) -> Response:
    """Return all codes that match the search of the gallery."""

    def read(tx: Connection) -> tuple[int, Sequence[Member]]:
        page = ops.page(tx, context.account, context.page_request(MAX_CODES), words=context.search_words(tx, q))
        return page.result, export.of_codes(tx, context.account, [code.id for code in page.items])

    count, members = context.read(read)
    if count > MAX_CODES:
        return _refuse_so_many(context)
    if not members:
        return context.redirect(_LIST, message="No QR codes found", tone="bad")
    return _archive(context, members, kind)


def _archive(context: PageContext, members: Sequence[Member], kind: str) -> Response:
    files = export.zip_stream(export.images(context, members, *SIZES[kind]))
    headers = {"Content-Disposition": file_names.attachment(gettext("QR codes"), "zip")}
    return StreamingResponse(files, media_type="application/zip", headers=headers)


def _refuse_so_many(context: PageContext) -> Response:
    message = ngettext(
        "A ZIP file can have at most %(count)s QR code. Search for it, or select it.",
        "A ZIP file can have at most %(count)s QR codes. Search for some of them, or select them.",
        MAX_CODES,
    )
    return context.redirect(_LIST, message=message, tone="bad")
