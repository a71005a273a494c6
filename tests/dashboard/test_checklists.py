"""The checklists of the overview: first steps of a user, and of the administrator of a new installation."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.visits import DESTINATION
from waypost.clicks.geo import lookup
from waypost.core.settings import Settings
from waypost.items.statistics import onboarding
from waypost.storage.factory import open_store
from waypost.transfer.backup import archive


def _open_steps(dashboard: Browser, name: str) -> list[str] | None:
    """Return the titles of the steps that are not done; None if the list is not shown."""
    section = re.search(rf'aria-labelledby="checklist-{name}".*?</section>', dashboard.get("").text, re.DOTALL)
    if section is None:
        return None
    items = re.findall(r"<li\s*>.*?</li>", section[0], re.DOTALL)
    return [re.sub("<[^>]+>", "", re.search(r"<div>\s*(<.*?>.*?</\w+>)", item, re.DOTALL)[1]).strip() for item in items]  # type: ignore[index]


def test_steps_of_user_are_ticked_until_the_list_disappears(ana: Person, ben: Person, dashboard: Browser) -> None:
    ben.add("url", url=DESTINATION)
    titles = _open_steps(dashboard, "user")
    assert titles == [
        "Create a link",
        "Create a QR code",
        "Create a bio page",
        "Connect your domain",
        "Turn on two-factor authentication",
    ]
    ana.add("url", url=DESTINATION)
    ana.add("qr", type="text", data="hello")
    assert _open_steps(dashboard, "user") == titles[2:]
    ana.add("bio", name="Ana", alias="ana-bio")
    ana.add("domain", domain="https://go.ana.example")
    assert _open_steps(dashboard, "user") is None  # two-factor authentication is optional
    assert _open_steps(dashboard, "administrator") is None
    assert "Set the public URL" in dashboard.get("/admin/health").text


@pytest.mark.parametrize("name", ["user", "administrator"])
def test_dismissed_list_stays_hidden(dashboard: Browser, name: str) -> None:
    assert _open_steps(dashboard, name)
    assert dashboard.submit("/checklists", at="?", name=name).status_code == 303
    assert _open_steps(dashboard, name) is None
    assert _open_steps(dashboard, {"user": "administrator", "administrator": "user"}[name])
    assert dashboard.submit("/checklists", at="?", name="nonsense").status_code == 303


def test_only_administrators_get_the_list_of_the_installation(ben: Person, browser: Browser) -> None:
    browser.sign_in("ben")
    assert _open_steps(browser, "administrator") is None
    assert _open_steps(browser, "user")


def test_backup_ticks_its_step(ana: Person, dashboard: Browser, settings: Settings, tmp_path: Path) -> None:
    assert "Make a backup" in (_open_steps(dashboard, "administrator") or ())
    with closing(open_store(settings)) as store:
        archive.backup(ana.database, store, tmp_path / "waypost.tar.gz")
    assert "Make a backup" not in (_open_steps(dashboard, "administrator") or ())


def test_settings_tick_their_steps(ana: Person, settings: Settings) -> None:
    geo_file = settings.data_dir / "geo" / "country.mmdb"
    geo_file.parent.mkdir(parents=True)
    geo_file.write_bytes(b"")
    values = {"smtp_url": "smtp://127.0.0.1:25", "dead_links_days": 7, "base_url": "https://go.example.com"}
    changed = Settings(data_dir=settings.data_dir, **values)  # type: ignore[arg-type]
    steps = ana.database.read(lambda tx: onboarding.steps_of_administrator(tx, changed))
    assert [step.title for step in steps if not step.is_done] == ["Make a backup"]


@pytest.mark.parametrize(("proxies", "open_commands"), [("127.0.0.1", []), ("", ["waypost geo update"])])
def test_country_header_of_trusted_proxy_completes_step_of_database(
    ana: Person,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    proxies: str,
    open_commands: list[str],
) -> None:
    monkeypatch.setattr(lookup, "TOR_FOLDER", tmp_path)  # the machine can have a database
    changed = settings.model_copy(update={"country_header": "CF-IPCountry", "trusted_proxies": proxies})
    steps = ana.database.read(lambda tx: onboarding.steps_of_administrator(tx, changed))
    commands = [step.command for step in steps if not step.is_done]
    assert [command for command in commands if command == "waypost geo update"] == open_commands


@pytest.mark.parametrize("path", ["/statistics", "/visits"])
def test_empty_numbers_lead_to_the_first_link_until_there_is_one(
    ana: Person, ben: Person, dashboard: Browser, path: str
) -> None:
    ben.add("url", url=DESTINATION)
    button = re.compile(r'<div class="empty">.*href="/dashboard/links/new"[^>]*>.*Create a link\s*</a>', re.DOTALL)
    assert button.search(dashboard.get(path).text)
    filtered = dashboard.get(f"{path}?browser=Firefox").text
    assert not button.search(filtered)
    ana.add("url", url=DESTINATION)
    assert not button.search(dashboard.get(path).text)
