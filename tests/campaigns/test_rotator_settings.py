"""What is set on a rotator and on a link's place in it: shown, kept, cleared, refused (decision 51)."""

from typing import Any

import pytest

from tests.conftest import Person
from tests.support.assertions import refused
from tests.support.rotators import fill, new_campaign


def test_how_a_rotator_goes_is_set_and_shown_and_cleared(ana: Person) -> None:
    campaign = new_campaign(ana, name="Spring", rotation="weighted", sticky=True, winner=5)

    def shown() -> dict[str, Any]:
        details = ana.get(f"/campaign/{campaign}")["details"]
        return {name: details[name] for name in ("rotation", "sticky", "winner", "winnerlink")}

    assert shown() == {"rotation": "weighted", "sticky": True, "winner": 5, "winnerlink": None}
    ana.put(f"/campaign/{campaign}/update", {"name": "Summer"})
    assert shown()["rotation"] == "weighted"
    ana.put(f"/campaign/{campaign}/update", {"name": "Spring", "rotation": None, "sticky": None, "winner": None})
    assert shown() == {"rotation": "random", "sticky": False, "winner": None, "winnerlink": None}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("rotation", ("", "RANDOM", "turn", 1, True, [])),
        ("sticky", ("yes", 1, [])),
        ("winner", (0, -1, "5", 1.5, True, 2**60)),
    ],
)
def test_what_makes_no_sense_for_a_rotator_is_refused(field: str, values: tuple[Any, ...], ana: Person) -> None:
    campaign = new_campaign(ana, name="Spring")
    for value in values:
        refused(ana.call("PUT", f"/campaign/{campaign}/update", {"name": "Spring", field: value}), 400, field)
        refused(ana.call("POST", "/campaign/add", {field: value}), 400, field)


def test_what_makes_no_sense_for_a_link_in_its_campaign_is_refused(ana: Person) -> None:
    campaign = new_campaign(ana)
    link = fill(ana, campaign, "one")[0]
    wrong = {"weight": (-1, 1001, "5", 1.5, True), "quota": (0, -1, "5", 1.5, True)}
    for field, values in wrong.items():
        for value in values:
            refused(ana.call("POST", f"/campaign/{campaign}/assign/{link}", {field: value}), 400, field)


def test_what_was_set_for_a_link_stays_when_it_is_assigned_again(ana: Person) -> None:
    campaign = new_campaign(ana)
    link = fill(ana, campaign, "one")[0]
    ana.post(f"/campaign/{campaign}/assign/{link}", {"weight": 7})
    ana.post(f"/campaign/{campaign}/assign/{link}", {"quota": 8})
    ana.post(f"/campaign/{campaign}/assign/{link}")
    place = ana.get(f"/campaign/{campaign}/stats")["links"][0]
    assert (place["weight"], place["quota"]) == (7, 8)
