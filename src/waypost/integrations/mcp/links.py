"""Tools for links: find, read, create and change."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from sqlalchemy import Connection

from waypost.api.types import ItemId, Line, Url
from waypost.core import clock
from waypost.core.errors import invalid
from waypost.db.crud import Page
from waypost.integrations.mcp.tool import Arguments, PageArguments, PageResult, Result, Tool, ToolContext, paging
from waypost.items.links import api, dead_links, list_search, ops
from waypost.items.links.columns import Status
from waypost.items.links.dead_links import CheckResult
from waypost.items.links.filters import LinkFilter, State
from waypost.items.links.schemas import LinkChange, LinkDetails, LinkOut, NewLink
from waypost.search import words

_LINK = Field(description="Id of the link, as find_links returns it.")


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


TOOLS = (
    Tool("Find links", "read", find_links),
    Tool("Read a link", "read", read_link),
    Tool("Create a link", "create", create_link),
    Tool("Change a link", "change", change_link),
    Tool("List dead links", "read", list_dead_links),
)
