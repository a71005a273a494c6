"""Bulk changes: the bulk endpoint of the API, with its validation, its one transaction and its cost in requests."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.responses import Response

from waypost.api.endpoints import Input
from waypost.core.errors import Kind as ProblemKind
from waypost.core.errors import Problem
from waypost.integrations.mcp.tool import ToolContext

_SHOWN_FAILURES = 10


def run(context: ToolContext, items: Sequence[Mapping[str, Any]], *, is_atomic: bool) -> list[dict[str, Any]]:
    """Run the items of a bulk request; return the result of each. Raises INVALID if atomic items fail."""
    match = context.endpoints.find("POST", "/bulk")
    assert match is not None
    endpoint, path = match
    answer = endpoint.call(Input(context, path, {}, {"items": list(items), "atomic": is_atomic}))
    if not isinstance(answer, Response):
        results: list[dict[str, Any]] = answer.results
        return results
    failed = [
        result for result in json.loads(bytes(answer.body))["results"] if result["code"] != ProblemKind.ROLLED_BACK.code
    ]
    causes = " ".join(dict.fromkeys(result["message"] for result in failed[:_SHOWN_FAILURES]))
    message = f"Nothing was changed, because {len(failed)} of {len(items)} items failed: {causes}"
    raise Problem(ProblemKind.INVALID, message, field="ids")
