"""A form that could not be saved: one summary of all errors, with links to the fields, and open sections."""

import html
import re
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser, form_version
from tests.support.databases import ON_SQLITE
from tests.support.form_errors import only_error
from tests.support.visits import new_link

pytestmark = ON_SQLITE
_URL = "https://example.com/"
_PAST = "2020-01-01T10:00"


def _summary(response: Any) -> list[tuple[str, str]]:
    """Return (id of the field, text) of each error in the summary, and check its number and its targets.

    A form with one error at a field has no summary: the text is that at the field.
    """
    assert response.status_code == 400
    if error := only_error(response.text):
        return [error]
    assert response.text.count("data-summary") == 1
    banner = response.text.partition("data-summary")[2].partition("</ul>")[0]
    errors = []
    for item in re.findall(r"<li>(.*?)</li>", banner, re.DOTALL):
        target = re.search(r'href="#([^"]+)"', item)
        errors.append((target[1] if target else "", html.unescape(re.sub("<[^>]+>", "", item)).strip()))
        if target:
            assert f'id="{target[1]}"' in response.text
            assert f'aria-describedby="{target[1]}-error"' in response.text
            assert f'id="{target[1]}-error"' in response.text
    assert f"Not saved: {len(errors)} problem{'s' if len(errors) > 1 else ''}</p>" in banner
    return errors


def _open_sections(response: Any) -> list[str]:
    sections = re.findall(r'<details class="form-section *" open>.*?</summary>', response.text, re.DOTALL)
    return [re.sub("<[^>]+>", "", section).strip() for section in sections]


@pytest.mark.parametrize(
    ("page", "fields", "errors"),
    [
        (
            "/campaigns/new",
            {"name": "A", "slug": "a b", "winner": "abc"},
            ["slug: Alias cannot have", "winner: Clicks until the rotation ends"],
        ),
        (
            "/links/new",
            {"url": _URL, "expiry": _PAST, "expiryurl": "javascript:1", "metaimage": "nothing"},
            [
                "expiry: Expires must not",
                "expiryurl: Destination after expiry must",
                "metaimage: Preview image: This is not an address",
            ],
        ),
        (
            "/links/new",
            {"url": "nothing", "custom": "a b"},
            ["url: Destination URL: This is not an address", "custom: Alias cannot have"],
        ),
        (
            "/splash/new",
            {"name": "", "banner": "foo", "logo": "bar", "counter": "x"},
            [
                "name: Name must",
                "counter: Redirect after must",
                "banner: Banner: This is not",
                "logo: Logo: This is not",
            ],
        ),
        (
            "/links/new",
            {"url": _URL, "geotarget.location": ["Germany", "Spain"], "geotarget.link": [_URL, "x" * 9000]},
            ["geotarget.2.link: This is not an address"],
        ),
        ("/qr/new", {"type": "phone", "phone.phone": "one two"}, ["phone.phone: Number must"]),
    ],
)
def test_all_errors_of_a_form_are_reported_at_once(
    ana: Person, dashboard: Browser, page: str, fields: dict[str, Any], errors: list[str]
) -> None:
    messages = [f"{target}: {text}" for target, text in _summary(dashboard.submit(page, **fields))]
    assert len(messages) == len(errors), messages
    for message, beginning in zip(messages, errors, strict=True):
        assert message.startswith(beginning), messages
    assert ana.get("/urls")["data"]["result"] == 0


def test_errors_of_rows_are_at_their_inputs(ana: Person, dashboard: Browser) -> None:
    fields: dict[str, Any] = {
        "url": _URL,
        "geotarget.location": ["Germany", "Nowhere", "USA!"],
        "geotarget.link": ["nothing", _URL, "javascript:1"],
        "devicetarget.device": ["iPhone"],
        "devicetarget.link": [""],
        "deeplink.apple": ["foo"],
        "deeplink.google": ["play.google.com/store"],
        "parameters.name": ["a", "b" * 300],
        "parameters.value": ["", "x"],
    }
    response = dashboard.submit("/links/new", **fields)
    errors = dict(_summary(response))
    assert list(errors) == [
        *("geotarget.1.link", "geotarget.2.location", "geotarget.3.location", "geotarget.3.link"),
        *("devicetarget.1.link", "deeplink.1.apple", "parameters.2.name"),
    ]
    assert errors["geotarget.2.location"].startswith("By country, row 2: Country must be the English name")
    assert "No visitor matches" not in response.text
    assert ana.get("/urls")["data"]["result"] == 0


def test_invalid_change_reports_all_errors_and_changes_nothing(ana: Person, dashboard: Browser) -> None:
    splash = ana.add("splash", name="Spring", title="Old")
    version = form_version(dashboard.get(f"/splash/{splash}"), f"/splash/{splash}")
    fields = {"version": version, "name": "Summer", "title": "New", "banner": "foo", "logo": "bar", "link": _URL}
    errors = _summary(dashboard.submit(f"/splash/{splash}", **fields))
    assert [target for target, _ in errors] == ["banner", "logo"]
    assert ana.details("splash", splash)["title"] == "Old"


def test_only_sections_with_an_error_are_open(ana: Person, dashboard: Browser) -> None:
    assert _open_sections(dashboard.get("/links/new")) == []
    assert _open_sections(dashboard.submit("/links/new", url="nothing")) == []
    response = dashboard.submit("/links/new", url=_URL, expiryurl="nothing")
    assert _open_sections(response) == ["Access and limits"]


def test_errors_of_blocks_are_at_their_fields(ana: Person, dashboard: Browser) -> None:
    fields: dict[str, Any] = {
        "name": "Ana",
        "alias": "a b",
        "base": "default",
        "order": ["x", "y", "z"],
        "x.type": "link",
        "x.title": "",
        "x.url": "nothing",
        "y.type": "image",
        "y.image": "foo",
        "y.link": "bar",
        "y.alt": "Cups & <plates>",
        "z.type": "text",
        "z.text": "Hello",
    }
    errors = dict(_summary(dashboard.submit("/bios/new", **fields)))
    assert list(errors) == ["alias", "b1.title", "b1.url", "b2.image", "b2.link"]
    assert errors["b1.title"] == "Block 1: Title must not be empty."
    assert errors["b2.link"].startswith("Block 2 “Cups & <plates>”: Destination URL: This is not an address.")
    assert ana.get("/bios")["data"]["result"] == 0


def test_empty_fields_are_asked_for(ana: Person, dashboard: Browser) -> None:
    fields: dict[str, Any] = {"name": "Ana", "alias": "ana", "base": "default", "order": ["x", "y"]}
    blocks = {"x.type": "link", "x.title": "Shop", "y.type": "form", "y.hidden": "on"}
    errors = dict(_summary(dashboard.submit("/bios/new", **fields, **blocks)))
    assert {name: text.rpartition(": ")[2] for name, text in errors.items()} == {
        "b1.url": "Enter an address.",
        "b2.overlay": "Choose a form.",
    }


def test_concurrent_change_is_in_the_summary(ana: Person, dashboard: Browser) -> None:
    splash = ana.add("splash", name="Spring")
    version = form_version(dashboard.get(f"/splash/{splash}"), f"/splash/{splash}")
    ana.call("PUT", f"/splash/{splash}/update", {"title": "Changed"})
    errors = _summary(dashboard.submit(f"/splash/{splash}", name="Mine", version=version))
    assert errors[0][1].startswith("This was changed since you opened it")


def test_errors_of_weights_and_quotas_are_at_their_cells(ana: Person, dashboard: Browser) -> None:
    campaign = ana.add("campaign", name="Spring", slug="spring", rotation="weighted")
    for name in ("a", "b"):
        ana.call("POST", f"/campaign/{campaign}/assign/{new_link(ana, name)}")
    at, save = f"/campaigns/{campaign}", f"/campaigns/{campaign}/links"
    page = dashboard.get(at)
    first, second = re.findall(r'name="place.id" value="(\d+)"', page.text)
    rows = {"place.id": [first, second], "place.weight": ["2000", "heavy"], "place.quota": ["-1", "x"]}
    response = dashboard.submit(save, at=at, **rows, version=form_version(page, save))
    errors = _summary(response)
    assert [(target, text.partition(" must ")[0]) for target, text in errors] == [
        (f"place.{first}.weight", "Link, row 1: Weight"),
        (f"place.{first}.quota", "Link, row 1: Quota"),
        (f"place.{second}.weight", "Link, row 2: Weight"),
        (f"place.{second}.quota", "Link, row 2: Quota"),
    ]
    for value in ("2000", "heavy", "-1", "x"):
        assert re.search(rf'<input id="place[^>]+value="{value}"[^>]+aria-invalid="true"', response.text)
    links = ana.get(f"/campaign/{campaign}/stats")["links"]
    assert [(link["weight"], link["quota"]) for link in links] == [(1, None), (1, None)]
