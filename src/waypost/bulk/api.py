"""Bulk requests: up to 1,000 changes of any kind in one request and one transaction (decision 79)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ConfigDict, Field, ValidationError
from sqlalchemy import Connection

from waypost.api.context import Change, Context, JoinedChange, RequestContext
from waypost.api.endpoints import Endpoint, EndpointTable, Input, handled
from waypost.api.request_body import Body
from waypost.api.responses import MessageResponse, failure_body, validation_problem
from waypost.api.types import Count, ItemId, Line, OneOf
from waypost.core.errors import Kind, Problem, invalid, not_found
from waypost.db import change_log, page_counters
from waypost.db.schema import nouns
from waypost.items.links import list_search
from waypost.items.links.columns import Status
from waypost.items.links.filters import LinkFilter
from waypost.search.words import short_url

_FIRST = ("url", "file", "campaign", "channel")  # in the document of the API since version 1.0
NOUNS = (*dict.fromkeys([*_FIRST, *(noun.api for noun in nouns.NOUNS.values())]), "share")
"""The names of nouns in the API."""
Action = Literal["create", "update", "delete", "assign"]
_PATHS: Mapping[Action, tuple[str, str]] = {
    "create": ("POST", "/{noun}/add"),
    "update": ("PUT", "/{noun}/{id}/update"),
    "delete": ("DELETE", "/{noun}/{id}/delete"),
    "assign": ("POST", "/{noun}/{id}/assign/{item}"),
}
MAX_ITEMS = 1000
_ITEMS_PER_REQUEST = 100  # of the rate limit
_ITEMS: list[Any] = [
    {"action": "create", "noun": "url", "fields": {"url": "https://example.com/boots"}},
    {"action": "update", "noun": "url", "id": 1, "fields": {"title": "Spring sale"}},
]


class Item(Body):
    """One change. `id` is the item to change; for `assign`, the campaign or channel that gets `item`."""

    action: Action
    noun: Annotated[str, OneOf(NOUNS)]
    id: ItemId | None = None
    fields: Annotated[dict[str, Any] | None, Field(description="The body of the single request.")] = None
    type: Annotated[
        Literal["links", "bio", "qr"] | None, Field(description="The type of an item that a channel gets.")
    ] = None
    item: ItemId | None = None

    def path(self) -> tuple[str, str]:
        """Return the method and the path of the single request. Raises INVALID."""
        if self.action != "create" and self.id is None:
            raise invalid("id", f"id is required to {self.action}.")
        if self.action == "assign" and self.item is None:
            raise invalid("item", "item is required to assign: the id of the item that the campaign or channel gets.")
        if self.action == "assign" and self.noun == "channel" and self.type is None:
            raise invalid("type", "type is required to assign to a channel: links, bio or qr.")
        method, path = _PATHS[self.action]
        item = f"{self.type}/{self.item}" if self.noun == "channel" else self.item
        return method, path.format(noun=self.noun, id=self.id, item=item)


@dataclass(frozen=True)
class Prepared:
    """A valid item whose change is not made yet."""

    endpoint: Endpoint
    change: Change[Any]

    def run(self, tx: Connection) -> dict[str, Any]:
        """Make the change; return its result. Raises the problem of the single request."""
        return self.result(self.change.work(tx))

    def run_with(self, tx: Connection, others: Sequence["Prepared"]) -> list[dict[str, Any]]:
        """Make the changes of this item and of others of the same endpoint, with few statements; return the results."""
        together = [self, *others]
        changes = [item.change for item in together if isinstance(item.change, JoinedChange)]
        done = changes[0].work_each(tx, [change.value for change in changes])
        return [item.result(each) for item, each in zip(together, done, strict=True)]

    def result(self, done: Any) -> dict[str, Any]:
        """Return the result of an item whose change was made."""
        response = self.change.respond(done)
        return {"status": self.endpoint.route.status_code or 200, **self.endpoint.plain(response)}


def prepare(context: RequestContext, endpoints: EndpointTable, sent: Any) -> Prepared | Problem:
    """Return the item, ready to run, or the problem of the single request."""
    try:
        context.budget.begin_item()
        item = Item.model_validate(sent)
        method, path = item.path()
        match = endpoints.find(method, path)
        if match is None:
            raise _unsupported(item)
        endpoint, parameters = match
        own = replace(context, can_change_login=False, claim=None)
        change = endpoint.call(Input(own, parameters, {}, item.fields or {}))
        assert isinstance(change, Change), path
    except Problem as problem:
        return problem
    except RequestValidationError as error:
        return validation_problem(error)
    except ValidationError as error:
        faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors(include_url=False)]
        return validation_problem(RequestValidationError(faults))
    return Prepared(endpoint, change)


def _unsupported(item: Item) -> Problem:
    if item.noun == "file" and item.action == "create":
        return invalid("action", "Files are created by POST /files/upload/NAME, each with a request of its own.")
    if item.action == "assign":
        return invalid("noun", "Only campaigns and channels can be assigned to.")
    return not_found()


def failure(problem: Problem) -> dict[str, Any]:
    """Return the result of an item that failed."""
    return {"status": problem.kind.status, **failure_body(problem)}


NOT_DONE = failure(Problem(Kind.ROLLED_BACK, "Nothing was changed, because another item failed."))


class Selection(Body):
    """All links that match."""

    action: Annotated[Action, Field(description="`update` or `delete`.", examples=["update"])]
    expect: Annotated[Count, Field(description="The number of links that you saw; else 409.", examples=[12])]
    q: Annotated[Line | None, Field(description="Only links that contain it.", examples=["sale"])] = None
    campaign: Annotated[ItemId | None, Field(description="Only links of this campaign.", examples=[1])] = None
    channel: Annotated[ItemId | None, Field(description="Only links of this channel.", examples=[1])] = None
    status: Annotated[Status | None, Field(description="Only links with this status.", examples=["public"])] = None
    fields: Annotated[
        dict[str, Any] | None, Field(description="The fields of an update.", examples=[{"status": "disabled"}])
    ] = None


class BulkRequest(Body):
    """Changes, or a selection of links."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": _ITEMS}]})

    items: Annotated[
        list[Any] | None,
        Field(
            max_length=MAX_ITEMS,
            description="Changes: {action, noun, id, fields}. `action` is create, update, delete or assign; `noun` is"
            " the first part of the path of the single request; `fields` is its body. To assign, `id` is the campaign"
            " or channel, `item` the id of what it gets, and `type` for a channel links, bio or qr.",
            examples=[_ITEMS],
        ),
    ] = None
    selection: Annotated[
        Selection | None, Field(description="Update or delete all links that match, instead of `items`.")
    ] = None
    atomic: Annotated[bool, Field(description="Change nothing if one item fails.", examples=[False])] = False


class BulkDone(MessageResponse):
    """The results of all changes."""

    results: Annotated[
        list[dict[str, Any]],
        Field(
            description="For each item, the `status` and the body that the single request would have.",
            examples=[[{"status": 200, "error": 0, "message": "Link has been updated successfully."}]],
        ),
    ]


class _ItemFailed(Exception):
    """An item of an atomic request failed; the transaction is rolled back."""

    def __init__(self, results: list[dict[str, Any]]) -> None:
        super().__init__()
        self.results = results


def create_router(endpoints: Callable[[], EndpointTable]) -> APIRouter:
    """Return the router. `endpoints` returns the endpoints of the items."""
    router = APIRouter(tags=["Bulk"])

    @router.post("/bulk", response_model=BulkDone)
    @handled(is_long=True)
    def change_in_bulk(context: Context, body: BulkRequest) -> Any:
        """Run up to 1,000 changes in one transaction.

        Each started hundred of changes counts as one request of the rate limit, and each request to another server
        after the first one as one more.
        """
        if (body.items is None) == (body.selection is None):
            raise invalid("items", "Send items or selection, and not both.")
        ids = _matching(context, body.selection) if body.selection else ()
        sent = [_item(body.selection, link) for link in ids] if body.selection else body.items or []
        context.take_requests(-(-len(sent) // _ITEMS_PER_REQUEST) - 1)
        prepared = [prepare(context, endpoints(), item) for item in sent]

        def work(tx: Connection) -> list[dict[str, Any]]:
            context.budget.require_client()
            if body.selection and _select(tx, context, body.selection) != ids:
                raise _changed(len(ids))
            with change_log.in_one_batch(tx):
                return _run(tx, prepared, is_atomic=body.atomic)

        try:
            return context.run(Change(work, _done))
        except _ItemFailed as error:
            return _rolled_back(error.results)

    return router


def _run(tx: Connection, prepared: Sequence[Prepared | Problem], *, is_atomic: bool) -> list[dict[str, Any]]:
    """Run the items in order. Raises _ItemFailed if they are atomic and one fails.

    Usually all succeed, in one savepoint; if one fails, all are undone and run again, each in a savepoint of its own.
    """
    try:
        with tx.begin_nested(), page_counters.in_one_batch(tx):
            results = [result for group in _groups(prepared) for result in _run_group(tx, group)]
    except Problem:
        results = [failure(item) if isinstance(item, Problem) else _run_alone(tx, item) for item in prepared]
    if is_atomic and any(result["error"] for result in results):
        raise _ItemFailed(results)
    return results


def _groups(prepared: Sequence[Prepared | Problem]) -> Iterator[list[Prepared | Problem]]:
    """Yield items that follow each other and can be changed together; others alone."""

    def endpoint(item: Prepared | Problem) -> Any:
        if isinstance(item, Prepared) and isinstance(item.change, JoinedChange):
            return item.endpoint
        return item

    for _, group in groupby(prepared, endpoint):
        yield list(group)


def _run_group(tx: Connection, group: Sequence[Prepared | Problem]) -> list[dict[str, Any]]:
    first, *others = group
    if isinstance(first, Problem):
        return [failure(item) for item in group if isinstance(item, Problem)]
    return first.run_with(tx, others) if others else [first.run(tx)]  # type: ignore[arg-type]  # of one endpoint


def _run_alone(tx: Connection, item: Prepared) -> dict[str, Any]:
    """Run an item; a savepoint undoes it if it fails."""
    try:
        with tx.begin_nested():
            return item.run(tx)
    except Problem as problem:
        return failure(problem)


def _done(results: list[dict[str, Any]]) -> BulkDone:
    done = sum(not result["error"] for result in results)
    return BulkDone(message=f"{done} of {len(results)} changes have been made.", results=results)


def _rolled_back(results: Sequence[dict[str, Any]]) -> Response:
    failed = [number for number, result in enumerate(results) if result["error"]]
    first = f"items[{failed[0]}] is the first of {len(failed)} of {len(results)} that failed"
    problem = invalid("items", f"Nothing was changed, because {first}; see results.")
    shown = [result if result["error"] else NOT_DONE for result in results]
    return JSONResponse({**failure_body(problem), "results": shown}, status_code=problem.kind.status)


def _matching(context: RequestContext, selection: Selection) -> Sequence[int]:
    """Return the ids of the selected links. Raises INVALID, and SELECTION_CHANGED for an unexpected number."""
    if selection.action not in ("update", "delete"):
        raise invalid("selection", "selection.action must be update or delete.")
    if selection.expect > MAX_ITEMS:
        raise invalid("selection", f"selection.expect must be at most {MAX_ITEMS}. Select fewer links at a time.")
    ids = context.read(lambda tx: _select(tx, context, selection))
    if len(ids) != selection.expect:
        raise _changed(selection.expect)
    return ids


def _select(tx: Connection, context: RequestContext, selection: Selection) -> Sequence[int]:
    """Return the ids of the selected links in order, at most one more than allowed."""
    link_filter = LinkFilter(selection.campaign, selection.channel, selection.status)
    q = selection.q or ""
    short = short_url(tx, context.account, q, settings=context.settings)
    query = list_search.literal_ids(tx, context.account, q=q, short=short, link_filter=link_filter)
    return tx.execute(query.order_by(*query.selected_columns).limit(MAX_ITEMS + 1)).scalars().all()


def _item(selection: Selection, link: int) -> dict[str, Any]:
    return {"action": selection.action, "noun": "url", "id": link, "fields": selection.fields}


def _changed(expected: int) -> Problem:
    message = f"The selection does not have {expected} links. Nothing was changed. List the links again."
    return Problem(Kind.SELECTION_CHANGED, message, field="expect")
