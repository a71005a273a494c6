"""Events become messages of the endpoints that select them: by name, and by campaign, channel or link."""

import json
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from tests.support.webhooks import Hooks, Receiver
from waypost.core.actor import Actor, acting
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import audit_log
from waypost.db.crud import PageRequest
from waypost.db.database import Database
from waypost.db.schema import accounts as accounts_table
from waypost.db.schema import audit, webhook_messages
from waypost.items.accounts import ops as accounts
from waypost.items.campaigns import ops as campaigns
from waypost.items.channels import ops as channels
from waypost.items.links import ops as links
from waypost.webhooks import catalog, deliveries, endpoints, notices, queue


def _add(hooks: Hooks, **fields: Any) -> int:
    """Add an endpoint for events of links; return its id."""
    values = {"url": "https://hooks.example/", "events": ["*"], **fields}
    return hooks.database.write(lambda tx: endpoints.add(tx, hooks.account, settings=hooks.settings, **values))[0].id


def _events(hooks: Hooks, endpoint: int) -> list[str]:
    """Return the events and the names of their things, of the messages for an endpoint."""
    hooks.sequence()
    window = PageRequest(limit=100)
    page = hooks.database.read(lambda tx: deliveries.page(tx, hooks.account, endpoint, window))
    return [f"{each.event} {json.loads(each.body)['data']['label']}".strip() for each in reversed(page.items)]


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        (["*"], True),
        (["channel.*"], True),
        (["channel.created"], True),
        (["channel.deleted", "link.*"], False),
    ],
)
def test_endpoint_gets_the_selected_events(hooks: Hooks, selected: list[str], *, expected: bool) -> None:
    hooks.sequence()
    endpoint = _add(hooks, events=selected)
    hooks.sequence()
    before = len(_events(hooks, endpoint))
    hooks.change()
    assert (len(_events(hooks, endpoint)) > before) == expected


@pytest.mark.parametrize("names", [[], ["link"], ["link.visited"], ["code.*"], ["*.created"], ["plan.created"]])
def test_unknown_event_is_rejected(names: list[str]) -> None:
    with pytest.raises(Problem) as caught:
        catalog.checked(names)
    assert caught.value.field == "events"


def test_selection_is_stored_without_redundant_names() -> None:
    assert catalog.checked(["link.created", "Link.*", "channel.deleted"]) == ["channel.deleted", "link.*"]
    assert catalog.checked(["link.created", "*"]) == ["*"]


def test_account_gets_its_own_events_only(hooks: Hooks, database: Database) -> None:
    hooks.sequence()
    endpoint = _add(hooks)

    def work(tx: Connection) -> None:
        ben = accounts.add(tx, email="ben@example.com", username="ben", password="*").id
        channels.add(tx, ben, name="Of Ben")
        accounts.add_plan(tx, name="Club", status="pro", rate_limit=9, upload_limit=9)

    database.write(work)
    assert _events(hooks, endpoint) == ["webhook.created"]


def test_suspended_account_gets_nothing(hooks: Hooks, receiver: Receiver) -> None:
    hooks.change("Before")
    is_ana = accounts_table.c.id == hooks.account
    hooks.database.write(lambda tx: tx.execute(update(accounts_table).where(is_ana).values(suspended=True)))
    hooks.change("After")
    assert (hooks.states, hooks.send(), receiver.requests) == ([("waiting", 0)], 0, [])


def test_endpoint_of_a_campaign_channel_or_link_gets_its_events_only(hooks: Hooks, settings: Settings) -> None:
    def make(tx: Connection) -> tuple[int, int, int, int]:
        campaign = campaigns.add(tx, hooks.account, name="Spring").id
        channel = channels.add(tx, hooks.account, name="News").id
        inside, outside = (
            links.add(tx, hooks.account, settings=settings, url="https://example.com/", title=title).id
            for title in ("Inside", "Outside")
        )
        links.change(tx, hooks.account, inside, settings=settings, campaign=campaign)
        channels.assign(tx, hooks.account, channel, "links", inside)
        return campaign, channel, inside, outside

    campaign, channel, inside, outside = hooks.database.write(make)
    hooks.sequence()
    made = [
        _add(hooks, **{name: item}) for name, item in (("campaign", campaign), ("channel", channel), ("link", inside))
    ]

    def change(tx: Connection) -> None:
        for link in (inside, outside):
            links.change(tx, hooks.account, link, settings=settings, description="new")
        campaigns.change(tx, hooks.account, campaign, name="Summer")
        channels.change(tx, hooks.account, channel, name="Latest")

    hooks.database.write(change)
    assert [_events(hooks, endpoint) for endpoint in made] == [
        ["link.updated Inside", "campaign.updated Summer"],
        ["link.updated Inside", "channel.updated Latest"],
        ["link.updated Inside"],
    ]
    hooks.database.write(lambda tx: links.change(tx, hooks.account, inside, settings=settings, campaign=None))
    assert _events(hooks, made[0])[-1] == "link.updated Inside"


def test_messages_have_no_key_network_or_secret(hooks: Hooks) -> None:
    endpoint = _add(hooks)
    actor = Actor("api", hooks.account, "wp_1a2b3c", "0123456789abcdef")

    def work(tx: Connection) -> None:
        link = links.add(tx, hooks.account, settings=hooks.settings, url="https://example.com/", password="$argon2-x")
        audit_log.record(tx, hooks.account, "link.updated", link.id, after={"title": "T"})
        endpoints.rotate(tx, hooks.account, hooks.endpoint)

    with acting(lambda: actor):
        hooks.database.write(work)
    assert len(_events(hooks, endpoint)) >= 2
    query = select(webhook_messages.c.body).where(webhook_messages.c.endpoint == endpoint)
    text = " ".join(hooks.database.read(lambda tx: tx.execute(query).scalars().all()))
    for secret in (actor.key, actor.network, "argon2", "whsec_", hooks.secret):
        assert secret not in text


def test_messages_of_a_disabled_endpoint_are_sent_after_it_is_enabled(hooks: Hooks, receiver: Receiver) -> None:
    hooks.change("One")
    hooks.update(enabled=False)
    hooks.change("Two")
    assert (hooks.send(), hooks.states) == (0, [("failed", 0), ("failed", 0)])

    def replay(tx: Connection) -> int:
        return deliveries.replay(tx, hooks.account, hooks.endpoint)

    with pytest.raises(Problem, match="Enable it first"):
        hooks.database.write(replay)
    hooks.update(enabled=True)
    assert hooks.database.write(replay) == 2
    while hooks.send():
        pass
    assert [request.verified(hooks.secret)["data"]["label"] for request in receiver.requests] == ["One", "Two"]


def test_span_and_one_message_are_sent_again(hooks: Hooks, receiver: Receiver) -> None:
    hooks.change("One")
    hooks.send()
    (sent,) = hooks.database.read(lambda tx: deliveries.page(tx, hooks.account, hooks.endpoint, PageRequest()).items)

    def replay(tx: Connection, **selection: int) -> int:
        return deliveries.replay(tx, hooks.account, hooks.endpoint, **selection)

    assert hooks.database.write(lambda tx: replay(tx, first=sent.created, last=sent.created)) == 1
    hooks.send()
    assert hooks.database.write(lambda tx: replay(tx, first=sent.created + 1)) == 0
    assert hooks.database.write(lambda tx: replay(tx, delivery=sent.id)) == 1
    hooks.send()
    assert receiver.ids == [sent.uid] * 3
    assert len(hooks.attempts) == 3
    with pytest.raises(Problem, match="No such delivery"):
        hooks.database.write(lambda tx: replay(tx, delivery=sent.id + 1))


def test_endpoints_of_an_account_are_limited(hooks: Hooks) -> None:
    for _ in range(endpoints.MAX_ENDPOINTS - 1):
        _add(hooks)
    with pytest.raises(Problem, match="has 10 webhooks already"):
        _add(hooks)


@pytest.mark.parametrize("url", ["http://go.localhost:8000/x", "ftp://example.com/", "example", ""])
def test_url_of_the_service_and_invalid_ones_are_rejected(hooks: Hooks, url: str) -> None:
    with pytest.raises(Problem) as caught:
        _add(hooks, url=url)
    assert caught.value.field == "url"


def test_failing_test_message_is_sent_once_and_does_not_count(hooks: Hooks, receiver: Receiver) -> None:
    hooks.update(enabled=False)

    def test(tx: Connection) -> deliveries.Delivery:
        return deliveries.send_test(tx, hooks.account, hooks.endpoint)

    hooks.database.write(test)
    receiver.answer = lambda: [b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"]
    hooks.send()
    assert (hooks.states, hooks.row["failing"]) == ([("failed", 1)], None)
    assert receiver.requests[0].verified(hooks.secret)["type"] == catalog.TEST


def test_owner_gets_e_mail_in_the_language_of_the_account(hooks: Hooks) -> None:
    is_ana = accounts_table.c.id == hooks.account
    hooks.database.write(lambda tx: tx.execute(update(accounts_table).where(is_ana).values(language="de")))
    notice = queue.Notice(hooks.account, hooks.endpoint, "Empfänger", "https://hooks.example/", "failing")
    email = hooks.database.read(lambda tx: notices.email(tx, hooks.settings, notice))
    assert email is not None
    assert email.to == "ana@example.com"
    assert "Empfänger" in email.text
    assert f"/dashboard/webhooks/{hooks.endpoint}" in email.text


def test_messages_that_are_sent_again_are_one_event_with_their_number(hooks: Hooks) -> None:
    hooks.update(enabled=False)
    hooks.change()
    hooks.change("Sales")
    hooks.update(enabled=True)
    for _ in range(2):  # the second time, none has failed
        hooks.database.write(lambda tx: deliveries.replay(tx, hooks.account, hooks.endpoint))
    query = select(audit.c.after).where(audit.c.name == "webhook.replayed")
    assert hooks.database.read(lambda tx: tx.execute(query).scalars().all()) == [{"messages": 2}]
