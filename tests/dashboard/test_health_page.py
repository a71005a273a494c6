"""Health page: the level of each part, the last backup, queues, and the test e-mail."""

import os
import re

import pytest
import time_machine

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.logins import service_with_mail
from waypost.core import clock
from waypost.core.metrics import Meter
from waypost.core.settings import Settings
from waypost.db import last_backup
from waypost.db.database import Database
from waypost.server.app import build

pytestmark = ON_SQLITE
_DAY = 86_400


@pytest.fixture
def dashboard(service: AsgiClient, ana: Person) -> Browser:
    """Ana, an administrator because her account is the first."""
    browser = Browser(service)
    assert browser.sign_in("ana").status_code == 303
    return browser


def _levels(page: str) -> dict[str, str]:
    """Return the level of each part by its title."""
    return {
        title: level
        for level, title in re.findall(r'<li class="level-(\w+)(?: wrapping)?">.*?<strong>([^<]+)<', page, re.DOTALL)
    }


def _text(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.mark.parametrize(("days", "level"), [(0, "good"), (2, "good"), (3, "warn"), (7, "warn"), (8, "bad")])
def test_backup_becomes_amber_and_red_with_its_age(
    dashboard: Browser, database: Database, days: int, level: str
) -> None:
    page = dashboard.get("/admin/health").text
    assert _levels(page)["Backup"] == "warn"
    assert "There is no backup yet." in page
    database.write(last_backup.record)
    with time_machine.travel(clock.now() + days * _DAY, tick=False):
        page = dashboard.get("/admin/health").text
    assert _levels(page)["Backup"] == level
    assert "Last backup:" in page


def test_failed_backup_is_red_with_its_reason_until_the_next_one(dashboard: Browser, database: Database) -> None:
    database.write(last_backup.record)
    database.write(lambda tx: last_backup.record_failure(tx, "/mnt/a.tar.gz cannot be written: No space left."))
    page = dashboard.get("/admin/health").text
    assert _levels(page)["Backup"] == "bad"
    assert re.search(r"The last backup failed, .*: /mnt/a.tar.gz cannot be written: No space left\.", _text(page))
    assert "Last backup:" in page
    database.write(last_backup.record)
    page = dashboard.get("/admin/health").text
    assert _levels(page)["Backup"] == "good"
    assert "The last backup failed" not in page


def test_queues_of_all_running_processes_are_added_up(dashboard: Browser, settings: Settings) -> None:
    other = Meter(settings.metrics_dir, "-other")
    killed = Meter(settings.metrics_dir)
    killed.path = settings.metrics_dir / "4194305.counts"  # above the largest process id
    for meter in (other, killed):
        meter.set_queue("webhooks", 900)
        meter.set_queue("emails", 21)
        meter.save()
    page = dashboard.get("/admin/health").text
    levels = _levels(page)
    assert (levels["E-mails to send"], levels["Webhooks to send"]) == ("warn", "bad")
    assert "E-mails to send : Needs attention 21 " in _text(page)
    assert "Webhooks to send : Needs action now 900 " in _text(page)
    assert "Some parts need action now." in page


def test_lost_clicks_and_rejected_requests_are_shown(dashboard: Browser, settings: Settings) -> None:
    meter = Meter(settings.metrics_dir, "-other")
    meter.count("clicks_lost", by=3)
    meter.count("shed", by=2)
    meter.save()
    page = dashboard.get("/admin/health").text
    assert _levels(page)["Click counting"] == "bad"
    assert "3 clicks could not be written since the start." in page
    assert _levels(page)["Load"] == "warn"
    assert "2 requests were rejected since the start." in page


@pytest.mark.parametrize(("last_minute", "quarter", "level"), [(50.0, 0.1, "good"), (0.1, 50.0, "warn")])
def test_load_is_judged_by_15_minutes_and_warns_only(
    dashboard: Browser, monkeypatch: pytest.MonkeyPatch, last_minute: float, quarter: float, level: str
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (last_minute, last_minute, quarter))
    page = dashboard.get("/admin/health").text
    assert _levels(page)["Load"] == level
    assert ("If this lasts, add processors" in page) == (level == "warn")


def test_test_email_is_sent_to_the_administrator(ana: Person, settings: Settings, database: Database) -> None:
    with service_with_mail(settings, database) as (client, emails):
        dashboard = Browser(client)
        assert dashboard.sign_in("ana").status_code == 303
        assert _levels(dashboard.get("/admin/health").text)["E-mail"] == "good"
        message = dashboard.submit_for_message("/admin/health/email", at="/admin/health")
        assert message == f"A test e-mail was sent to {emails[-1]['to']}."
        assert emails[-1]["subject"] == "Test e-mail from waypost"


def test_reason_is_shown_if_test_email_fails(ana: Person, settings: Settings, database: Database) -> None:
    changed = settings.model_dump() | {"smtp_url": "smtp://127.0.0.1:1", "smtp_tls": "off"}
    with AsgiClient(build(Settings.model_validate(changed), database)) as client:
        dashboard = Browser(client)
        assert dashboard.sign_in("ana").status_code == 303
        message = dashboard.submit_for_message("/admin/health/email", at="/admin/health")
        assert message.startswith("The e-mail could not be sent: ")
        assert "refused" in message


def test_test_email_needs_a_server(dashboard: Browser) -> None:
    page = dashboard.get("/admin/health").text
    assert "Send test e-mail" not in page
    assert _levels(page)["E-mail"] == "warn"
    assert dashboard.submit("/admin/health/email", at="/admin/accounts/1").status_code == 400


def test_open_steps_of_the_setup_are_above_the_state(dashboard: Browser) -> None:
    page = _text(dashboard.get("/admin/health").text)
    assert page.index("Set up this installation") < page.index("Click counting")
