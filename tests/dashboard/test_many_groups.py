"""The editor of a link in an account with more campaigns and channels than its lists have."""

import re

import pytest
from sqlalchemy import insert

from tests.conftest import Person
from tests.support.dashboard_client import Browser, form_version
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.visits import DESTINATION, new_link
from waypost.db.schema import domains
from waypost.items.campaigns import ops as campaigns
from waypost.items.channels import ops as channels

pytestmark = ON_BOTH_DATABASES

_COUNT = 201


@pytest.fixture(autouse=True)
def _groups(ana: Person, ben: Person) -> None:
    """201 campaigns and channels of Ana, of which the lists have 200, and one each of Ben."""
    for number in range(_COUNT):
        ana.write(lambda tx, n=number: campaigns.add(tx, ana.account, name=f"Änderung {n}"))  # type: ignore[misc]
        ana.write(lambda tx, n=number: channels.add(tx, ana.account, name=f"Übersicht {n}"))  # type: ignore[misc]
    ben.add("campaign", name="Theirs")
    ben.add("channel", name="Theirs too")


def test_oldest_campaign_and_channel_are_chosen_by_name(ana: Person, dashboard: Browser) -> None:
    page = dashboard.get("/links/new").text
    options = re.findall(r'<select id="campaign".*?</select>', page, re.DOTALL)[0]
    assert (">Änderung 200<" in options, ">Änderung 0<" in options) == (True, False)
    assert 'name="campaign_name"' in page
    form = {
        "url": DESTINATION,
        "custom": "a",
        "campaign": "",
        "campaign_name": " Änderung  0 ",
        "newchannel": "Übersicht 0",
    }
    assert dashboard.submit("/links/new", **form).status_code == 303
    link = ana.get("/urls")["data"]["urls"][0]
    assert (link["campaign"], link["channel"]) == (1, [1])
    editor = dashboard.get(f"/links/{link['id']}")
    assert re.search(r'<option value="1" selected>Änderung 0<', editor.text)
    version = form_version(editor, f"/links/{link['id']}")
    changed = dashboard.submit(f"/links/{link['id']}", version=version, campaign="1", campaign_name="Änderung 1")
    assert changed.status_code == 303
    assert ana.details("url", link["id"])["campaign"] == 2


def test_unknown_name_is_refused_at_its_field(ana: Person, dashboard: Browser) -> None:
    link = new_link(ana, "a")
    version = form_version(dashboard.get(f"/links/{link}"), f"/links/{link}")
    for name in ("Theirs", "nothing"):
        page = dashboard.submit(f"/links/{link}", version=version, title="New", campaign_name=name)
        assert page.status_code == 400
        assert "Another campaign must be the name of one of your campaigns." in page.text
        assert f'value="{name}"' in page.text
    assert ana.details("url", link)["title"] != "New"


def test_names_are_suggested_to_scripts(dashboard: Browser) -> None:
    def names(kind: str, q: str) -> list[str]:
        return list(dashboard.get("/links/names.json", params={"kind": kind, "q": q}).json())

    assert names("campaign", "änderung 20") == ["Änderung 200", "Änderung 20"]
    assert names("channel", "SICHT 0") == ["Übersicht 0"]
    assert len(names("campaign", "")) == 20
    assert names("channel", "theirs") == names("campaign", "%") == []
    assert dashboard.get("/links/names.json", params={"kind": "accounts"}).status_code == 404


def test_editors_offer_each_of_300_domains(ana: Person, dashboard: Browser) -> None:
    rows = [{"account": ana.account, "host": f"d{n}.example", "scheme": "https", "created": 0} for n in range(300)]
    ana.write(lambda tx: tx.execute(insert(domains), rows))
    for path in ("/links/new", "/links", "/files/new"):
        assert len(set(re.findall(r">(d\d+\.example)</option>", dashboard.get(path).text))) == 300, path
