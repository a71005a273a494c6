"""The webhook of an overlay: an endpoint that follows the overlay, and loses no submission."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
import time_machine
from sqlalchemy import Connection, delete, func, select

from tests.support.fake_internet import empty
from tests.support.webhooks import Hooks, Receiver
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.db import audit_sequence
from waypost.db.schema import webhook_endpoints, webhook_messages
from waypost.items.overlays import ops as overlays
from waypost.items.overlays import submissions
from waypost.items.overlays.submissions import Answers
from waypost.webhooks import endpoints, outbox, overlay_hooks, queue

_EMAIL = "zoe@example.com"
_e, _m = webhook_endpoints.c, webhook_messages.c


def _sequence(hooks: Hooks) -> None:
    audit_sequence.Sequencer(hooks.database, [outbox.enqueue, overlay_hooks.follow]).step()


def _add_overlay(hooks: Hooks, url: str) -> int:
    fields: Any = {"type": "newsletter", "name": "News", "message": "Hello", "webhook": url}
    overlay = hooks.database.write(lambda tx: overlays.add(tx, hooks.account, **fields)).id
    _sequence(hooks)
    return overlay


def _submit(hooks: Hooks, overlay: int) -> int:
    payload = {"overlay": overlay, "type": "newsletter", "link": None, "date": "", "email": _EMAIL}

    def work(tx: Connection) -> int:
        submission = submissions.add(tx, hooks.account, overlay, Answers(email=_EMAIL), link=0)
        assert submission is not None
        overlay_hooks.enqueue(tx, hooks.account, overlay, submission, payload)
        return submission

    return hooks.database.write(work)


def _endpoint(hooks: Hooks, overlay: int) -> endpoints.Endpoint | None:
    query = select(_e.id).where(_e.overlay == overlay)

    def work(tx: Connection) -> endpoints.Endpoint | None:
        endpoint = tx.execute(query).scalar()
        return None if endpoint is None else endpoints.get_owned(tx, hooks.account, endpoint)

    return hooks.database.read(work)


def _bodies(hooks: Hooks) -> Sequence[str]:
    query = select(_m.body).order_by(_m.id)
    return hooks.database.read(lambda tx: tx.execute(query).scalars().all())


def test_submissions_are_signed_and_sent_until_they_arrive(hooks: Hooks, receiver: Receiver) -> None:
    overlay = _add_overlay(hooks, receiver.url)
    endpoint = _endpoint(hooks, overlay)
    assert endpoint is not None
    _, secret = hooks.database.write(lambda tx: endpoints.rotate(tx, hooks.account, endpoint.id))
    receiver.answer = lambda: [empty(500)]
    for _ in range(120):
        _submit(hooks, overlay)
    assert hooks.send() == 1
    receiver.answer = lambda: [empty(204)]
    with time_machine.travel(clock.now() + 2 * queue.RETRY_SECONDS[0]):
        while hooks.send():
            pass
    assert (len(receiver.requests), len(set(receiver.ids))) == (121, 120)
    assert {state for state, _ in hooks.states} == {"delivered"}
    assert receiver.requests[-1].verified(secret) == json.loads(_bodies(hooks)[-1])
    assert receiver.requests[-1].verified(secret)["email"] == _EMAIL


def test_rolled_back_submission_is_not_sent(hooks: Hooks, receiver: Receiver) -> None:
    overlay = _add_overlay(hooks, receiver.url)

    def fail(tx: Connection) -> None:
        overlay_hooks.enqueue(tx, hooks.account, overlay, 1, {"link": None})
        raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        hooks.database.write(fail)
    assert hooks.send() == 0


def test_endpoint_follows_its_overlay(hooks: Hooks) -> None:
    overlay = _add_overlay(hooks, "")
    assert _endpoint(hooks, overlay) is None

    def change(**fields: Any) -> endpoints.Endpoint | None:
        hooks.database.write(lambda tx: overlays.change(tx, hooks.account, overlay, **fields))
        _sequence(hooks)
        return _endpoint(hooks, overlay)

    made = change(webhook="https://hooks.example/a")
    assert made is not None
    assert (made.title, made.url, made.events) == ("News", "https://hooks.example/a", [])
    hooks.database.write(
        lambda tx: endpoints.change(tx, hooks.account, made.id, settings=hooks.settings, enabled=False)
    )
    moved = change(webhook="https://hooks.example/b", name="Letter")
    assert moved is not None
    assert (moved.id, moved.title, moved.url, moved.enabled) == (made.id, "Letter", "https://hooks.example/b", True)
    assert change(webhook="") is None
    assert change(webhook="https://hooks.example/c") is not None
    hooks.database.write(lambda tx: overlays.remove(tx, hooks.account, overlay))
    _sequence(hooks)
    assert _endpoint(hooks, overlay) is None


def test_submission_before_the_endpoint_exists_creates_it(hooks: Hooks, receiver: Receiver) -> None:
    """As for an overlay of an earlier version."""
    overlay = _add_overlay(hooks, receiver.url)
    hooks.database.write(lambda tx: tx.execute(delete(webhook_endpoints).where(_e.overlay == overlay)))
    _submit(hooks, overlay)
    assert hooks.send() == 1


def test_endpoint_of_an_overlay_is_changed_in_the_overlay(hooks: Hooks) -> None:
    endpoint = _endpoint(hooks, _add_overlay(hooks, "https://hooks.example/"))
    assert endpoint is not None

    def change(**fields: Any) -> None:
        hooks.database.write(
            lambda tx: endpoints.change(tx, hooks.account, endpoint.id, settings=hooks.settings, **fields)
        )

    change(link=None, url=endpoint.url, title="Shop")  # as they are, and a name
    for field, value in (("url", "https://other.example/"), ("events", ["*"])):
        with pytest.raises(Problem, match="belongs to overlay") as caught:
            change(**{field: value})
        assert caught.value.field == field
    with pytest.raises(Problem, match="belongs to overlay"):
        hooks.database.write(lambda tx: endpoints.remove(tx, hooks.account, endpoint.id))


def test_endpoints_of_overlays_do_not_count_to_the_limit(hooks: Hooks) -> None:
    for number in range(endpoints.MAX_ENDPOINTS):
        _add_overlay(hooks, f"https://hooks.example/{number}")
    add: Any = {"settings": hooks.settings, "url": "https://hooks.example/own"}
    hooks.database.write(lambda tx: endpoints.add(tx, hooks.account, **add))
    count = select(func.count()).select_from(webhook_endpoints)
    assert hooks.database.read(lambda tx: tx.execute(count).scalar_one()) == endpoints.MAX_ENDPOINTS + 2


def test_endpoints_of_overlays_are_not_asked_for_other_events(hooks: Hooks) -> None:
    for number in range(3):
        _add_overlay(hooks, f"https://hooks.example/{number}")
    listening = hooks.database.read(lambda tx: outbox.listening(tx, [hooks.account]))
    assert [each.id for each in listening] == [hooks.endpoint]


def test_deleted_submission_is_in_no_message(hooks: Hooks, receiver: Receiver) -> None:
    overlay = _add_overlay(hooks, receiver.url)
    first, second = _submit(hooks, overlay), _submit(hooks, overlay)
    assert hooks.database.write(lambda tx: submissions.remove(tx, hooks.account, overlay, [first])) == 1
    query = select(_m.uid)
    assert hooks.database.read(lambda tx: tx.execute(query).scalars().all()) == [submissions.message_id(second)]


def test_other_endpoints_get_the_event_without_answers(hooks: Hooks) -> None:
    hooks.update(events=["overlay.submitted"])
    overlay = _add_overlay(hooks, "")
    _submit(hooks, overlay)
    (body,) = _bodies(hooks)
    payload = json.loads(body)
    data = {"id": overlay, "kind": "overlay", "label": "News", "after": {"type": "newsletter", "link": None}}
    assert (payload["type"], payload["data"]) == ("overlay.submitted", data)
    assert _EMAIL not in body


def test_endpoint_of_an_overlay_signs_with_its_first_secret(hooks: Hooks, receiver: Receiver) -> None:
    overlay = _add_overlay(hooks, receiver.url)
    query = select(_e.secret).where(_e.overlay == overlay)
    secret = hooks.database.read(lambda tx: tx.execute(query).scalar_one())
    _submit(hooks, overlay)
    assert hooks.send() == 1
    assert receiver.requests[0].verified(secret)["email"] == _EMAIL
