"""Confirmation tokens: a deletion of many items needs the token of a dry run with the same items.

A token is bound to the account, the kind and the exact ids, and is valid for ten minutes.
"""

import hashlib
from collections.abc import Iterable

from sqlalchemy import Connection

from waypost.core.errors import Problem, invalid
from waypost.db.signing import installation_signer

MAX_UNCONFIRMED = 10
"""Items that can be deleted without a token."""
SECONDS = 600
_PURPOSE = "mcp deletion"


def issue(tx: Connection, account: int, kind: str, ids: Iterable[int]) -> str:
    """Return the token of a dry run."""
    return installation_signer(tx).sign(_PURPOSE, life=SECONDS, bound=_bound(account, kind, ids))


def require(tx: Connection, account: int, kind: str, ids: Iterable[int], token: str | None) -> None:
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
        f"confirm must be the token of a dry run with the same kind and ids, at most {SECONDS // 60} minutes old, to"
        f" delete more than {MAX_UNCONFIRMED} items. Call delete_items with dry_run: true, show the user the items, and"
        " call it again with the token.",
    )
