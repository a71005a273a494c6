"""Messages in the formats of chats and analytics are as their receivers document them."""

import json
from typing import Any
from urllib.parse import parse_qs

import pytest
import time_machine
from sqlalchemy import Connection, select, update

from tests.support import event_samples
from tests.support.clicks import NOW_MS, click
from tests.support.fake_internet import empty
from tests.support.fake_receivers import CHECKS, accepted
from tests.support.webhooks import Hooks, Receiver, count_lines
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.db.schema import accounts, audit
from waypost.items.channels import ops as channels
from waypost.items.links import ops as links
from waypost.webhooks import catalog, endpoints, formats, outbox, queue, visit_outbox
from waypost.webhooks.formats import MAX_VISITS, Target
from waypost.webhooks.visit_outbox import HOLD_SECONDS

_TOKEN = "0123456789abcdef" * 2
_FIELDS: dict[str, dict[str, Any]] = {
    "slack": {"events": ["channel.*", "link.clicked"]},
    "discord": {"events": ["channel.*", "link.clicked"]},
    "matomo": {"url": "matomo.php", "site": "7", "credential": _TOKEN},
    "plausible": {"url": "api/event", "site": "go.example.com"},
    "ga4": {"url": "mp/collect", "site": "G-ABC123", "credential": "sesame/+"},
}
_ANALYTICS = ("matomo", "plausible", "ga4")
_BASE = "https://go.example.com"


def _use(hooks: Hooks, receiver: Receiver, name: Any) -> None:
    """Replace the endpoint by one in a format."""
    fields = {**_FIELDS[name], "format": name, "url": receiver.url.replace("hook", _FIELDS[name].get("url", "hook"))}

    def work(tx: Connection) -> int:
        endpoints.remove(tx, hooks.account, hooks.endpoint)
        return endpoints.add(tx, hooks.account, settings=hooks.settings, **fields)[0].id

    hooks.endpoint = hooks.database.write(work)


def _click(hooks: Hooks, number: int, title: str = "Spring sale") -> None:
    fields: Any = {"url": "https://example.com/", "title": title}
    link = hooks.database.write(lambda tx: links.add(tx, hooks.account, settings=hooks.settings, **fields)).id
    count_lines(hooks, click(link) * number)


def _send_all(hooks: Hooks) -> None:
    with time_machine.travel(clock.now() + HOLD_SECONDS + 1):
        while hooks.send():
            pass


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("clicks", [1, 60])
def test_receiver_accepts_all_visits(hooks: Hooks, receiver: Receiver, name: str, clicks: int) -> None:
    _use(hooks, receiver, name)
    _click(hooks, clicks, title="<A & B> " + "x" * 150)
    _send_all(hooks)
    bodies = [accepted(name, request) for request in receiver.requests]
    sizes = {"matomo": [60], "plausible": [1] * 60, "ga4": [25, 25, 10]}
    if name in sizes and clicks > 1:
        visits = [body.get("requests") or body.get("events") or [body] for body in bodies]
        assert sorted(map(len, visits), reverse=True) == sizes[name]
    assert {state for state, _ in hooks.states} == {"delivered"}


@pytest.mark.parametrize("name", ["plausible", "ga4"])
def test_message_of_an_older_node_with_more_visits_than_a_request_takes_arrives_in_parts(
    hooks: Hooks, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _use(hooks, receiver, name)
    with monkeypatch.context() as patch:
        patch.setattr(visit_outbox, "max_visits", lambda _name: MAX_VISITS)
        _click(hooks, 60)
    assert len(hooks.states) == 1
    statuses = iter([503, 503])
    receiver.answer = lambda: [empty(next(statuses, 204))]
    _send_all(hooks)
    assert {state for state, _ in hooks.states} == {"waiting", "delivered"}
    with time_machine.travel(clock.now() + 3600):
        _send_all(hooks)
    sizes = {"plausible": [1] * 60, "ga4": [25, 25, 10]}[name]
    bodies = [accepted(name, request) for request in receiver.requests[2:]]
    assert sorted((len(body.get("events") or [body]) for body in bodies), reverse=True) == sizes
    assert {state for state, _ in hooks.states} == {"delivered"}
    assert (len(hooks.states), len(hooks.attempts)) == (len(sizes), len(sizes) + 2)


@pytest.mark.parametrize("name", CHECKS)
def test_receiver_accepts_a_test(hooks: Hooks, receiver: Receiver, name: str) -> None:
    _use(hooks, receiver, name)
    hooks.database.write(lambda tx: outbox.enqueue_test(tx, hooks.account, hooks.endpoint))
    hooks.send()
    accepted(name, receiver.requests[0])


@pytest.mark.parametrize("name", ["slack", "discord"])
@pytest.mark.parametrize("event", sorted(catalog.NAMES))
def test_chat_gets_a_sentence_of_each_event(name: Any, event: str) -> None:
    sample = json.dumps(event_samples.samples()[event])
    request = formats.request(Target("https://chat.example/hook", name), "msg_1", sample, _BASE)
    body = json.loads(request.body)
    CHECKS[name](request.url, request.headers, body)
    assert "%(" not in request.body.decode()
    assert "http" in request.body.decode()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("slack", "Kanal: <https://go.example.com/dashboard/channels/7|A &amp; &lt;B&gt; *c*>: Erstellt"),
        ("discord", "Kanal: [A & \\<B\\> \\*c\\*](<https://go.example.com/dashboard/channels/7>): Erstellt"),
    ],
)
def test_sentence_is_in_the_language_of_the_account_and_escaped(name: Any, text: str) -> None:
    data = {"id": 7, "kind": "channel", "label": "A & <B> *c*", "origin": "api", "before": None, "after": {}}
    body = outbox.as_json("channel.created", 1_796_029_200, data)
    sent = json.loads(formats.request(Target("https://chat.example/", name, language="de"), "m", body, _BASE).body)
    assert (sent.get("text") or sent["content"]).replace("Kanal ", "Kanal: ") == text


def test_language_of_the_account_is_used(hooks: Hooks, receiver: Receiver) -> None:
    _use(hooks, receiver, "slack")
    is_ana = accounts.c.id == hooks.account
    hooks.database.write(lambda tx: tx.execute(update(accounts).where(is_ana).values(language="de")))
    hooks.change("Neues")
    hooks.send()
    assert "Erstellt" in accepted("slack", receiver.requests[0])["text"]


def test_chat_gets_the_sums_of_visits(hooks: Hooks, receiver: Receiver) -> None:
    _use(hooks, receiver, "slack")
    _click(hooks, 12)
    _send_all(hooks)
    text = accepted("slack", receiver.requests[0])["text"]
    assert text.endswith("|Spring sale>: 12 clicks")


def test_sentences_that_are_too_long_are_cut_at_a_line(receiver: Receiver) -> None:
    visits = [{"id": n, "label": f"Link {n} " + "x" * 90, "url": f"{_BASE}/{n}"} for n in range(100)]
    body = outbox.as_json("link.clicked", 1, {"id": None, "kind": "link", "visits": visits})
    content = json.loads(formats.request(Target("https://d.example/", "discord"), "m", body, _BASE).body)["content"]
    assert 1800 < len(content) <= 2000
    assert content.endswith(": 1 click\n…")


def test_visit_has_its_time_referrer_and_no_address(hooks: Hooks, receiver: Receiver) -> None:
    _use(hooks, receiver, "matomo")
    _click(hooks, 1)
    _send_all(hooks)
    (query,) = accepted("matomo", receiver.requests[0])["requests"]
    values = {name: each[0] for name, each in parse_qs(query[1:]).items()}
    assert values["cdt"] == str(NOW_MS // 1000)
    assert (values["action_name"], values["urlref"], values["idsite"]) == ("Spring sale", "https://x.com/", "7")
    assert "203.0.113" not in receiver.requests[0].body


@pytest.mark.parametrize("name", _ANALYTICS)
def test_repeated_attempt_sends_the_same(hooks: Hooks, receiver: Receiver, name: str) -> None:
    _use(hooks, receiver, name)
    receiver.answer = lambda: [empty(500)]
    _click(hooks, 1)
    with time_machine.travel(clock.now() + HOLD_SECONDS + 1):
        hooks.send()
    receiver.answer = lambda: [empty(204)]
    with time_machine.travel(clock.now() + HOLD_SECONDS + 2 * queue.RETRY_SECONDS[0]):
        hooks.send()
    first, second = receiver.requests
    assert first == second


def test_token_is_in_no_event_and_no_answer(hooks: Hooks, receiver: Receiver) -> None:
    _use(hooks, receiver, "matomo")
    hooks.update(credential="f" * 32)
    shown = endpoints.get_owned
    assert _TOKEN not in repr(hooks.database.read(lambda tx: shown(tx, hooks.account, hooks.endpoint)))
    stored = hooks.database.read(lambda tx: tx.execute(select(audit.c.before, audit.c.after)).all())
    assert _TOKEN not in repr(stored)
    assert "f" * 32 not in repr(stored)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"format": "matomo", "site": "7"}, "credential"),
        ({"format": "matomo", "credential": _TOKEN}, "site"),
        ({"format": "plausible", "site": "go.example.com", "credential": "x"}, "credential"),
        ({"format": "slack", "site": "7"}, "site"),
        ({"format": "plausible", "site": "go.example.com", "events": ["link.*"]}, "events"),
        ({"format": "plausible", "site": "go.example.com", "events": ["link.clicked", "link.created"]}, "events"),
    ],
)
def test_fields_that_do_not_fit_the_format_are_rejected(hooks: Hooks, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(Problem) as caught:
        hooks.database.write(
            lambda tx: endpoints.add(tx, hooks.account, settings=hooks.settings, url="https://x.example/", **fields)
        )
    assert caught.value.field == field


def test_format_changes_between_chats_but_not_to_analytics(hooks: Hooks) -> None:
    hooks.update(format="discord")
    assert hooks.row["format"] == "discord"
    hooks.update(format=None)
    assert hooks.row["format"] == "standard"
    with pytest.raises(Problem, match="Create another webhook"):
        hooks.update(format="plausible", site="go.example.com", events=["link.clicked"])


def test_analytics_get_all_visits_by_default(hooks: Hooks, receiver: Receiver) -> None:
    _use(hooks, receiver, "plausible")
    assert set(hooks.row["events"]) == set(catalog.VISITS.values())
    hooks.database.write(lambda tx: channels.add(tx, hooks.account, name="News"))
    hooks.sequence()
    assert hooks.send() == 0
