"""An archive that an earlier version wrote is imported, and so is a plan that it made."""

from sqlalchemy import Connection

from tests.conftest import Person
from tests.support import stored_data
from tests.support.archives import plan
from waypost.core.settings import Settings
from waypost.transfer.imports import apply


def test_archive_of_version_1_0_is_imported(ana: Person, settings: Settings) -> None:
    assert set(plan(ana, settings, stored_data.archive())) == {"create"}
    apply.apply(ana.database, ana.account, settings)
    _assert_imported(ana)
    (file,) = ana.get("/files")["list"]
    assert ana.client.get(file["shorturl"].partition("localhost:8000")[2]).content == b"\x00\xff" * 5000


def test_plan_of_version_1_0_is_applied(ana: Person, settings: Settings) -> None:
    stored = stored_data.rows("plan.json")

    def fill(tx: Connection) -> None:
        for table, rows in stored.items():
            # The bytes of files are not among the rows of a plan.
            stored_data.put(tx, table, [row for row in rows if row.get("kind") != "file"])

    ana.database.write(fill)
    apply.apply(ana.database, ana.account, settings)
    _assert_imported(ana)


def _assert_imported(person: Person) -> None:
    rows = person.get("/import/rows", limit=100)["data"]["rows"]
    assert {row["fate"] for row in rows} == {"create"}, rows
    link = next(link for link in person.get("/urls")["data"]["urls"] if link["alias"] == "straße")
    details = person.details("url", link["id"])
    assert details["longurl"] == "https://example.com/ünï?a=%20"
    assert (details["expiry"], details["clicklimit"]) == ("2999-12-31 23:59:59", 50)
    assert details["geotarget"] == [{"location": "France", "link": "https://example.fr/"}]
    rich = next(bio for bio in person.get("/bios")["data"]["bios"] if bio["name"] == "Rich")
    assert [block["type"] for block in person.details("bio", rich["id"])["blocks"]] == ["link", "form", "image"]
    plain = next(link for link in person.get("/urls")["data"]["urls"] if link["alias"] == "plain")
    assert plain["clicks"] > 0
