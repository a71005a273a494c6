"""Errors of forms name fields by their labels: names of the API that differ from them never appear."""

import html
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pytest

from tests.conftest import Person
from tests.contract.resources import RESOURCES
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.databases import ON_SQLITE
from waypost.items.bios.schemas import NewBio
from waypost.items.campaigns.api import NewCampaign
from waypost.items.channels.api import NewChannel
from waypost.items.domains.api import NewDomain
from waypost.items.links.schemas import NewLink
from waypost.items.overlays.api import NewOverlay
from waypost.items.pixels.api import NewPixel
from waypost.items.qr.form import PARTS
from waypost.items.qr.schemas import NewCode
from waypost.items.shares.api import NewShare
from waypost.items.splash.api import NewSplash
from waypost.items.utm.api import NewTemplate

pytestmark = ON_SQLITE
_MODELS = (
    *(NewBio, NewCampaign, NewChannel, NewCode, NewDomain, NewLink, NewOverlay, NewPixel, NewShare, NewSplash),
    NewTemplate,
)
_PARTS = {part for parts in PARTS.values() for part in parts} | {"showfrom", "showuntil", "b1"}
# Words that labels and sentences have too, with the same meaning.
_WORDS = frozenset(
    "channel campaign pixels name type domain password title description status data text link url image color file"
    " message number subject email phone street city state zip country location start end address"
    " amount logo code encryption".split()
)
_API_NAMES = {name for model in _MODELS for name in model.model_fields} | _PARTS - _WORDS
_VALUES = (
    "",
    "nothing here",
    "a b",
    "javascript:1",
    "x" * 300,
    "x" * 9000,
    "-1",
    "9" * 15,
    "2020-01-01T10:00",
    "https://",
)
_INPUT = re.compile(r'<(?:input|textarea)\b[^>]*?name="([^"]+)"[^>]*>')
_NOT_TEXT = re.compile(r'type="(?:hidden|checkbox|radio|file|submit)"')


def _messages(page: str) -> list[str]:
    """Return the errors at the fields and in the summary."""
    parts = re.findall(r'class="field-error" id[^>]*>(.*?)</small>', page, re.DOTALL)
    for summary in re.findall(r"data-summary>.*?<ul>(.*?)</ul>", page, re.DOTALL):
        parts += re.findall(r"<li>(.*?)</li>", summary, re.DOTALL)
    return [" ".join(html.unescape(re.sub("<[^>]+>", "", part)).split()) for part in parts]


@lru_cache(maxsize=1)
def _known_words(page: str) -> frozenset[str]:
    """Return the words of all labels of a page."""
    labels = " ".join(re.findall(r"<(?:label|legend|option)\b.*?</(?:label|legend|option)>", page, re.DOTALL))
    labels += " ".join(re.findall(r'aria-label="([^"]*)"', page))
    return _WORDS | set(re.findall(r"\w+", re.sub("<[^>]+>", " ", labels).lower()))


def _api_names(message: str, page: str) -> set[str]:
    """Return the names of the API in a message that are no words of a label. Values such as URLs are no names."""
    return set(re.findall(r"(?<![\w/.@:-])[a-z_]+(?![\w/@-])", message)) & (_API_NAMES - _known_words(page))


def _text_fields(page: str) -> set[str]:
    form = max(re.findall(r'<form\b[^>]*method="post".*?</form>', page, re.DOTALL), key=len)
    return {match[1] for match in _INPUT.finditer(form) if not _NOT_TEXT.search(match[0])} - {"token", "version"}


@pytest.mark.parametrize("language", ["en", "de"])
def test_errors_of_every_form_have_labels(ana: Person, dashboard: Browser, language: str) -> None:
    for resource in RESOURCES:
        ana.post(f"{resource.path}/add", resource.body())
    dashboard.submit("/language", at="/links", language=language)
    folders = ("links", "campaigns", "channels", "pixels", "splash", "utm", "bios", "qr", "domains")
    pages = [f"/{folder}/{name}" for folder in folders for name in ("new", "1")]
    pages += ["/campaigns/1/settings", "/shares/link/1", "/account/keys", "/overlays/new?type=poll", "/overlays/1"]
    named: dict[str, set[str]] = {}
    errors = 0
    for path in pages:
        response = dashboard.get(path)
        page = response.text
        if 'method="post"' not in page:
            continue
        token, fields = hidden_field(response, "token"), _text_fields(page)
        for value in _VALUES:
            form = {"token": token, **dict.fromkeys(fields, value)}
            response = dashboard.client.post(f"/dashboard{path.partition('?')[0]}", data=form)
            messages = _messages(response.text)
            errors += len(messages)
            for message in messages:
                if names := _api_names(message, page):
                    named.setdefault(f"{path}: {message[:200]}", set()).update(names)
    assert named == {}
    assert errors > 300


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ({"type": "wifi"}, "Network name is required."),
        ({"type": "email"}, "Recipient is required."),
        ({"type": "email", "email.email": "x"}, "Recipient must be a valid e-mail address"),
        ({"type": "geo"}, "Latitude: Enter a latitude from -90 to 90, such as 52.52."),
        ({"type": "geo", "geo.lat": "1", "geo.lng": "999"}, "Enter a longitude from -180 to 180"),
        ({"type": "app"}, "Enter the page of the app in at least one store."),
        (
            {"type": "app", "app.apple": "https://apps.apple.com/x", "dynamic": "false"},
            "An app needs tracking, because the store is selected at the scan.",
        ),
        ({"type": "vcard"}, "Content needs a first name, a last name or a company."),
        (
            {"type": "wifi", "wifi.ssid": "x", "wifi.encryption": "WPA"},
            "Enter the password of the network. An open network has no encryption.",
        ),
        ({"type": "event", "event.title": "x"}, "Start is required."),
        ({"type": "crypto", "crypto.currency": "bitcoin", "crypto.address": "x"}, "Address must be an address"),
    ],
)
def test_errors_of_codes_have_labels(dashboard: Browser, code: Mapping[str, str], message: str) -> None:
    other_parts = {f"{code['type']}.{part}": "" for part in PARTS[code["type"]]}
    response: Any = dashboard.submit("/qr/new", **{**other_parts, **code})
    assert response.status_code == 400
    messages = _messages(response.text)
    assert any(message in text for text in messages), messages
    assert [names for text in messages if (names := _api_names(text, response.text))] == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"url": "https://example.com/", "expiry": "2020-01-01T10:00"},
            "darf nicht in der Vergangenheit liegen.",
        ),
        (
            {
                "url": "https://example.com/",
                "geotarget.location": "Nirgendwo",
                "geotarget.link": "https://example.com/",
            },
            "muss der Name oder der Code aus zwei Buchstaben eines Landes sein",
        ),
    ],
)
def test_errors_of_validators_are_translated(dashboard: Browser, fields: Mapping[str, str], message: str) -> None:
    dashboard.submit("/language", at="/links", language="de")
    messages = _messages(dashboard.submit("/links/new", **fields).text)
    assert any(message in text for text in messages), messages
