"""E-mails have a text part and HTML with the brand, in the language of the recipient."""

import pytest

from tests.support.brands import COLOR, data_url, logo
from waypost.core.settings import Settings
from waypost.dashboard.mails import Installation
from waypost.http.smtp import Email, SmtpServer
from waypost.items.accounts import emails
from waypost.media.branding.brand import NO_BRAND, Brand

_LINK = "https://go.example.com/dashboard/reset?pass=secret"
_BRAND = Brand("Acme & Söhne", COLOR, data_url(logo()))


def _email(brand: Brand = NO_BRAND, language: str = "en") -> Email:
    sender = Installation(Settings(base_url="https://go.example.com"), brand)
    return emails.with_link(sender, "zoe@example.com", language, emails.RESET, _LINK, emails.NOT_REQUESTED)


@pytest.mark.parametrize(("language", "direction"), [("de", "ltr"), ("ar", "rtl")])
def test_html_has_the_language_and_its_direction(language: str, direction: str) -> None:
    email = _email(language=language)
    assert f'<html lang="{language}" dir="{direction}">' in email.html
    assert f'href="{_LINK}"' in email.html
    assert f"\n{_LINK}\n" in email.text


def test_brand_is_in_the_html_and_escaped() -> None:
    email = _email(_BRAND)
    assert COLOR in email.html
    assert "Acme &amp; Söhne" in email.html
    assert "Acme & Söhne" in email.text
    assert 'src="cid:logo"' in email.html


@pytest.mark.parametrize("brand", [NO_BRAND, _BRAND])
def test_html_loads_nothing_and_runs_nothing(brand: Brand) -> None:
    html = _email(brand).html
    for forbidden in ("<script", "<link", "url(", "@import", 'src="http', "data:"):
        assert forbidden not in html


def test_logo_is_a_part_of_the_message() -> None:
    server = SmtpServer(Settings())
    message = server.message(_email(_BRAND), server.new_message_id())
    types = [part.get_content_type() for part in message.walk()]
    assert types == ["multipart/alternative", "text/plain", "multipart/related", "text/html", "image/png"]
    assert next(part["Content-ID"] for part in message.walk() if part["Content-ID"]) == "<logo>"
    assert b"List-Unsubscribe" not in message.as_bytes()


def test_one_click_unsubscription_has_both_headers() -> None:
    server = SmtpServer(Settings())
    message = server.message(_email()._replace(unsubscribe="https://go.example.com/u"), "<1@a.example>")
    assert message["List-Unsubscribe"] == "<https://go.example.com/u>"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert message["Message-ID"] == "<1@a.example>"
