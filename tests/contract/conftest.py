"""Fixtures of the contract tests."""

import pytest

from tests.conftest import Person
from tests.contract.endpoints import ItemIds
from tests.support.visits import DESTINATION
from waypost.items.accounts import ops


@pytest.fixture
def item_ids(ana: Person) -> ItemIds:
    """The ids of Ana's resources, one of each kind, and of another account. The link is in campaign and channel."""
    ids = {
        "campaign": ana.add("campaign", name="Spring"),
        "channel": ana.add("channel", name="Friends"),
        "url": ana.add("url", url=DESTINATION, custom="a-link"),
        "bio": ana.add("bio", name="Me", blocks=[{"type": "link", "title": "Shop", "url": DESTINATION}]),
        "pixel": ana.add("pixel", type="analyticspixel", name="Site", tag="G-1"),
        "utm": ana.add("utm", name="Newsletter", utm_source="newsletter"),
        "domain": ana.add("domain", domain="https://brand.example"),
        "splash": ana.add("splash", name="Wait"),
        "qr": ana.add("qr", type="link", data=DESTINATION, name="Code"),
        "overlay": ana.add("overlay", name="Ask", type="poll", options=["Red", "Blue"]),
        "file": ana.call("POST", "/files/upload/a.bin", content=b"content").json()["id"],
        "admin": ana.database.write(lambda tx: ops.add(tx, email="cyd@example.com", username="cyd", password="").id),
    }
    ids["webhook"] = ana.add("webhook", url="https://hooks.example.com/", events=["link.created"])
    ana.post(f"/webhook/{ids['webhook']}/test")
    ids["share"] = ana.add("share", type="link", itemid=ids["url"])
    ana.post(f"/channel/{ids['channel']}/assign/links/{ids['url']}")
    return ids
