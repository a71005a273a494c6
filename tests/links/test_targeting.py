"""Countries, devices and languages of rules: only those that visits can have."""

import re

import pytest
from sqlalchemy import update

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.visits import ANDROID, IPHONE, new_link, visit
from waypost.clicks.classify.language_names import LANGUAGE_NAMES
from waypost.clicks.geo.countries import NAMES
from waypost.db.schema import links
from waypost.items.links.targeting import DEVICE_NAMES, read_country, read_device, read_language

THERE = "https://there.example/"


@pytest.mark.parametrize(
    ("field", "condition", "saved"),
    [
        *(("geotarget", name, name) for name in ("Germany", "germany", "DE", "de", "Åland Islands")),
        ("geotarget", " United  States ", "United States"),
        *(("geotarget", name, "United States") for name in ("USA", "united states of america")),
        ("geotarget", "Holland", "Netherlands"),
        ("geotarget", "Côte d\u2019Ivoire", "Ivory Coast"),
        *(("devicetarget", name, name) for name in ("iPhone", "iphone", "Tablet", "Desktop", "Windows", "ipad", "TV")),
        ("devicetarget", "Phone", "Mobile"),
        *(("languagetarget", name, name) for name in ("de", "DE", "pt-BR", "fil")),
        ("languagetarget", "pt_BR", "pt-BR"),
        ("languagetarget", "German", "de"),
        ("languagetarget", "iw", "he"),
    ],
)
@ON_SQLITE
def test_known_condition_is_saved(ana: Person, field: str, condition: str, saved: str) -> None:
    part = {"geotarget": "location", "devicetarget": "device", "languagetarget": "language"}[field]
    link = new_link(ana, "spring", **{field: [{part: condition, "link": THERE}]})
    assert ana.details("url", link)[field] == [{part: saved, "link": THERE}]


@pytest.mark.parametrize(
    ("field", "rule", "message"),
    [
        *(
            ("geotarget", {"location": name}, "must be the English name or two-letter code of a country, such as ")
            for name in ("Deutschland", "Nirgendwo", "ZZ", "Unknown")
        ),
        ("devicetarget", {"device": "Toaster"}, "is not a known device: use a device, system or type, such as "),
        *(
            ("languagetarget", {"language": name}, "is not a language: use its two-letter code, such as de")
            for name in ("zz", "Klingon", "-de", "de-", "de-Germany-x", "zh-T")
        ),
    ],
)
@ON_SQLITE
def test_unknown_condition_is_refused(ana: Person, field: str, rule: dict[str, str], message: str) -> None:
    body = {"url": THERE, field: [{**rule, "link": THERE}]}
    response = ana.call("POST", "/url/add", body)
    assert response.status_code == 400
    assert response.json()["message"].startswith(f"{field}[0].{next(iter(rule))} {message}")


def test_listed_names_are_known() -> None:
    assert [read_country(name) for name in NAMES.values()] == [*NAMES.values()]
    assert [read_device(name) for name in DEVICE_NAMES] == list(DEVICE_NAMES)
    assert [read_language(code) for code in LANGUAGE_NAMES if code != "tl"] == [
        code for code in LANGUAGE_NAMES if code != "tl"
    ]


@ON_SQLITE
def test_device_of_the_list_matches_visits(ana: Person, service: AsgiClient) -> None:
    new_link(ana, "spring", devicetarget=[{"device": "Phone", "link": THERE}])
    new_link(ana, "autumn", devicetarget=[{"device": "iphone", "link": THERE}])
    for alias, agent, matches in (("spring", ANDROID, True), ("autumn", ANDROID, False), ("autumn", IPHONE, True)):
        assert (visit(service, alias, agent=agent).headers["location"] == THERE) == matches


@ON_SQLITE
def test_editor_lists_names_and_warns_of_unknown_ones(ana: Person, dashboard: Browser) -> None:
    link = new_link(ana, "spring", title="Old")
    ana.write(
        lambda tx: tx.execute(
            update(links).where(links.c.id == link).values(geotarget=[{"location": "Deutschland", "link": THERE}])
        )
    )
    page = dashboard.get(f"/links/{link}").text
    assert re.search(r'name="geotarget.location"[^>]*value="Deutschland"[^>]*list="countries"', page)
    assert '<option value="Germany">Germany</option>' in page
    assert "No visitor matches Deutschland." in page
    ana.update("url", link, title="New")
    assert ana.details("url", link)["geotarget"] == [{"location": "Deutschland", "link": THERE}]
    ana.update("url", link, geotarget=[{"location": "Germany", "link": THERE}])
    assert "No visitor matches" not in dashboard.get(f"/links/{link}").text
