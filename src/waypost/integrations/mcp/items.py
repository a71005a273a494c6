"""Tools for items of every kind: find, list and delete, and the account."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field
from sqlalchemy import Connection, select

from waypost.api.types import ItemId, Line, OneOf
from waypost.core.errors import invalid
from waypost.db.item_columns import name_of
from waypost.db.schema.nouns import NOUNS
from waypost.integrations.mcp import bulk
from waypost.integrations.mcp.tool import Arguments, PageArguments, PageResult, Result, Tool, ToolContext
from waypost.items.accounts import api as accounts_api
from waypost.items.functions import FUNCTIONS
from waypost.palette import results
from waypost.search import words

Kind = Annotated[str, OneOf(tuple(NOUNS))]


def names_of(tx: Connection, account: int, kind: Kind, ids: Sequence[int]) -> Mapping[int, str]:
    """Return the names of the account's items with these ids. Raises INVALID on `ids` if one is missing."""
    table = NOUNS[kind].table
    query = select(table.c.id, name_of(NOUNS[kind])).where(table.c.account == account, table.c.id.in_(ids))
    by_id = {int(item): str(text) for item, text in tx.execute(query)}
    if missing := [str(item) for item in ids if item not in by_id]:
        listed = ", ".join(missing[:20])
        raise invalid("ids", f"ids must be ids of your items of the kind {kind}; these are not: {listed}.")
    return by_id


MAX_DELETIONS = 1000
_NAMES = ("title", "name", "domain", "alias")
_KIND = Field(
    description="Kind of the items: `qr` are QR codes, `bio` bio pages, `splash` splash pages, `overlay` overlays"
    " with messages or forms, `pixel` tracking pixels, `utm` UTM templates, `domain` branded domains."
)


class Find(Arguments):
    """Arguments of find."""

    q: Annotated[Line, Field(min_length=1, description="Words of a name, title, destination, alias or host.")]


class Match(BaseModel):
    """An item that matches."""

    kind: Kind = Field(description="Kind of the item.")
    id: int = Field(description="Id of the item.")
    name: str = Field(description="Name or title of the item.")
    alias: str = Field(description="Alias of the item, if it has one.")


class Matches(Result):
    """The items that match."""

    items: list[Match] = Field(description="At most 5 items of each kind.")


class ListItems(PageArguments):
    """Arguments of list_items."""

    kind: Annotated[Kind, _KIND]


class ListedItem(BaseModel):
    """An item of a list."""

    id: int = Field(description="Id of the item.")
    name: str = Field(description="Name or title of the item.")
    details: dict[str, Any] = Field(description="All fields of the item, as the list of the API has them.")


class ItemPage(PageResult):
    """A page of items."""

    items: list[ListedItem] = Field(description="The items of this page, newest first.")


class DeleteItems(Arguments):
    """Arguments of delete_items."""

    kind: Annotated[Kind, _KIND]
    ids: Annotated[
        list[ItemId], Field(min_length=1, max_length=MAX_DELETIONS, description="Ids of the items to delete.")
    ]
    dry_run: Annotated[bool, Field(description="True to delete nothing and return what would be deleted.")] = False
    confirm: Annotated[
        Line | None,
        Field(
            max_length=400,
            description=f"The token that a dry run with the same ids returned. Required above"
            f" {bulk.MAX_UNCONFIRMED} items.",
        ),
    ] = None


class NamedItem(BaseModel):
    """An item with its name."""

    id: int = Field(description="Id of the item.")
    name: str = Field(description="Name or title of the item.")


class Deletion(Result):
    """The result of a deletion or its dry run."""

    deleted: bool = Field(description="False after a dry run.")
    items: list[NamedItem] = Field(description="The items that were deleted, or would be.")
    confirm: str | None = Field(
        description="Token that confirms the deletion of exactly these items, valid for 10 minutes; null if none is"
        " needed."
    )


class Account(Result):
    """The account of the API key."""

    username: str = Field(description="Name of the account.")
    plan: str = Field(description="Name of the plan, which sets the limits.")
    expires: str = Field(description="End of the plan, in UTC; the year 9999 if there is none.")
    base_url: str = Field(description="URL with which short URLs on the service's own host begin.")
    can_write: bool = Field(description="False if the API key is read-only.")


def find(context: ToolContext, arguments: Find) -> Matches:
    """Find items of any kind by their names: links, files, QR codes, bio pages, campaigns, channels and others.

    Returns at most 5 items of each kind. Use find_links to search links by other fields, and list_items for all items.
    """

    def work(tx: Connection) -> Sequence[results.Match]:
        parsed = words.parse(tx, context.account, arguments.q, settings=context.settings)
        return results.find(tx, context.account, parsed)

    matches = context.read(work)
    items = [Match(kind=m.kind, id=m.id, name=m.name, alias=m.detail) for m in matches]
    return Matches(items=items)


def list_items(context: ToolContext, arguments: ListItems) -> ItemPage:
    """List the items of one kind, newest first, such as all campaigns, QR codes, bio pages, domains or files."""
    answer = FUNCTIONS[arguments.kind].list_items(context, arguments.window)
    data = answer["data"] if isinstance(answer, dict) else answer.model_dump(mode="json")
    listed = data[NOUNS[arguments.kind].collection]
    details = [item.model_dump(mode="json") if isinstance(item, BaseModel) else item for item in listed]
    items = [ListedItem(id=item["id"], name=_name(item), details=item) for item in details]
    return ItemPage(total=data["result"], page=data["currentpage"], next_page=data["nextpage"], items=items)


def delete_items(context: ToolContext, arguments: DeleteItems) -> Deletion:
    """Delete items of one kind by their ids. Either all of them are deleted or none. This cannot be undone.

    Short URLs of deleted links, files, QR codes and bio pages stop working; links of deleted campaigns and channels are
    kept. To delete more than 10 items, first call it with `dry_run: true`, show the user the result, and call it again
    with the returned `confirm`.
    """
    kind, account = arguments.kind, context.account
    ids = list(dict.fromkeys(arguments.ids))
    needs_token = len(ids) > bulk.MAX_UNCONFIRMED
    names = context.read(lambda tx: names_of(tx, account, kind, ids))
    items = [NamedItem(id=item, name=names[item]) for item in ids]
    if arguments.dry_run:
        token = context.read(lambda tx: bulk.issue_confirmation(tx, account, kind, ids)) if needs_token else None
        return Deletion(deleted=False, items=items, confirm=token)
    if needs_token:
        context.read(lambda tx: bulk.require_confirmation(tx, account, kind, ids, arguments.confirm))
    bulk.run(context, [{"action": "delete", "noun": NOUNS[kind].api, "id": item} for item in ids], is_atomic=True)
    return Deletion(deleted=True, items=items, confirm=None)


def read_account(context: ToolContext, _: Arguments) -> Account:
    """Read the account of the API key: its name, its plan, and the rights of the key."""
    account = accounts_api.read_account(context).data
    return Account(
        username=account.username,
        plan=account.plan,
        expires=account.expires,
        base_url=context.settings.base,
        can_write=context.can_write,
    )


def _name(item: Mapping[str, Any]) -> str:
    return next((str(item[field]) for field in _NAMES if item.get(field)), "")


TOOLS = (
    Tool("Read the account", "read", read_account),
    Tool("Find items", "read", find),
    Tool("List items", "read", list_items),
    Tool("Delete items", "delete", delete_items),
)
