"""The API of bio pages: `/bios` and `/bio/…` (decision 45)."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from sqlalchemy import Connection

from waypost.api import pagination
from waypost.api.context import Change, Context, RequestContext
from waypost.api.request_body import Partial
from waypost.api.responses import MessageResponse, ReportResponse
from waypost.api.types import PathId, RequestedSpan
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import StatisticsBlock
from waypost.items.bios import blocks, ops, pictures
from waypost.items.bios.schemas import BioAnswer, BioChange, BioDetails, BioDone, BioOut, BlockClicks, NewBio
from waypost.urls.short_urls import short_url

router = APIRouter(tags=["Bio pages"])


@router.get("/bios", response_model=pagination.list_model("bios", BioOut))
def list_bio_pages(context: Context, page_request: pagination.RequestedPage) -> Any:
    """List bio pages, newest first."""
    page = context.read_after_ingest(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("bios", page, lambda bio: BioOut(**_fields(bio, context)))


@router.get("/bio/{id}")
def read_bio_page(context: Context, id: PathId) -> BioAnswer:
    """Read a bio page with its blocks and statistics."""

    def work(tx: Connection) -> tuple[ops.Bio, StatisticsBlock, Mapping[int, tuple[int, int]]]:
        bio = ops.get_owned(tx, context.account, id)
        return (
            bio,
            reports.block(tx, context.account, "bio", id, clicks=bio.clicks, uniques=bio.uniqueclicks),
            ops.block_clicks(tx, context.account, id),
        )

    bio, data, clicks = context.read_after_ingest(work)
    sent = [{name: value for name, value in block.items() if name != "id"} for block in bio.blocks]
    url = _url(bio, context)
    shown = {
        "avatar": pictures.url_of(bio.avatar, url),
        "design": bio.design and {**bio.design, "picture": pictures.url_of(bio.design["picture"], url)},
        "blocks": pictures.with_urls(sent, url),
    }
    details = BioDetails(**{**_fields(bio, context), **shown})
    clickable = [block for block in bio.blocks if "id" in block]
    return BioAnswer(details=details, data=data, blocks=[_block_clicks(block, clicks) for block in clickable])


@router.get("/bio/{id}/stats")
def read_bio_page_statistics(context: Context, id: PathId, span: RequestedSpan) -> ReportResponse:
    """Read the visits of a bio page over time and by dimension."""
    context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return ReportResponse(data=context.read_report("bio", id, span))


@router.post("/bio/add")
def create_bio_page(context: Context, body: NewBio) -> Change[BioDone]:
    """Create a bio page."""
    fields: Any = pictures.fields_of(context, body.sent())
    return Change(
        lambda tx: ops.add(tx, context.account, settings=context.settings, **fields),
        lambda bio: BioDone(id=bio.id, shorturl=_url(bio, context)),
    )


@router.put("/bio/{id}/update")
def update_bio_page(context: Context, id: PathId, body: Partial[BioChange]) -> Change[MessageResponse]:
    """Update a bio page.

    Fields that are not sent keep their values; `null` sets the default. `blocks` replaces all blocks; those with the
    same destination or title keep their clicks.
    """
    context.read(lambda tx: ops.get_owned(tx, context.account, id))  # fetch no picture for a page of another account
    fields: Any = pictures.fields_of(context, body.sent())
    return Change(
        lambda tx: ops.change(tx, context.account, id, settings=context.settings, **fields),
        lambda _: MessageResponse(message="Bio page has been updated successfully."),
    )


@router.delete("/bio/{id}/delete")
def delete_bio_page(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete a bio page. Its alias stays reserved for your account."""
    return Change(
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
