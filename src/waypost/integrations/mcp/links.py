"""Tools for links: find, read, create and change, one or many at once."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from waypost.api.types import ItemId, Line, Url
from waypost.core import clock
from waypost.core.errors import in_entry, invalid
from waypost.db.crud import Page
from waypost.integrations.mcp import bulk
from waypost.integrations.mcp.tool import Arguments, PageArguments, PageResult, Result, Tool, ToolContext, paging
from waypost.items.links import api, dead_links, list_search, ops
from waypost.items.links.columns import Status
from waypost.items.links.dead_links import CheckResult
from waypost.items.links.filters import LinkFilter, State
from waypost.items.links.schemas import LinkChange, LinkDetails, LinkOut, NewLink
from waypost.search import words

_LINK = Field(description="Id of the link, as find_links returns it.")
MAX_LINKS = 100


class FindLinks(PageArguments):
    """Arguments of find_links."""

    q: Annotated[
        Line | None, Field(description="Only links whose title, destination, alias or description contains this text.")
    ] = None
    campaign: Annotated[ItemId | None, Field(description="Only links of the campaign with this id.")] = None
    channel: Annotated[ItemId | None, Field(description="Only links of the channel with this id.")] = None
    status: Annotated[Status | None, Field(description="Only links with this status.")] = None
    state: Annotated[
        State | None,
        Field(
            description="Only links that are expired, have reached their click limit (`limit`), have a password, have"
            " other destinations for some visitors (`targeting`), or show a splash page, overlay or frame first."
        ),
    ] = None
    order: Annotated[
        Literal["date", "click"], Field(description="`date`: newest first. `click`: most clicked first.")
    ] = "date"


class LinkPage(PageResult):
    """A page of links."""

    links: list[LinkOut] = Field(description="The links of this page.")


class ReadLink(Arguments):
    """Arguments of read_link."""

    id: Annotated[ItemId | None, Field(description="Id of the link.")] = None
    short: Annotated[Url | None, Field(description="Short URL or alias of the link, instead of its id.")] = None


class OneLink(Result):
    """A link with all its settings."""

    link: LinkDetails = Field(description="The link.")


class CreateLink(NewLink):
    """Arguments of create_link."""

    model_config = ConfigDict(extra="forbid")


class ChangeLink(LinkChange):
    """Arguments of change_link."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[ItemId, _LINK]

    def sent(self) -> dict[str, Any]:
        """Return the fields of the link that were sent."""
        return {name: value for name, value in super().sent().items() if name != "id"}


class LinkAddress(Result):
    """The id and the short URL of a link."""

    id: int = Field(description="Id of the link.")
    short_url: str = Field(description="Short URL of the link.")


def find_links(context: ToolContext, arguments: FindLinks) -> LinkPage:
    """Find short links by text, campaign, channel, status or state; without arguments, the newest ones.

    Use `order: click` for the most clicked links. Returns one page; ask for `next_page` for more.
    """
    link_filter = LinkFilter(arguments.campaign, arguments.channel, arguments.status, state=arguments.state)
    q = arguments.q or ""

    def work(tx: Connection) -> Page[ops.Link]:
        short = words.short_url(tx, context.account, q, settings=context.settings)
        order, window = arguments.order, arguments.window
        return list_search.page(tx, context.account, window, order=order, q=q, short=short, link_filter=link_filter)

    page = context.read_after_ingest(work)
    return LinkPage(**paging(page), links=[LinkOut(**api.listed_fields(link, context)) for link in page.items])


def read_link(context: ToolContext, arguments: ReadLink) -> OneLink:
    """Read all settings of one short link, by its id or its short URL.

    Use describe_statistics for its visits over time.
    """
    short = arguments.short
    if (arguments.id is None) == (short is None):
        raise invalid("id", "Send id or short, and not both.")
    link = arguments.id
    if short is not None:
        link = context.read(lambda tx: ops.find_by_alias(tx, context.account, short, settings=context.settings))
    assert link is not None
    return OneLink(link=api.read_link(context, link).details)


def create_link(context: ToolContext, arguments: CreateLink) -> LinkAddress:
    """Create a short link. Only `url`, the destination, is required; a random alias is chosen without `custom`."""
    done = context.run(api.create_link(context, arguments))
    return LinkAddress(id=done.id, short_url=done.shorturl)


def change_link(context: ToolContext, arguments: ChangeLink) -> LinkAddress:
    """Change settings of one short link, such as its destination, title, expiry or campaign.

    Arguments that are not sent keep their values; null sets the default. The change is in effect within a second.
    """
    done = context.run(api.update_link(context, arguments.id, arguments))
    return LinkAddress(id=done.id, short_url=done.shorturl)


class DeadLink(LinkOut):
    """A link whose destination does not work."""

    status_code: int = Field(description="HTTP status of the last check; 0 without a response.")
    failing_since: str | None = Field(description="Time of the first failed check, in UTC.")


class DeadLinkPage(PageResult):
    """A page of links with dead destinations."""

    checks: bool = Field(description="False if the administrator has turned the checks of destinations off.")
    links: list[DeadLink] = Field(description="The links of this page.")


def list_dead_links(context: ToolContext, arguments: PageArguments) -> DeadLinkPage:
    """List short links whose destination does not work: checks failed for at least two days.

    The links still redirect. Use change_link to set another destination.
    """
    link_filter = LinkFilter(dead=True)

    def work(tx: Connection) -> tuple[Page[ops.Link], Mapping[int, CheckResult]]:
        page = list_search.page(tx, context.account, arguments.window, link_filter=link_filter)
        return page, dead_links.get_results(tx, context.account, [link.id for link in page.items])

    page, results = context.read_after_ingest(work)
    dead = [_dead(link, results.get(link.id), context) for link in page.items]
    return DeadLinkPage(**paging(page), checks=bool(context.settings.dead_links_days), links=dead)


def _dead(link: ops.Link, result: CheckResult | None, context: ToolContext) -> DeadLink:
    since = result.failing_since if result else None
    return DeadLink(
        **api.listed_fields(link, context),
        status_code=result.status if result else 0,
        failing_since=None if since is None else clock.text(since),
    )


class CreateLinks(Arguments):
    """Arguments of create_links."""

    links: Annotated[
        list[dict[str, Any]],
        Field(min_length=1, max_length=MAX_LINKS, description="The links: objects with the arguments of create_link."),
    ]


class ChangeLinks(Arguments):
    """Arguments of change_links."""

    ids: Annotated[list[ItemId], Field(min_length=1, max_length=MAX_LINKS, description="Ids of the links.")]
    fields: Annotated[
        dict[str, Any], Field(description="The settings that all these links get: arguments of change_link without id.")
    ]


class LinkResult(BaseModel):
    """The result for one link."""

    id: int | None = Field(description="Id of the link; null if it was not created.")
    short_url: str | None = Field(description="Short URL of the link; null if it failed.")
    problem: str | None = Field(description="The reason and the fix, if it failed.")
    field: str | None = Field(description="Name of the setting at fault, if it failed.")


class LinkResults(Result):
    """The results for all links, in their order."""

    done: int = Field(description="Number of links that were created or changed.")
    failed: int = Field(description="Number of links that failed. The others are not affected.")
    results: list[LinkResult] = Field(description="The result for each link.")


def create_links(context: ToolContext, arguments: CreateLinks) -> LinkResults:
    """Create up to 100 short links at once. One that fails, such as for a taken alias, does not affect the others."""
    for number, link in enumerate(arguments.links):
        with in_entry("links", f"[{number}]"):
            _refuse_unknown(link, field="links")
    items = [{"action": "create", "noun": "url", "fields": link} for link in arguments.links]
    return _results(bulk.run(context, items, is_atomic=False))


def change_links(context: ToolContext, arguments: ChangeLinks) -> LinkResults:
    """Change the same settings of up to 100 short links at once, such as the campaign, the channels or the status.

    Settings that are not sent keep their values. One link that fails does not affect the others.
    """
    fields = arguments.fields
    _refuse_unknown(fields, field="fields")
    ids = dict.fromkeys(arguments.ids)
    items = [{"action": "update", "noun": "url", "id": link, "fields": fields} for link in ids]
    results = bulk.run(context, items, is_atomic=False)
    return _results([{"id": link, **result} for link, result in zip(ids, results, strict=True)])


def _refuse_unknown(settings: Mapping[str, Any], *, field: str) -> None:
    """Raise INVALID for a setting that links do not have; the API ignores unknown ones."""
    known = LinkChange.model_fields
    unknown = next((name for name in settings if name not in known), None)
    if unknown is not None:
        raise invalid(field, f"{field} has {unknown}, which is no setting of a link. Settings: {', '.join(known)}.")


def _results(results: list[dict[str, Any]]) -> LinkResults:
    shown = [_result(result) for result in results]
    failed = sum(result.problem is not None for result in shown)
    return LinkResults(done=len(shown) - failed, failed=failed, results=shown)


def _result(result: Mapping[str, Any]) -> LinkResult:
    return LinkResult(
        id=result.get("id"),
        short_url=result.get("shorturl"),
        problem=result["message"] if result["error"] else None,
        field=result.get("field"),
    )


TOOLS = (
    Tool("Find links", "read", find_links),
    Tool("Read a link", "read", read_link),
    Tool("Create a link", "create", create_link),
    Tool("Change a link", "change", change_link),
    Tool("List dead links", "read", list_dead_links),
    Tool("Create many links", "create", create_links),
    Tool("Change many links", "change", change_links),
)
