"""Forms of the dashboard outside the editors: a summary of several errors with links, or one error at its field."""

import html
import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.conftest import BASE, PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.databases import ON_SQLITE
from tests.support.form_errors import only_error
from tests.support.logins import add_factor, service_with_mail
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.accounts import email_links
from waypost.server.app import build

pytestmark = ON_SQLITE
_SECRET = "not the password"


def _faults(response: Any, status: int = 400) -> list[str]:
    """Return the ids of the fields with errors, "" for an error without a field, and check that each has a message.

    The only error of a form is at its field alone; others are in a summary, too.
    """
    text = response.text
    assert _SECRET not in text
    if error := only_error(text):
        assert response.status_code == status
        return [error[0]]
    assert (response.status_code, text.count("data-summary")) == (status, 1)
    tag = re.search(r"<div class=\"alert bad error-summary\"[^>]*>", text)
    assert tag is not None
    assert {'role="alert"', 'tabindex="-1"', "autofocus"} <= set(tag[0].split())
    assert len(re.findall(r"[\s\"]autofocus[\s>]", text)) == 1, "the summary gets the focus, also without scripts"
    items = re.findall(r"<li>(.*?)</li>", text.partition("data-summary")[2].partition("</ul>")[0], re.DOTALL)
    ids = []
    for item in items:
        target = re.search(r'href="#([^"]+)"', item)
        ids.append(html.unescape(target[1]) if target else "")
    for name in filter(None, ids):
        assert text.count(f' id="{name}"') == 1
        field = re.search(rf'<(?:input|select|textarea|fieldset)\b[^>]*\bid="{name}"[^>]*>', text)
        assert field is not None, name
        assert f'aria-describedby="{name}-error"' in field[0]
        assert f'id="{name}-error"' in text
    assert f"Please correct {len(ids)} problem{'s' if len(ids) > 1 else ''}</p>" in text
    assert len(ids) > 1 or ids == [""]
    return ids


_OWN_FORMS: Sequence[tuple[str, str, dict[str, str], list[str]]] = [
    ("/account/email", "/account", {"email": "nothing", "password": _SECRET}, ["email", "password"]),
    ("/account/email", "/account", {"email": "new@example.com", "password": _SECRET}, ["password"]),
    ("/account/email", "/account", {"email": "ben@example.com", "password": PASSWORD}, ["email"]),
    ("/account/password", "/account", {"old": _SECRET, "new": "short", "revoke": "on"}, ["old", "new"]),
    (
        "/account/keys",
        "/account/keys",
        {"name": "", "scope": "x", "expires": "never"},
        ["name", "scope", "expires", "password"],
    ),
    ("/account/factor", "/account/factor", {"code": "12", "password": _SECRET}, ["code", "password"]),
    ("/account/delete", "/account/delete", {"password": _SECRET}, ["password"]),
    ("/admin/accounts/2/plan", "/admin/accounts/2", {"plan": "none"}, ["plan"]),
    ("/admin/accounts/2/delete", "/admin/accounts/2", {"password": _SECRET}, ["password"]),
]


@pytest.mark.parametrize(("path", "at", "fields", "ids"), _OWN_FORMS)
def test_form_of_the_account_shows_all_errors_in_one_summary(
    ana: Person, ben: Person, dashboard: Browser, path: str, at: str, fields: dict[str, str], ids: list[str]
) -> None:
    response = dashboard.submit(path, at, **fields)
    assert _faults(response) == ids
    for name, value in fields.items():
        if value not in (_SECRET, PASSWORD, "short", "", "on") and name not in ("scope", "plan"):
            assert f'value="{value}"' in response.text, "the input is kept"
    assert ("revoke" in fields) == bool(re.search(r'name="revoke"[^>]*checked', response.text))


@pytest.mark.parametrize("path", ["/account/factor/codes", "/account/factor/off", "/account/delete", "/account/keys"])
def test_missing_code_is_in_the_summary_with_a_wrong_password(ana: Person, dashboard: Browser, path: str) -> None:
    add_factor(ana)
    at = "/account/factor" if "factor" in path else path
    fields = {"name": "script", "scope": "write"}
    assert _faults(dashboard.submit(path, at, password=_SECRET, code="", **fields)) == ["password", "code"]
    assert _faults(dashboard.submit(path, at, password=PASSWORD, code="000000", **fields)) == ["code"]


def test_refused_sign_in_and_code_have_the_error_at_the_field(ana: Person, browser: Browser) -> None:
    response = browser.submit("/signin", name="ana", password=_SECRET)
    assert _faults(response) == ["password"]
    assert 'value="ana"' in response.text
    add_factor(ana)
    sealed = hidden_field(browser.sign_in("ana"), "sealed")
    assert _faults(browser.submit("/signin/code", at="/signin", sealed=sealed, code="000000")) == ["code"]


def test_registration_shows_all_errors_in_one_summary(ana: Person, settings: Settings, database: Database) -> None:
    with AsgiClient(build(settings.model_copy(update={"registration": "on"}), database)) as client:
        browser = Browser(client)
        response = browser.submit("/register", email="nothing", username="e v", password="short")
        assert _faults(response) == ["email", "username", "password"]
        assert 'value="nothing"' in response.text
        assert 'value="e v"' in response.text
        fields = {"email": "eve@example.com", "username": "ana", "password": _SECRET}
        assert _faults(browser.submit("/register", **fields)) == ["username"]


def test_forms_of_the_password_reset_have_the_error_at_the_field(
    ana: Person, settings: Settings, database: Database
) -> None:
    with service_with_mail(settings, database) as (client, _):
        browser = Browser(client)
        assert _faults(browser.submit("/forgot", name=" ")) == ["name"]
        assert _faults(browser.submit("/register", email="nothing")) == ["email"]
        link = database.read(lambda tx: email_links.reset_link(tx, "", ana.account)).removeprefix("/dashboard")
        fields = {"pass": link.partition("=")[2], "password": "short", "revoke": "on"}
        response = browser.submit("/reset", at=link, **fields)
        assert _faults(response) == ["password"]
        assert re.search(r'name="revoke"[^>]*checked', response.text)


def _upload(browser: Browser, files: dict[str, Any], **fields: str) -> Any:
    token = hidden_field(browser.get("/files/new"), "token")
    parts = {name: (None, value) for name, value in {"token": token, **fields}.items()}
    return browser.client.post("/dashboard/files/new", files={**parts, **files})


def test_refused_upload_shows_a_summary_and_keeps_the_fields(ana: Person, dashboard: Browser) -> None:
    file = {"file": ("a.txt", b"content")}
    fields = {"expiry": "2020-01-01T10:00", "maxdownloads": "x", "custom": "a b"}
    response = _upload(dashboard, file, **fields)
    assert _faults(response) == ["expiry", "maxdownloads"]
    assert "a.txt was not uploaded." in response.text
    for value in fields.values():
        assert f'value="{value}"' in response.text
    assert _faults(_upload(dashboard, file, custom="a b")) == ["custom"]
    response = _upload(dashboard, {}, custom="picture")
    assert _faults(response) == ["file"]
    assert 'value="picture"' in response.text


def test_other_forms_show_their_errors(ana: Person, dashboard: Browser) -> None:
    assert _faults(dashboard.get("/domains/new?domain=no+host")) == ["domain"]
    ana.add("url", url="https://example.com/", custom="spring")
    report = {"url": f"{BASE}/spring", "reason": "spam", "comment": ""}
    ana.client.post("/report", data=report)
    assert _faults(dashboard.submit("/admin/reports/1", decision="block", value="no host")) == ["value"]
    assert _faults(dashboard.submit("/admin/reports/1", decision="x", value="")) == [""]


def test_wrong_password_of_shared_statistics_is_said_at_the_field(ana: Person, browser: Browser) -> None:
    link = ana.add("url", url="https://example.com/")
    path = ana.post("/share/add", {"type": "link", "itemid": link, "password": "tulip"})["url"].removeprefix(BASE)
    token = hidden_field(browser.client.get(path), "token")
    assert _faults(browser.client.post(path, data={"token": token, "password": _SECRET}), 401) == ["password"]
