"""E-mail in the language of its recipient: the one that the account selected, else that of the request."""

import re

import pytest

from tests.conftest import PASSWORD, Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.logins import service_with_mail
from waypost.core.languages import LANGUAGES
from waypost.core.settings import Settings
from waypost.dashboard.i18n import text_in
from waypost.db.database import Database
from waypost.items.accounts import emails

_MESSAGES = {name: value for name, value in vars(emails).items() if isinstance(value, emails.Message)}
_VALUES = {"service": "Waypost", "username": "ana", "name": "script", "email": "new@example.com", "time": "2026-12-01"}


@ON_SQLITE
@pytest.mark.parametrize(
    ("selected", "accepted", "subject", "beginning"),
    [
        ("", "en", "Reset your waypost password", "A password reset was requested"),
        ("", "de-AT, en;q=0.5", "Setzen Sie Ihr waypost-Passwort zurück", "Für Ihr waypost-Konto"),
        ("fr", "de", "Réinitialisez votre mot de passe waypost", "La réinitialisation"),
    ],
)
def test_reset_link_is_sent_in_language_of_account_or_request(
    ana: Person, settings: Settings, database: Database, selected: str, accepted: str, subject: str, beginning: str
) -> None:
    with service_with_mail(settings, database) as (client, sent):
        browser = Browser(client)
        if selected:
            browser.sign_in("ana")
            browser.submit("/language", at="/account", language=selected)
            browser.client.cookies.clear()
        page = browser.client.get("/dashboard/forgot").text
        token = re.search(r'name="token" value="([^"]+)"', page)
        assert token is not None
        headers = {"Accept-Language": accepted}
        form = {"token": token[1], "name": "ana"}
        assert browser.client.post("/dashboard/forgot", data=form, headers=headers).status_code == 200
    (email,) = sent
    assert email["subject"] == subject
    assert email["text"].startswith(beginning)
    assert "\nhttp://go.localhost:8000/dashboard/reset?pass=" in email["text"]


@ON_SQLITE
def test_notices_of_the_dashboard_and_the_api_are_translated(
    ana: Person, settings: Settings, database: Database
) -> None:
    key = {"name": "Nachtlauf", "scope": "write", "expires": "", "password": PASSWORD}
    with service_with_mail(settings, database) as (client, sent):
        browser = Browser(client)
        browser.sign_in("ana")
        browser.submit("/language", at="/account", language="de")
        assert browser.submit("/account/keys", **key).status_code == 200
        headers = {"Authorization": f"Bearer {ana.key}", "Accept-Language": "fr"}
        client.put("/api/account/update", headers=headers, json={"password": "another password"})
    assert [email["subject"] for email in sent] == [
        "Ein neuer API-Schlüssel wurde erstellt",
        "Das Passwort Ihres waypost-Kontos wurde geändert",
    ]
    assert '"Nachtlauf"' in sent[0]["text"] or "„Nachtlauf“" in sent[0]["text"]


@pytest.mark.parametrize("language", list(LANGUAGES)[1:])
@pytest.mark.parametrize("name", _MESSAGES)
def test_message_is_translated_into_every_language(name: str, language: str) -> None:
    message = _MESSAGES[name]
    for text in filter(None, message[:3]):
        translated = text_in(language, text, **_VALUES)
        assert translated != text % _VALUES
        assert "%(" not in translated
