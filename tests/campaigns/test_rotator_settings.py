"""Settings of rotators and of links in them: stored, cleared and validated (decision 51)."""

from typing import Any

import pytest

from tests.conftest import Person
from tests.support.assertions import refused
from tests.support.rotators import add_links, new_campaign


def test_rotator_settings_are_stored_and_cleared(ana: Person) -> None:
    campaign = new_campaign(ana, name="Spring", rotation="weighted", sticky=True, winner=5)

    def settings() -> dict[str, Any]:
        details = ana.details("campaign", campaign)
        return {name: details[name] for name in ("rotation", "sticky", "winner", "winnerlink")}

    assert settings() == {"rotation": "weighted", "sticky": True, "winner": 5, "winnerlink": None}
    ana.update("campaign", campaign, name="Summer")
    assert settings()["rotation"] == "weighted"
    ana.update("campaign", campaign, name="Spring", rotation=None, sticky=None, winner=None)
    assert settings() == {"rotation": "random", "sticky": False, "winner": None, "winnerlink": None}


@pytest.mark.parametrize(
    ("field", "invalid_values"),
    [
        ("rotation", ("turn", 1, True, [])),
        ("sticky", ("yes", 1, [])),
        ("winner", (0, -1, "5.0", 1.5, True, 2**60)),
    ],
)
def test_invalid_rotator_setting_returns_400(field: str, invalid_values: tuple[Any, ...], ana: Person) -> None:
    campaign = new_campaign(ana, name="Spring")
    for value in invalid_values:
        refused(ana.call("PUT", f"/campaign/{campaign}/update", {"name": "Spring", field: value}), 400, field)
        refused(ana.call("POST", "/campaign/add", {field: value}), 400, field)


def test_invalid_weight_or_quota_returns_400(ana: Person) -> None:
    campaign = new_campaign(ana)
    link = add_links(ana, campaign, "one")[0]
    invalid = {"weight": (-1, 1001, "5.0", 1.5, True), "quota": (0, -1, "5.0", 1.5, True)}
    for field, invalid_values in invalid.items():
        for value in invalid_values:
            refused(ana.call("POST", f"/campaign/{campaign}/assign/{link}", {field: value}), 400, field)


def test_assigning_link_again_keeps_weight_and_quota(ana: Person) -> None:
    campaign = new_campaign(ana)
    link = add_links(ana, campaign, "one")[0]
    ana.post(f"/campaign/{campaign}/assign/{link}", {"weight": 7})
    ana.post(f"/campaign/{campaign}/assign/{link}", {"quota": 8})
    ana.post(f"/campaign/{campaign}/assign/{link}")
    item = ana.get(f"/campaign/{campaign}/stats")["links"][0]
    assert (item["weight"], item["quota"]) == (7, 8)
