"""All tools, in the order in which clients list them."""

from collections.abc import Mapping, Sequence

from waypost.integrations.mcp import (
    bio_pages,
    campaigns,
    domains,
    items,
    links,
    many_links,
    qr_codes,
    statistics,
    submissions,
)
from waypost.integrations.mcp.tool import Tool

TOOLS: Sequence[Tool] = (
    *items.TOOLS,
    *links.TOOLS,
    *many_links.TOOLS,
    *statistics.TOOLS,
    *campaigns.TOOLS,
    *qr_codes.TOOLS,
    *bio_pages.TOOLS,
    *domains.TOOLS,
    *submissions.TOOLS,
)
TOOLS_BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
