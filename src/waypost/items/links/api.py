"""The API of links: `/urls` and `/url/…` (decisions 42 to 44)."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlalchemy import Connection

from waypost.api import pagination
from waypost.api.context import Change, Context, JoinedChange, RequestContext
from waypost.api.request_body import Partial
from waypost.api.responses import MessageResponse, ReportResponse
from waypost.api.types import MultilineText, PathId, RequestedSpan
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import StatisticsBlock
from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.db.crud import Page
from waypost.items.links import bulk, list_search, ops
from waypost.items.links.schemas import (
    FoundLink,
    LinkAnswer,
    LinkChange,
    LinkDetails,
    LinkDone,
    LinkNotFound,
    LinkOut,
    LinkSearchData,
    LinkUpdated,
    NewLink,
)
from waypost.search import words
from waypost.urls.short_urls import origin

router = APIRouter(tags=["Links"])


@router.get("/urls", response_model=pagination.list_model("urls", LinkOut) | FoundLink | LinkNotFound)
def list_links(
    context: Context,
    page_request: pagination.RequestedPage,
    order: Annotated[
        str, Query(description="`click`: most clicked first; anything else: newest first.", examples=["click"])
    ] = "date",
    q: Annotated[
        MultilineText,
        Query(
            max_length=255,
            description="Only links whose title, destination, alias or description contains it, in any case and Unicode"
            " form, or whose short URL or `/alias` begins with it.",
            examples=["sale"],
        ),
    ] = "",
    short: Annotated[
        MultilineText | None,
        Query(
            max_length=8192,
            description="Return the link with this short URL or alias instead of a list.",
            examples=["https://go.example.com/spring"],
        ),
    ] = None,
) -> Any:
    """List links, or find one by its short URL.

    With `short`, one link is returned with its statistics. If there is none, the status is 200 and `error` is 1.
    """
    if short is not None:
        return _find_link(context, short)
    by: list_search.Order = "click" if order == "click" else "date"

    def work(tx: Connection) -> Page[ops.Link]:
        short = words.short_url(tx, context.account, q, settings=context.settings)
        return list_search.page(tx, context.account, page_request, order=by, q=q, short=short)

    page = context.read_after_ingest(work)
    return pagination.list_response("urls", page, lambda link: LinkOut(**listed_fields(link, context)))


@router.get("/url/{id}")
def read_link(context: Context, id: PathId) -> LinkAnswer:
    """Read a link with its statistics."""
    return _link_answer(context, lambda _: id)


@router.get("/url/{id}/stats")
def read_link_statistics(context: Context, id: PathId, span: RequestedSpan) -> ReportResponse:
    """Read the visits of a link over time and by dimension."""
    context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return ReportResponse(data=context.read_report("link", id, span))


@router.post("/url/add")
def create_link(context: Context, body: NewLink) -> Change[LinkDone]:
    """Create a link."""
    fields: Any = body.sent()
    return JoinedChange(
        lambda tx, items: bulk.add_many(tx, context.account, items, settings=context.settings),
        fields,
        lambda link: LinkDone(**_address(link, context)),
    )


@router.put("/url/{id}/update")
def update_link(context: Context, id: PathId, body: Partial[LinkChange]) -> Change[LinkUpdated]:
    """Update a link.

    Fields that are not sent keep their values; `null` sets the default. The change is in effect within a second.
    """
    fields: Any = body.sent()
    if body.clicklimit is not None:
        context.require_ingest()  # earlier clicks count toward the new limit
    return JoinedChange(
        lambda tx, each: bulk.change_each(tx, context.account, each, settings=context.settings),
        (id, fields),
        lambda link: LinkUpdated(**_address(link, context), message="Link has been updated successfully."),
    )


@router.delete("/url/{id}/delete")
def delete_link(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete a link. Its alias stays reserved for your account."""
    return JoinedChange(
        lambda tx, ids: bulk.remove_each(tx, context.account, ids),
        id,
        lambda _: MessageResponse(message="Link has been deleted successfully."),
    )


def _address(link: ops.Address, context: RequestContext) -> dict[str, Any]:
    url = context.short_url(link)
    return {"id": link.id, "shorturl": url, "short": url}


def _find_link(context: RequestContext, short: str) -> FoundLink | LinkNotFound:
    try:
        answer = _link_answer(
            context, lambda tx: ops.find_by_alias(tx, context.account, short, settings=context.settings)
        )
    except Problem as problem:
        if problem.kind is not Kind.NOT_FOUND:
            raise
        return LinkNotFound(error=1, message=problem.message)
    item = LinkOut.model_validate(answer.details, from_attributes=True)
    return FoundLink(details=answer.details, data=LinkSearchData(**vars(answer.data), result=1, urls=[item]))


def _link_answer(context: RequestContext, find: Callable[[Connection], int]) -> LinkAnswer:
    """Return the link that `find` finds, with its details and statistics, read in one transaction."""

    def work(tx: Connection) -> tuple[ops.Link, ops.Details, StatisticsBlock]:
        link, details = ops.get_details(tx, context.account, find(tx))
        block = reports.block(tx, context.account, "link", link.id, clicks=link.clicks, uniques=link.uniqueclicks)
        return link, details, block

    link, details, block = context.read_after_ingest(work)
    settings = {**vars(details), "expiry": "" if details.expiry is None else clock.text(details.expiry)}
    return LinkAnswer(details=LinkDetails(**listed_fields(link, context), **settings), data=block)


def listed_fields(link: ops.Link, context: RequestContext) -> dict[str, Any]:
    """Return the fields of a link in a list."""
    return {
        **vars(link),
        "shorturl": context.short_url(link),
        "longurl": link.url,
        "domain": origin(context.settings.base, link.host, link.scheme),
        "date": link.created,
    }
