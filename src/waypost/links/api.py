"""The API of links: `/urls` and `/url/…` (decisions 42 to 44)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from waypost import clock, credentials
from waypost.api import pagination
from waypost.api.context import Context, RequestContext
from waypost.api.date_range import RequestedSpan
from waypost.api.request_body import Body
from waypost.api.responses import MessageResponse, ReportResponse, Success
from waypost.api.types import (
    Expiry,
    ItemId,
    Line,
    MultilineText,
    Paragraph,
    PathId,
    Positive,
    Timestamp,
    Url,
    one_message,
)
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import StatisticsBlock
from waypost.errors import Kind, Problem
from waypost.links import ops, search
from waypost.links.columns import Status
from waypost.urls.short_urls import origin

router = APIRouter(tags=["Links"])


class LinkOut(BaseModel):
    """A short link, as lists show it."""

    id: int
    alias: str
    shorturl: str
    longurl: str
    title: str
    description: str
    clicks: int
    uniqueclicks: int
    domain: str
    campaign: int | None
    channel: list[int]
    date: Timestamp


class LinkDetails(LinkOut):
    """A short link with all its settings."""

    status: Status
    type: str
    password: bool
    expiry: str
    clicklimit: int | None
    expiryurl: str
    metatitle: str
    metadescription: str
    metaimage: str
    geotarget: list[dict[str, str]]
    devicetarget: list[dict[str, str]]
    languagetarget: list[dict[str, str]]
    deeplink: dict[str, str]
    parameters: list[dict[str, str]]
    pixels: list[int]


class LinkAnswer(Success):
    details: LinkDetails
    data: StatisticsBlock


@dataclass(frozen=True, kw_only=True)
class LinkSearchData(StatisticsBlock):
    """The statistics of a link that was found by its short URL, and the link as in a list."""

    result: int
    urls: list[LinkOut]


class FoundLink(Success):
    """The response of a search by short URL."""

    details: LinkDetails
    data: LinkSearchData


class LinkNotFound(BaseModel):
    """The response of a search by an unknown short URL, with status 200 (decision 55)."""

    error: Literal[1]
    message: str


class LinkDone(Success):
    """The response of create."""

    id: int
    shorturl: str
    short: str


class LinkUpdated(LinkDone):
    """The response of update."""

    message: str


class _GeoRule(Body):
    location: Annotated[Line, Field(min_length=1)]
    link: Url


class _DeviceRule(Body):
    device: Annotated[Line, Field(min_length=1)]
    link: Url


class _LanguageRule(Body):
    language: Annotated[Line, Field(min_length=1)]
    link: Url


class _Deeplink(Body):
    apple: Url | None = None
    google: Url | None = None


class _Parameter(Body):
    name: Line | None = None
    value: Line | None = None


_Type = Annotated[
    Line | ItemId | None, one_message("must be direct, frame, splash, the id of a splash page, or overlay-<id>")
]
_Channels = Annotated[
    ItemId | Annotated[list[ItemId], Field(max_length=100)] | None,
    one_message("must be the id of a channel, or a list of at most 100 of them"),
]


def _optional_list(max_length: int) -> Any:
    return Field(None, max_length=max_length)


class LinkChange(Body):
    url: Url = ""
    custom: Annotated[Line, Field(min_length=1)] | None = None
    domain: Annotated[Line, Field(min_length=1)] | None = None
    title: Line | None = None
    description: Paragraph | None = None
    password: Annotated[Line, Field(min_length=1, max_length=128)] | None = None
    expiry: Expiry | None = None
    clicklimit: Positive | None = None
    expiryurl: Url | None = None
    type: _Type = None
    status: Status | None = None
    metatitle: Line | None = None
    metadescription: Paragraph | None = None
    metaimage: Url | None = None
    pixels: list[ItemId] | None = _optional_list(100)
    channel: _Channels = None
    campaign: ItemId | None = None
    geotarget: list[_GeoRule] | None = _optional_list(300)
    devicetarget: list[_DeviceRule] | None = _optional_list(100)
    languagetarget: list[_LanguageRule] | None = _optional_list(200)
    deeplink: _Deeplink | None = None
    parameters: list[_Parameter] | None = _optional_list(50)

    def sent(self) -> dict[str, Any]:
        """Return the fields that the body contains, nested ones as dicts, the password hashed."""
        fields = self.model_dump(exclude_unset=True)
        if self.password is not None:
            fields["password"] = credentials.hash_password(self.password)
        return fields


class NewLink(LinkChange):
    url: Url


@router.get("/urls", response_model=pagination.list_model("urls", LinkOut) | FoundLink | LinkNotFound)
def list_links(
    context: Context,
    page_request: pagination.RequestedPage,
    order: str = "date",
    q: Annotated[MultilineText, Query(max_length=255)] = "",
    short: Annotated[MultilineText | None, Query(max_length=8192)] = None,
) -> Any:
    """List the links, newest or most clicked (`order=click`) first, or return the one with the short URL `short`."""
    if short is not None:
        return _find_link(context, short)
    by: search.Order = "click" if order == "click" else "date"
    page = context.read_after_ingest(lambda tx: search.page(tx, context.account, page_request, order=by, q=q))
    return pagination.list_response("urls", page, lambda link: LinkOut(**_fields(link, context)))


@router.get("/url/{id}")
def read_link(context: Context, id: PathId) -> LinkAnswer:
    return _link_answer(context, lambda _: id)


@router.get("/url/{id}/stats")
def link_statistics(context: Context, id: PathId, span: RequestedSpan) -> ReportResponse:
    """Return the visits of a link over time and by dimension."""
    context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return ReportResponse(data=context.read_report("link", id, span))


@router.post("/url/add")
def add_link(context: Context, body: NewLink) -> LinkDone:
    fields = body.sent()
    return context.change(
        lambda tx: ops.add(tx, context.account, settings=context.settings, **fields),
        lambda link: LinkDone(**_address(link, context)),
    )


@router.put("/url/{id}/update")
def update_link(context: Context, id: PathId, body: LinkChange) -> LinkUpdated:
    fields = body.sent()
    if body.clicklimit is not None:
        context.wait_for_ingest()  # earlier clicks count toward the new limit
    return context.change(
        lambda tx: ops.change(tx, context.account, id, settings=context.settings, **fields),
        lambda link: LinkUpdated(**_address(link, context), message="Link has been updated successfully."),
    )


@router.delete("/url/{id}/delete")
def delete_link(context: Context, id: PathId) -> MessageResponse:
    return context.change(
        lambda tx: ops.remove(tx, context.account, id),
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
        block = reports.block(tx, "link", link.id, clicks=link.clicks, uniques=link.uniqueclicks)
        return link, details, block

    link, details, block = context.read_after_ingest(work)
    settings = {**vars(details), "expiry": "" if details.expiry is None else clock.text(details.expiry)}
    return LinkAnswer(details=LinkDetails(**_fields(link, context), **settings), data=block)


def _fields(link: ops.Link, context: RequestContext) -> dict[str, Any]:
    return {
        **vars(link),
        "shorturl": context.short_url(link),
        "longurl": link.url,
        "domain": origin(context.settings.base, link.host, link.scheme),
        "date": link.created,
    }
