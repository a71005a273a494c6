"""A webhook in a browser, with and without scripts: create, try, disable, and send missed messages."""

import re
import threading
from functools import partial

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in
from tests.support.databases import ON_SQLITE
from tests.support.webhooks import WAIT_SECONDS, Receiver, receiver
from waypost.core.settings import Settings
from waypost.db import audit_sequence
from waypost.db.database import Database
from waypost.webhooks import outbox
from waypost.webhooks.sender import Sender

__all__ = ("receiver",)
pytestmark = ON_SQLITE


@pytest.mark.parametrize("scripts", [True, False])
def test_webhook_is_created_tried_disabled_and_sends_missed_messages(
    chrome: Browser,
    address: str,
    ana: Person,
    settings: Settings,
    database: Database,
    receiver: Receiver,
    *,
    scripts: bool,
) -> None:
    hosts = {"webhook_hosts": f"127.0.0.1:{receiver.port}"}
    send = partial(_send, database, Sender(settings.model_copy(update=hosts), database, threading.Event()))
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/webhooks/new")
        page.get_by_label("URL", exact=True).fill(receiver.url)
        page.get_by_role("button", name="Create webhook").click()
        secret = page.locator(".secret code").inner_text()
        page.get_by_role("button", name="Send a test").click()
        expect(page.get_by_text("A test is being sent.")).to_be_visible()
        send()
        assert "webhook.test" in {request.verified(secret)["type"] for request in receiver.requests}
        page.reload()
        expect(page.locator("li", has_text="Test").get_by_text("Delivered").last).to_be_visible()
        page.get_by_role("button", name="Disable").click()
        expect(page.get_by_text("The webhook is disabled.")).to_be_visible()
        ana.add("channel", name="News")
        send()
        assert "News" not in {request.verified(secret)["data"].get("label") for request in receiver.requests}
        page.reload()
        page.get_by_role("button", name=re.compile("Enable and send")).click()
        expect(page.get_by_text("The webhook is enabled.")).to_be_visible()
        send()
        assert "News" in {request.verified(secret)["data"].get("label") for request in receiver.requests}
        if scripts:
            examine(page, page.url.removeprefix(address))


def _send(database: Database, sender: Sender) -> None:
    """Send the messages of all events."""
    audit_sequence.Sequencer(database, [outbox.enqueue]).step()
    while sender.step():
        assert sender.wait(WAIT_SECONDS)
