"""Pagination: the parameters `limit` and `page`, and the shape of list responses (decisions 11 to 13)."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query
from pydantic import BaseModel, BeforeValidator, create_model

from waypost.api.types import whole_number
from waypost.db.crud import Page, PageRequest

MAX_LIMIT = 1000
R = TypeVar("R")

_Number = Annotated[int, Query(ge=1), BeforeValidator(whole_number)]


def _page_request(limit: _Number = 15, page: _Number = 1) -> PageRequest:
    return PageRequest(limit=min(limit, MAX_LIMIT), page=page)


RequestedPage = Annotated[PageRequest, Depends(_page_request)]
"""The requested page."""


class Paging(BaseModel):
    """Pagination fields of a list response."""

    result: int
    perpage: int
    currentpage: int
    nextpage: int | None
    maxpage: int


def list_model(key: str, item: type[BaseModel]) -> type[BaseModel]:
    """The model of `{error, data: {result, …, <key>: [item]}}`."""
    collection: Any = {key: (Sequence[item], ...)}  # type: ignore[valid-type]  # the item is known at run time only
    data = create_model(f"{item.__name__}Page", __base__=Paging, **collection)
    return create_model(f"{item.__name__}List", error=(int, 0), data=(data, ...))


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
