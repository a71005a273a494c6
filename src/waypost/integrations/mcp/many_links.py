"""Tools that create or change many links at once."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field

from waypost.api.types import ItemId
from waypost.core.errors import in_entry, invalid
from waypost.integrations.mcp import bulk
from waypost.integrations.mcp.tool import Arguments, Result, Tool, ToolContext
from waypost.items.links.schemas import LinkChange

MAX_LINKS = 100


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
    Tool("Create many links", "create", create_links),
    Tool("Change many links", "change", change_links),
)
