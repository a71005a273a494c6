"""Webhooks of overlays: each overlay with a URL has an endpoint, which gets the submissions of its form.

The endpoint follows the overlay: it is created, changed and deleted with it, and has no other events.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from waypost.core import clock
from waypost.db.audit_sequence import SequencedEvent
from waypost.db.database import upsert
from waypost.db.schema import overlays, webhook_endpoints, webhook_messages
from waypost.items.overlays.submissions import message_id
from waypost.webhooks import outbox, signature
from waypost.webhooks.catalog import SUBMITTED

_KIND = "overlay"
_e, _o = webhook_endpoints.c, overlays.c


def follow(tx: Connection, events: Sequence[SequencedEvent]) -> None:
    """Let endpoints follow the changes of their overlays: a reader of the audit log."""
    changed = {(event.account, event.item) for event in events if event.kind == _KIND and event.item is not None}
    for account, overlay in sorted((account, item) for account, item in changed if account is not None):
        row = tx.execute(_overlay(account, overlay)).first()
        if row is not None and row.webhook:
            _ensure(tx, account, overlay, row)
        else:
            tx.execute(delete(webhook_endpoints).where(_e.account == account, _e.overlay == overlay))


def enqueue(tx: Connection, account: int, overlay: int, submission: int, payload: Mapping[str, Any]) -> None:
    """Insert the messages of a new submission, in its transaction.

    The URL of the overlay gets `payload`; endpoints that select `overlay.submitted` get no answers of the visitor.
    """
    row = tx.execute(_overlay(account, overlay)).first()
    if row is None:
        return
    data = {"id": overlay, "kind": _KIND, "label": row.name, "after": {"type": row.type, "link": payload["link"]}}
    outbox.enqueue_fact(tx, account, SUBMITTED, data)
    if row.webhook:
        endpoint = _ensure(tx, account, overlay, row)
        body = json.dumps(payload, ensure_ascii=False)
        message = outbox.values(account, endpoint.id, message_id(submission), SUBMITTED, body)
        tx.execute(insert(webhook_messages).values({**message, "state": outbox.first_state(endpoint)}))


def _overlay(account: int, overlay: int) -> Any:
    return select(_o.name, _o.type, _o.webhook).where(_o.id == overlay, _o.account == account)


def _ensure(tx: Connection, account: int, overlay: int, row: Any) -> Any:
    """Return the endpoint of an overlay, with its URL and name. Another URL forgets earlier failures."""
    own = {"account": account, "overlay": overlay, "title": row.name, "url": row.webhook}
    new = {**own, "events": [], "secret": signature.new_secret(), "created": clock.now()}
    tx.execute(upsert(tx, webhook_endpoints).values(new).on_conflict_do_nothing(index_elements=["account", "overlay"]))
    owned = (_e.account == account, _e.overlay == overlay)
    fresh = {"enabled": True, "failing": None, "warned": None, "disabledreason": ""}
    tx.execute(update(webhook_endpoints).where(*owned, _e.url != row.webhook).values(url=row.webhook, **fresh))
    tx.execute(update(webhook_endpoints).where(*owned, _e.title != row.name).values(title=row.name))
    return tx.execute(select(_e.id, _e.enabled).where(*owned)).one()
