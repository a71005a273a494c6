"""The weights of a rotator in a real browser: their shares follow while one types, and the rotation enables them."""

import re

from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.browser_login import examine, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.visits import new_link

pytestmark = ON_SQLITE


def test_shares_follow_typed_weights_and_rotation_enables_them(ana: Person, chrome: Browser, address: str) -> None:
    campaign = ana.add("campaign", name="Spring", slug="spring", rotation="random")
    for alias in ("mugs", "bowls"):
        ana.post(f"/campaign/{campaign}/assign/{new_link(ana, alias)}")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/campaigns/{campaign}")
        mugs, bowls = page.get_by_label("Weight of mugs"), page.get_by_label("Weight of bowls")
        shares = page.locator("[data-weight-share]")
        rotation = page.get_by_label("Rotation", exact=True)
        expect(mugs).to_be_disabled()
        expect(rotation).to_have_accessible_description(re.compile("^Every link .* Weights only matter in a weighted"))
        rotation.select_option(label="Weighted")
        expect(rotation).to_have_accessible_description(re.compile("^A link of weight 3 [^.]*[.]$"))
        expect(shares).to_have_text(["50%", "50%"])
        mugs.fill("3")
        expect(shares).to_have_text(["75%", "25%"])
        bowls.fill("0")
        expect(shares).to_have_text(["100%", "0%"])
        examine(page, "weights of a rotator")
        page.get_by_label("Rotation", exact=True).select_option(label="Sequential")
        expect(mugs).to_be_disabled()
        expect(shares).to_have_text(["", ""])
        page.get_by_label("Rotation", exact=True).select_option(label="Weighted")
        page.get_by_role("button", name="Save weights and quotas").click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
        expect(mugs).to_have_value("3")
        expect(mugs).to_be_enabled()
    stored = ana.get(f"/campaign/{campaign}/stats")["links"]
    assert sorted(link["weight"] for link in stored) == [0, 3]
