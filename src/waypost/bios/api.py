"""The API of bio pages: `/bios` and `/bio/…` (decision 45)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from waypost.api import pagination
from waypost.api.context import Context, RequestContext
from waypost.api.date_range import RequestedSpan
from waypost.api.request_body import Body
from waypost.api.responses import MessageResponse, ReportResponse, Success
from waypost.api.types import Line, Name, Paragraph, PathId, Timestamp, Url
from waypost.bios import blocks, ops
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import StatisticsBlock
from waypost.urls.short_urls import short_url

router = APIRouter(tags=["Bio pages"])


class BioOut(BaseModel):
    """A bio page, as lists show it."""

    id: int
    name: str
    alias: str
    shorturl: str
    title: str
    description: str
    theme: str
    clicks: int
    uniqueclicks: int
    date: Timestamp


class BioDetails(BioOut):
    """A bio page with its blocks as they were sent."""

    blocks: list[dict[str, Any]]
    sensitive: bool


class BlockClicks(BaseModel):
    """The clicks of a block. Its short URL is `shorturl`/`id`."""

    id: int
    type: str
    title: str
    url: str
    clicks: int
    uniqueClicks: int  # noqa: N815  # the name in all statistics


class BioAnswer(Success):
    """A bio page with its statistics. `blocks` contains the clickable blocks in the order of the page."""

    details: BioDetails
    data: StatisticsBlock
    blocks: list[BlockClicks]


class BioDone(Success):
    id: int
    shorturl: str


class _LinkBlock(Body):
    type: Literal["link"]
    title: Name
    url: Url


class _TextBlock(Body):
    type: Literal["heading", "text"]
    text: Annotated[Paragraph, Field(min_length=1)]


class _ImageBlock(Body):
    type: Literal["image"]
    image: Url
    link: Url = ""
    alt: Annotated[Line, Field(description="Alternative text of the picture.")] = ""


class _SocialBlock(Body):
    type: Literal["social"]
    network: Name
    url: Url


class CardBlock(Body):
    """A contact card (decision 32)."""

    type: Literal["vcard"]
    fname: Line = ""
    lname: Line = ""
    org: Line = ""
    title: Line = ""
    phone: Line = ""
    cell: Line = ""
    fax: Line = ""
    email: Line = ""
    site: Url = ""
    street: Line = ""
    city: Line = ""
    state: Line = ""
    zip: Line = ""
    country: Line = ""


_Block = Annotated[_LinkBlock | _TextBlock | _ImageBlock | _SocialBlock | CardBlock, Field(discriminator="type")]


_Theme = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9-]{1,32}$",
        description="default, ocean, forest, sunset, paper or mono. Follows the system setting of the visitor"
        " unless it ends with -light or -dark. Any other value means default.",
    ),
]


class BioChange(Body):
    name: Name = ""
    alias: Annotated[Line, Field(min_length=1)] | None = None
    title: Line | None = None
    description: Paragraph | None = None
    theme: _Theme | None = None
    blocks: Annotated[list[_Block], Field(max_length=200)] | None = None
    sensitive: Annotated[bool, Field(description="Warn visitors before they see the page.")] | None = None

    def sent(self) -> dict[str, Any]:
        """Return the fields that the body contains, with blocks as dicts."""
        return self.model_dump(exclude_unset=True)


class NewBio(BioChange):
    name: Name


@router.get("/bios", response_model=pagination.list_model("bios", BioOut))
def list_bios(context: Context, page_request: pagination.RequestedPage) -> Any:
    page = context.read_after_ingest(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("bios", page, lambda bio: BioOut(**_fields(bio, context)))


@router.get("/bio/{id}")
def read_bio(context: Context, id: PathId) -> BioAnswer:
    def work(tx: Connection) -> tuple[ops.Bio, StatisticsBlock, Mapping[int, tuple[int, int]]]:
        bio = ops.get_owned(tx, context.account, id)
        return bio, reports.block(tx, "bio", id, clicks=bio.clicks, uniques=bio.uniqueclicks), ops.block_clicks(tx, id)

    bio, data, clicks = context.read_after_ingest(work)
    sent = [{name: value for name, value in block.items() if name != "id"} for block in bio.blocks]
    details = BioDetails(**{**_fields(bio, context), "blocks": sent})
    clickable = [block for block in bio.blocks if "id" in block]
    return BioAnswer(details=details, data=data, blocks=[_block_clicks(block, clicks) for block in clickable])


@router.get("/bio/{id}/stats")
def bio_statistics(context: Context, id: PathId, span: RequestedSpan) -> ReportResponse:
    """Return the visits of a bio page over time and by dimension."""
    context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return ReportResponse(data=context.read_report("bio", id, span))


@router.post("/bio/add")
def add_bio(context: Context, body: NewBio) -> BioDone:
    return context.change(
        lambda tx: ops.add(tx, context.account, settings=context.settings, **body.sent()),
        lambda bio: BioDone(id=bio.id, shorturl=_url(bio, context)),
    )


@router.put("/bio/{id}/update")
def update_bio(context: Context, id: PathId, body: BioChange) -> MessageResponse:
    return context.change(
        lambda tx: ops.change(tx, context.account, id, settings=context.settings, **body.sent()),
        lambda _: MessageResponse(message="Bio page has been updated successfully."),
    )


@router.delete("/bio/{id}/delete")
def delete_bio(context: Context, id: PathId) -> MessageResponse:
    return context.change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Bio page has been deleted successfully."),
    )


def _url(bio: ops.Bio, context: RequestContext) -> str:
    return short_url(context.settings.base, "", None, bio.alias)


def _fields(bio: ops.Bio, context: RequestContext) -> dict[str, Any]:
    return {**vars(bio), "shorturl": _url(bio, context), "date": bio.created}


def _block_clicks(block: blocks.Block, clicks: Mapping[int, tuple[int, int]]) -> BlockClicks:
    count, uniques = clicks.get(block["id"], (0, 0))
    title, url = blocks.title_of(block), blocks.url_of(block)
    return BlockClicks(id=block["id"], type=block["type"], title=title, url=url, clicks=count, uniqueClicks=uniques)
