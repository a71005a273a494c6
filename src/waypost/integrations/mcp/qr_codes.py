"""Tools for QR codes."""

import base64
from collections.abc import Sequence
from typing import Annotated, Literal

import mcp_types as types
from pydantic import ConfigDict, Field, PrivateAttr
from sqlalchemy import Connection

from waypost.api.types import ItemId
from waypost.core.errors import not_found
from waypost.integrations.mcp.tool import Arguments, Result, Tool, ToolContext
from waypost.items.links import ops as links
from waypost.items.qr import api, ops
from waypost.items.qr.ops import Draft
from waypost.items.qr.schemas import NewCode
from waypost.media.qrcode.render import MEDIA, design
from waypost.media.qrcode.styles import LEAST_SIZE, PLAIN

_MOST_SIZE = 1024


class ShowQrCode(Arguments):
    """Arguments of show_qr_code."""

    subject: Annotated[
        Literal["qr", "link"], Field(description="`qr`: a QR code with its style. `link`: a plain code of a link.")
    ]
    id: Annotated[ItemId, Field(description="Id of the QR code or the link.")]
    size: Annotated[int, Field(ge=LEAST_SIZE, le=_MOST_SIZE, description="Width and height in pixels.")] = 512


class QrPicture(Result):
    """A QR code, which is shown as an image."""

    _image: bytes = PrivateAttr(default=b"")

    content: str = Field(description="The text in the image.")
    url: str = Field(description="URL of the image.")

    def blocks(self) -> Sequence[types.ContentBlock]:
        """Return the image."""
        return [types.ImageContent(type="image", data=base64.b64encode(self._image).decode(), mime_type=MEDIA["png"])]

    @classmethod
    def drawn(cls, draft: Draft, size: int, *, url: str) -> "QrPicture":
        """Draw a code."""
        picture = cls(content=draft.text, url=url)
        picture._image = design(draft.text, draft.style, draft.logo).render("png", size)
        return picture


class CreateQrCode(NewCode):
    """Arguments of create_qr_code."""

    model_config = ConfigDict(extra="forbid")


class QrAddress(Result):
    """The id and the image of a QR code."""

    id: int = Field(description="Id of the QR code.")
    url: str = Field(description="URL of the image.")


def show_qr_code(context: ToolContext, arguments: ShowQrCode) -> QrPicture:
    """Show the image of a QR code, or of a plain QR code of a short link, as PNG."""
    settings, item = context.settings, arguments.id

    def of_code(tx: Connection) -> tuple[Draft, str]:
        draft = ops.saved(tx, context.account, item, settings)
        if draft is None:
            raise not_found("QR code")
        return draft, api.picture_url(draft.alias, context)

    def of_link(tx: Connection) -> tuple[Draft, str]:
        link = links.get_owned(tx, context.account, item)
        url = context.short_url(link)
        return Draft(link.alias, {}, url, PLAIN, None), f"{url}/qr"

    draft, url = context.read(of_code if arguments.subject == "qr" else of_link)
    return QrPicture.drawn(draft, arguments.size, url=url)


def create_qr_code(context: ToolContext, arguments: CreateQrCode) -> QrAddress:
    """Create a QR code for a URL, a text, a contact card, an e-mail, a phone number, a message or a Wi-Fi network.

    Tracked types, such as `link`, count scans and can be changed after printing. A style that scanners cannot read is
    rejected. Use show_qr_code to see the image.
    """
    done = context.run(api.create_qr_code(context, arguments))
    return QrAddress(id=done.id, url=done.link)


TOOLS = (
    Tool("Show a QR code", "read", show_qr_code),
    Tool("Create a QR code", "create", create_qr_code, is_open_world=True),
)
