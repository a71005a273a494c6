"""The items of a bulk request: each runs the endpoint of the single request, with its rules and its response.

An item is prepared first, which validates it and does all slow work without a transaction. Then the changes of all
items run in one transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError
from sqlalchemy import Connection

from waypost.api.context import Change, JoinedChange, RequestContext
from waypost.api.endpoints import Endpoint, EndpointTable, Input
from waypost.api.request_body import Body
from waypost.api.responses import failure_body, validation_problem
from waypost.api.types import ItemId, OneOf
from waypost.core.errors import Kind, Problem, invalid, not_found
from waypost.db.schema import nouns

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
