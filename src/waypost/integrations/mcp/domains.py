"""A tool for the state of branded domains."""

from typing import Annotated

from pydantic import Field

from waypost.api.types import ItemId
from waypost.integrations.mcp.tool import Arguments, Result, Tool, ToolContext
from waypost.items.domains import api, ops
from waypost.items.domains.ownership_check import NotPointingHere
from waypost.urls.short_urls import origin


class CheckDomain(Arguments):
    """Arguments of check_domain."""

    id: Annotated[ItemId, Field(description="Id of the domain, as list_items returns it.")]


class DomainState(Result):
    """The state of a branded domain."""

    domain: str = Field(description="Scheme and host name of the domain.")
    also: str | None = Field(description="The same host with or without `www.`, if the domain answers that too.")
    points_here: bool = Field(description="True if a request to every host of the domain reached this service now.")
    problem: str | None = Field(description="The reason, if the request did not reach this service.")
    redirect_root: str = Field(description="Destination of visits to the root of the domain; empty for none.")
    redirect_404: str = Field(description="Destination of visits to unknown aliases; empty for an error page.")


def check_domain(context: ToolContext, arguments: CheckDomain) -> DomainState:
    """Check whether a branded domain points to this service now, by a request to it, and read its redirects.

    The DNS records of the domain are set at its DNS provider, not here.
    """
    domain = context.read(lambda tx: ops.get_owned(tx, context.account, arguments.id))
    problem = None
    try:
        for host in domain.hosts:
            api.ask(context, domain.scheme, host)
    except NotPointingHere as error:
        problem = error.reason
    return DomainState(
        domain=origin("", domain.host, domain.scheme),
        also=domain.other_host if domain.alsowww else None,
        points_here=problem is None,
        problem=problem,
        redirect_root=domain.redirectroot,
        redirect_404=domain.redirect404,
    )


TOOLS = (Tool("Check a branded domain", "read", check_domain, is_open_world=True),)
