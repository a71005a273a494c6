"""The list of channels: the items of each channel, and the sum of their visits."""

import re

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.visits import DESTINATION, new_link, visit

pytestmark = ON_BOTH_DATABASES


def test_list_counts_items_and_visits_of_each_channel(dashboard: Browser, ana: Person, ben: Person) -> None:
    print_channel, mail, empty = (
        ana.add("channel", name=name, description=about)
        for name, about in (("Print", ""), ("Mail", "News"), ("Idle", ""))
    )
    link = new_link(ana, "spring", channel=[print_channel, mail])
    code = ana.add("qr", type="link", data=DESTINATION, name="Poster")
    bio = ana.add("bio", name="Shop")
    ana.post(f"/channel/{print_channel}/assign/qr/{code}")
    ana.post(f"/channel/{print_channel}/assign/bio/{bio}")
    new_link(ben, "foreign", channel=[ben.add("channel", name="Print")])
    scanned, page_alias = ana.details("qr", code)["link"].rpartition("/")[2], ana.details("bio", bio)["alias"]
    for alias in ("spring", "spring", scanned, page_alias, "foreign"):
        visit(dashboard.client, alias)
    ana.get(f"/url/{link}")  # waits until the visits are counted
    page = dashboard.get("/channels").text
    cards = {
        name: _card(page, channel) for name, channel in (("Print", print_channel), ("Mail", mail), ("Idle", empty))
    }
    assert cards == {
        "Print": "Print 3 items, 4 visits",
        "Mail": "Mail News 1 item, 2 visits",
        "Idle": "Idle No items yet",
    }
    assert f'<a href="/dashboard/channels/{mail}/stats">2 visits</a>' in page


def _card(page: str, channel: int) -> str:
    card = page.partition(f'href="/dashboard/channels/{channel}"')[2].partition("</div>")[0].partition(">")[2]
    return " ".join(re.sub(r"<[^>]+>", " ", card).split())
