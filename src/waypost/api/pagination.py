"""Lists: what a client asks for with `limit` and `page`, and the shape every list answers with (decisions 11 to 13)."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query
from pydantic import BaseModel, BeforeValidator, create_model

from waypost.api.types import whole
from waypost.db.crud import Page, PageRequest

MOST = 1000
R = TypeVar("R")

_Number = Annotated[int, Query(ge=1), BeforeValidator(whole)]


def _window(limit: _Number = 15, page: _Number = 1) -> PageRequest:
    return PageRequest(limit=min(limit, MOST), page=page)


Asked = Annotated[PageRequest, Depends(_window)]
"""The page that the query asks for."""


class Paging(BaseModel):
    """Where a page stands in its list."""

    result: int
    perpage: int
    currentpage: int
    nextpage: int | None
    maxpage: int


def envelope(key: str, item: type[BaseModel]) -> type[BaseModel]:
    """The model of `{error, data: {result, …, <key>: [item]}}`."""
    collection: Any = {key: (Sequence[item], ...)}  # type: ignore[valid-type]  # the item is known at run time only
    data = create_model(f"{item.__name__}Page", __base__=Paging, **collection)
    return create_model(f"{item.__name__}List", error=(int, 0), data=(data, ...))


def answer(key: str, page: Page[R], shown: Callable[[R], Any]) -> dict[str, Any]:
    """A page in the shape of `envelope`."""
    return {"error": 0, "data": {**paging(page), key: [shown(item) for item in page.items]}}


def paging(page: Page[Any]) -> dict[str, int | None]:
    """The five paging fields of a page."""
    most = max(1, -(-page.result // page.window.limit))
    here = page.window.page
    return {
        "result": page.result,
        "perpage": page.window.limit,
        "currentpage": here,
        "nextpage": here + 1 if here < most else None,
        "maxpage": most,
    }
