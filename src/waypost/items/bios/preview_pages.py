"""Parts of the bio page builder that scripts and frames load: the preview, and the pictures."""

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from waypost.core import clock
from waypost.core.errors import Problem, not_found
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, parse_id
from waypost.dashboard.i18n import gettext, gettext_noop
from waypost.dashboard.routing import Router
from waypost.items.bios import blocks, form_blocks, ops, pictures
from waypost.items.bios.form import PARTS, design_preview_of, submitted_form, values_of
from waypost.items.bios.pictures import AVATAR, BACKGROUND, IMAGE, THUMBNAIL

pages = Router()
PICTURES = "/dashboard/bios/pictures"
# The parts of which a block needs one to be shown in the preview.
_REQUIRED_PARTS = {
    "link": ("title",),
    "image": ("image", "picture"),
    "social": ("network",),
    "embed": ("url",),
    "heading": ("text",),
    "text": ("text",),
    "vcard": ("id", *PARTS["vcard"]),
}
_GHOSTS = {
    "link": gettext_noop("Link"),
    "heading": gettext_noop("Heading"),
    "text": gettext_noop("Text"),
    "image": gettext_noop("Image"),
    "social": gettext_noop("Profile"),
    "embed": gettext_noop("Video or music"),
    "form": gettext_noop("Form"),
    "vcard": gettext_noop("Contact"),
}
"""The text in the place of an incomplete block, by its type."""
_GHOST_MARK = "\ue000"
_GHOST_STYLE = ".text.ghost{padding:.9rem;border:2px dashed;border-radius:.9rem;opacity:.6}"
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_PLACES = {"avatar": AVATAR, "thumbnail": THUMBNAIL, "background": BACKGROUND, "image": IMAGE}
_IMMUTABLE = {"Content-Type": "image/webp", "Cache-Control": "private, max-age=31536000, immutable"}


@pages.get("/dashboard/bios/phone")
def preview_empty_bio(context: PageContext) -> Response:
    return _preview(context, Form({}))


@pages.post("/dashboard/bios/phone", files=True)
def preview_draft(context: PageContext) -> Response:
    """Return the submitted page as visitors would see it. Nothing is saved."""
    return _preview(context, submitted_form(context, keep_empty=True))


@pages.get("/dashboard/bios/{id:int}/phone")
def preview_saved_bio(context: PageContext, id: int) -> Response:
    return _preview(context, Form(context.read(lambda tx: values_of(ops.get_owned(tx, context.account, id)))))


@pages.get("/dashboard/bios/pictures/{name}")
def show_picture(context: PageContext, name: str) -> Response:
    """Return a picture of one of the account's pages, also of a block that visitors do not see."""
    data = context.read(lambda tx: pictures.find_owned(tx, context.account, name))
    if data is None:
        raise not_found("picture")
    return Response(data, headers=_IMMUTABLE)


@pages.post("/dashboard/bios/pictures", files=True)
def copy_picture(context: PageContext) -> Response:
    """Return our own copy of a picture, which a script puts into the form. Nothing is saved."""
    place = _PLACES.get((context.fields.get("place") or [""])[-1], AVATAR)
    file = context.files.get("picture")
    try:
        if file is None:
            place.rules.must_fit(pictures.MAX_BYTES + 1)
        return JSONResponse({"picture": pictures.own_copy(file or b"", place, context.budget)})
    except Problem as problem:
        form = Form({})
        form.errors["picture"] = f"picture {problem.message.partition(' ')[2]}"
        return JSONResponse({"message": form.describe("picture", gettext("Picture"))}, status_code=400)


def _is_complete(block: Mapping[str, str]) -> bool:
    """Return whether a block of the form has what it needs to be shown."""
    if block["type"] == "form":
        return parse_id(block.get("overlay", "")) is not None
    return any(block.get(part) for part in _REQUIRED_PARTS[block["type"]])


def _block_of_preview(block: Mapping[str, str]) -> dict[str, str]:
    """Return a block as visitors see it, or the placeholder of an incomplete one."""
    if not _is_complete(block):
        return _placeholder(gettext(_GHOSTS[block["type"]]))
    return {part: block.get(part, "") for part in ("type", *PARTS[block["type"]])}


def _placeholder(text: str) -> dict[str, str]:
    return {"type": "text", "text": _GHOST_MARK + text}


def _preview(context: PageContext, form: Form) -> Response:
    """Return the page for the builder's frame: without scripts, and with links that cannot be followed."""
    rows: Any = form["blocks"] or []
    now = clock.now()
    complete_blocks, shown = [], []
    for index, block in enumerate(rows):
        if block["type"] in PARTS and blocks.is_shown(block, now):
            fields = _block_of_preview(block)
            shown.append(str(index))
            complete_blocks.append({**fields, "id": index} if blocks.is_clickable(fields) else fields)
    if not rows:
        complete_blocks.append(_placeholder(gettext("Add a block")))
    forms, sizes = context.read(
        lambda tx: (
            form_blocks.find_forms(tx, context.account, complete_blocks),
            pictures.sizes_of(tx, context.account, complete_blocks),
        )
    )
    own = design_preview_of(form)
    page = context.services.bio_page(
        brand=context.brand,
        forms=forms,
        alias=form.text("alias") or "phone",
        name=form.text("name") or gettext("Name"),
        title=form.text("title"),
        description=form.text("description"),
        theme=form.text("theme"),
        avatar=pictures.url_of(form.text("avatar"), PICTURES),
        design=own and {**own, "picture": pictures.url_of(own["picture"], PICTURES)},
        blocks=pictures.with_urls(complete_blocks, PICTURES),
        picture_sizes={pictures.url_of(name, PICTURES): size for name, size in sizes.items()},
    ).replace("<body>", f'<body inert data-blocks="{" ".join(shown)}">')
    page = page.replace("</style>", f"{_GHOST_STYLE}</style>", 1)
    page = page.replace(f'<p class="text" dir="auto">{_GHOST_MARK}', '<p class="text ghost" dir="auto">')
    style = _STYLE.search(page)
    digest = base64.b64encode(hashlib.sha256((style[1] if style else "").encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data: https: http:; base-uri 'none'"
    headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'self'", "X-Frame-Options": "SAMEORIGIN"}
    return Response(page, media_type="text/html", headers=headers)
