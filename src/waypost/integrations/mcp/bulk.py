"""Bulk changes: the bulk endpoint of the API, with its validation, its one transaction and its cost in requests.

A deletion of many items needs the confirmation token of a dry run with the same items. A token is bound to the account,
the kind and the exact ids, and is valid for ten minutes.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi.responses import Response
from sqlalchemy import Connection

from waypost.api.endpoints import Input
from waypost.core.errors import Kind as ProblemKind
from waypost.core.errors import Problem, invalid
from waypost.db.signing import installation_signer
from waypost.integrations.mcp.tool import ToolContext

_SHOWN_FAILURES = 10
MAX_UNCONFIRMED = 10
"""Items that can be deleted without a token."""
CONFIRMATION_SECONDS = 600
_PURPOSE = "mcp deletion"


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


def issue_confirmation(tx: Connection, account: int, kind: str, ids: Iterable[int]) -> str:
    """Return the token of a dry run."""
    return installation_signer(tx).sign(_PURPOSE, life=CONFIRMATION_SECONDS, bound=_bound(account, kind, ids))


def require_confirmation(tx: Connection, account: int, kind: str, ids: Iterable[int], token: str | None) -> None:
    """Raise INVALID on `confirm` unless the token belongs to these items."""
    signer = installation_signer(tx)
    if token is None or signer.unsign(_PURPOSE, token, bound=_bound(account, kind, ids)) is None:
        raise _unconfirmed()


def _bound(account: int, kind: str, ids: Iterable[int]) -> str:
    digest = hashlib.sha256(",".join(map(str, sorted(ids))).encode()).hexdigest()
    return f"{account} {kind} {digest}"


def _unconfirmed() -> Problem:
    return invalid(
        "confirm",
        "confirm must be the token of a dry run with the same kind and ids, at most"
        f" {CONFIRMATION_SECONDS // 60} minutes old, to delete more than {MAX_UNCONFIRMED} items. Call delete_items"
        " with dry_run: true, show the user the items, and call it again with the token.",
    )
