"""Contents that the trash keeps with an item, and items that it does not keep; confirmations name both."""

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.overlays import new_overlay
from tests.support.trash import entries
from waypost.items.overlays import submissions
from waypost.items.overlays.submissions import Answers

pytestmark = ON_SQLITE


def test_restored_overlay_has_its_submissions(ana: Person, dashboard: Browser) -> None:
    overlay = new_overlay(ana, "contact")
    answers = Answers(name="Zoë", email="zoe@example.com", message="Hello")
    ana.write(lambda tx: submissions.add(tx, ana.account, overlay, answers, link=0))
    path = f"/overlays/{overlay}/delete"
    assert "restore it with the submissions of visitors from the trash for 30 days" in dashboard.get(path).text
    assert dashboard.submit(path).status_code == 303
    (entry,) = entries(ana.database, ana)
    assert dashboard.submit(f"/trash/{entry}/restore", at="/trash").status_code == 303
    (restored,) = ana.get(f"/overlay/{overlay}/submissions")["data"]["submissions"]
    assert restored["message"] == "Hello"


def test_deleted_submission_is_not_in_the_trash(ana: Person, dashboard: Browser) -> None:
    overlay = new_overlay(ana, "contact")
    answers = Answers(name="Zoë", email="zoe@example.com", message="Hello")
    ana.write(lambda tx: submissions.add(tx, ana.account, overlay, answers, link=0))
    (submission,) = ana.get(f"/overlay/{overlay}/submissions")["data"]["submissions"]
    at = f"/overlays/{overlay}/answers"
    selected = {"id": str(submission["id"])}
    assert "They are not kept in the trash" in dashboard.submit(f"{at}/bulk", at=at, **selected).text
    assert dashboard.submit(f"{at}/delete", at=at, **selected).status_code == 303
    assert entries(ana.database, ana) == []
    assert "Share links and single submissions are not kept" in dashboard.get("/trash").text
