"""Values of selects, radio buttons and checkboxes that the page does not offer are refused in the user's language."""

import html
import re
from collections.abc import Iterator
from typing import Any

from tests.conftest import Person
from tests.contract.resources import RESOURCES
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from waypost.server.routers import DASHBOARD_PAGES

pytestmark = ON_SQLITE
_FORGED = "gone"
_REFUSED = (
    *(
        "muss eine der Optionen sein. Wählen Sie eine andere aus.",
        "muss eine Ihrer eigenen Domains oder der Host dieses Dienstes sein.",
    ),
    *("muss eine Ihrer UTM-Vorlagen sein. Wählen Sie eine andere aus.", "muss eines Ihrer Formulare sein."),
)
_GRADIENT = {"blend": "on", "gradient.color": "#0d6b4f", "gradient.angle": "45"}
_VALID = {"url": "https://example.com/", "name": "A name", "tag": "TAG-1", "values": "a.example", **_GRADIENT}
_CONTENTS = {"wifi.ssid": "Home", "crypto.address": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT", "text.text": "Text"}
_SAVED = {"base", "mode"}
"""The theme of a bio page: an unknown one is stored, and shown as the default, because new versions can have others."""
_OTHERS = {
    ("/dashboard/files/new", "domain"),
    ("/dashboard/admin/blocks", "kind"),
    ("/dashboard/links/columns", "column"),
    ("/dashboard/language", "language"),
}
"""A field of a form that needs a file, and three that have a default for other values."""
_STATES = {"look", "view", "do", "item", "id", "version", "token", "next", "place"}
"""Fields that say how a page looks, or that select rows of a list."""


def _forms(page: str) -> Iterator[tuple[str, set[str]]]:
    """Return the action of each form that is sent, and the names of its choices."""
    for form in re.findall(r'<form\b[^>]*method="post".*?</form>', re.sub(r"\s+", " ", page)):
        action = re.search(r'action="([^"#]*)', form[: form.index(">")])
        matches = map(_choice, re.findall(r"<(?:select|input)\b[^>]*", form))
        names = {match[1] for match in matches if match}
        if action and names - _STATES:
            yield action[1], names - _STATES


def _choice(tag: str) -> Any:
    """Return a match of the name if the tag is a select, or an input with a value to choose."""
    is_choice = tag.startswith("<select") or re.search(r'type="(radio|checkbox)"', tag)
    return re.search(r'\bname="([^"]+)"', tag) if is_choice and 'value="on"' not in tag else None


def _messages(page: str) -> list[str]:
    parts = re.findall(r'class="field-error" id[^>]*>(.*?)</small>', page, re.DOTALL)
    return [" ".join(html.unescape(re.sub("<[^>]+>", "", part)).split()) for part in parts]


def _fields(page: str, choice: str) -> dict[str, str]:
    """Return a form with valid values of the required fields, and a value of one field that is not offered."""
    names = set(re.findall(r'\bname="([^"]+)"', page))
    values = {name: value for name, value in _VALID.items() if name in names}
    values |= dict(re.findall(r'name="(version)" value="([^"]+)"', page))
    kind = choice.partition(".")[0] if choice.startswith(("wifi", "crypto")) else "text"
    if "type-text" in page:
        parts = {name: "" for name in names if name.startswith(f"{kind}.")}
        values |= {**parts, "type": kind, **{name: value for name, value in _CONTENTS.items() if name in parts}}
    return {**values, choice: _FORGED}


def _submit(dashboard: Browser, page: str, action: str, choice: str) -> Any:
    fields = {**dict(re.findall(r'name="(token)" value="([^"]+)"', page)), **_fields(page, choice)}
    form = next(form for form in re.findall(r"<form[^>]*>", page) if f'action="{action}' in form)
    if "multipart/form-data" not in form:
        return dashboard.client.post(action, data=fields)
    return dashboard.client.post(action, files=[(name, (None, value)) for name, value in fields.items()])


def test_value_that_is_not_offered_is_refused_in_the_language_of_the_user(ana: Person, dashboard: Browser) -> None:
    for resource in RESOURCES:
        ana.post(f"{resource.path}/add", resource.body())
    dashboard.submit("/language", at="/links", language="de")
    seen: dict[tuple[str, str], list[str]] = {}
    for path in (re.sub(r"{[^}]+}", "1", page.path) for page in DASHBOARD_PAGES if page.method == "GET"):
        page = dashboard.client.get(path)
        is_page = page.headers.get("content-type", "").startswith("text/html")
        for action, choices in _forms(page.text) if is_page else ():
            for choice in choices:
                if (action, choice) not in seen and choice not in _SAVED and not action.endswith("/bulk"):
                    seen[action, choice] = _messages(_submit(dashboard, page.text, action, choice).text)
    assert len(seen) > 30
    for field in _OTHERS:
        seen.pop(field)
    refusals = {field: [text for text in messages if text.endswith(_REFUSED)] for field, messages in seen.items()}
    assert {field: seen[field] for field, texts in refusals.items() if not texts} == {}


def test_deleted_item_is_named_in_the_language_of_the_user(ana: Person, dashboard: Browser) -> None:
    dashboard.submit("/language", at="/links", language="de")
    for path, text in (("links/9", "Diesen Link"), ("campaigns/9", "Diese Kampagne")):
        assert f"{text} gibt es in diesem Konto nicht." in dashboard.client.get(f"/dashboard/{path}").text
    channel, link = ana.add("channel", name="News"), ana.add("url", url="https://example.com/")
    ana.remove("url", link)
    response = dashboard.submit(f"/channels/{channel}/add", at=f"/channels/{channel}", item=f"link-{link}")
    assert response.status_code == 404
    assert "Dieses Element gibt es in diesem Konto nicht." in response.text
