"""Pagination: the parameters `limit` and `page`, and the shape of list responses (decisions 11 to 13)."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query
from pydantic import BaseModel, BeforeValidator, Field, create_model

from waypost.api.responses import Success
from waypost.api.types import whole_number
from waypost.db.crud import Page, PageRequest

MAX_LIMIT = 1000
R = TypeVar("R")

_Number = Annotated[int, Field(ge=1), BeforeValidator(whole_number)]


def _page_request(
    limit: Annotated[
        _Number, Query(description=f"Items per page; more than {MAX_LIMIT} means {MAX_LIMIT}.", examples=[15])
    ] = 15,
    page: Annotated[_Number, Query(description="Number of the page, from 1.", examples=[1])] = 1,
) -> PageRequest:
    return PageRequest(limit=min(limit, MAX_LIMIT), page=page)


RequestedPage = Annotated[PageRequest, Depends(_page_request)]
"""The requested page."""


class Paging(BaseModel):
    """Pagination fields of a list response."""

    result: int = Field(description="Number of all matches, on all pages.", examples=[1])
    perpage: int = Field(description="Items per page.", examples=[15])
    currentpage: int = Field(description="Number of this page.", examples=[1])
    nextpage: int | None = Field(description="Number of the next page; null on the last one.", examples=[None])
    maxpage: int = Field(description="Number of the last page.", examples=[1])


def list_model(key: str, item: type[BaseModel]) -> type[BaseModel]:
    """The model of `{error, data: {result, …, <key>: [item]}}`."""
    items = Field(description="The items of this page.")
    collection: Any = {key: (Sequence[item], items)}  # type: ignore[valid-type]  # the item is known at run time only
    data = create_model(f"{item.__name__}Page", __doc__="A page of a list.", __base__=Paging, **collection)
    page = (data, Field(description="A page of the list."))
    return create_model(f"{item.__name__}List", __doc__="A list.", __base__=Success, data=page)


def list_response(key: str, page: Page[R], shown: Callable[[R], Any]) -> dict[str, Any]:
    """Return a page in the shape of `envelope`."""
    return {"error": 0, "data": {**paging_fields(page), key: [shown(item) for item in page.items]}}


def paging_fields(page: Page[Any]) -> dict[str, int | None]:
    """Return the five pagination fields of a page."""
    last_page = max(1, -(-page.result // page.window.limit))
    current = page.window.page
    return {
        "result": page.result,
        "perpage": page.window.limit,
        "currentpage": current,
        "nextpage": current + 1 if current < last_page else None,
        "maxpage": last_page,
    }
