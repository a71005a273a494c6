"""Imports from the APIs of other services, each against a server with answers in its format."""

import time
from email.utils import formatdate
from typing import Any

import pytest

from tests.conftest import Person
from tests.support import import_services
from tests.support.asgi_client import AsgiClient
from tests.support.import_services import SHOP, TOKEN, running
from tests.support.imports import MOVED, applied_links, read_service
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.schema import metadata
from waypost.transfer.imports import planner, plans
from waypost.transfer.imports.planner import Options
from waypost.transfer.imports.plans import Folders
from waypost.transfer.imports.sources import registry


def test_dub_link_comes_with_rules_password_and_colors(ana: Person, settings: Settings, domain: None) -> None:
    with running(import_services.dub()) as service:
        rows = read_service(ana, settings, service, "dub", options=MOVED)
    assert [row.fate for row in rows] == ["create", "impossible", "create"]
    assert "A/B test" in rows[0].losses
    assert "geotarget" in rows[0].losses  # XX is no country
    link = applied_links(ana, settings)["a/b"]
    assert (link["type"], link["password"], link["clicks"], link["expiryurl"]) == ("frame", True, 5, f"{SHOP}/over")
    assert link["geotarget"] == [{"location": "DE", "link": "https://example.de/"}]
    assert [rule["device"] for rule in link["devicetarget"]] == ["iPhone", "iPad"]
    assert (link["metatitle"], link["description"]) == ("T", "n")
    assert [campaign["name"] for campaign in ana.get("/campaigns")["data"]["campaigns"]] == ["Spring"]
    (channel,) = ana.get("/channels")["data"]["channels"]
    assert (channel["name"], channel["color"]) == ("mail", "#dc2626")


@pytest.mark.parametrize(
    ("folders", "channels", "campaigns"),
    [("campaign", {"mail"}, ["Spring"]), ("channel", {"mail", "Spring"}, []), ("ignore", {"mail"}, [])],
)
def test_folders_become_campaigns_or_channels_or_nothing(
    ana: Person, settings: Settings, domain: None, folders: Folders, channels: set[str], campaigns: list[str]
) -> None:
    with running(import_services.dub()) as service:
        read_service(ana, settings, service, "dub", options=Options(folders=folders, hosts=MOVED.hosts))
    link = applied_links(ana, settings)["a/b"]
    names = {channel["id"]: channel["name"] for channel in ana.get("/channels")["data"]["channels"]}
    assert (set(names.values()), {names[channel] for channel in link["channel"]}) == (channels, channels)
    assert [campaign["name"] for campaign in ana.get("/campaigns")["data"]["campaigns"]] == campaigns


def test_kutt_links_with_unknown_password_or_ban_are_disabled(
    ana: Person, settings: Settings, service: AsgiClient
) -> None:
    with running(import_services.kutt()) as server:
        read_service(ana, settings, server, "kutt", options=Options(hosts={"go.localhost": ""}, conflicts="suffix"))
    links = applied_links(ana, settings)
    assert {link["status"] for link in links.values()} == {"disabled"}
    assert [link["clicks"] for link in links.values()] == [7, 7]
    assert service.get("/x").status_code == 403


def test_rebrandly_pages_are_followed(ana: Person, settings: Settings) -> None:
    with running(import_services.rebrandly()) as service:
        assert [row.alias for row in read_service(ana, settings, service, "rebrandly")] == ["x1", "x2"]
    links = applied_links(ana, settings)
    assert {link["clicks"] for link in links.values()} == {3}
    assert (links["x1"]["status"], links["x2"]["status"]) == ("public", "disabled")
    assert ana.get("/channels")["data"]["channels"][0]["color"] == "#b6e0ff"


def test_short_io_utm_parameters_are_added_once(ana: Person, settings: Settings, domain: None) -> None:
    with running(import_services.short_io()) as service:
        row, _ = read_service(ana, settings, service, "short.io", options=MOVED)
    assert "A/B test" in row.losses
    links = applied_links(ana, settings)
    link = links["a/b"]
    assert (links["b/c"]["password"], links["b/c"]["status"]) == (True, "public")
    assert link["longurl"] == f"{SHOP}?a=1&utm_source=mail"
    assert (link["status"], link["clicklimit"], link["type"]) == ("disabled", 10, "frame")
    assert [campaign["name"] for campaign in ana.get("/campaigns")["data"]["campaigns"]] == ["Summer"]


def test_shlink_link_comes_with_visits_and_rules(ana: Person, settings: Settings, domain: None) -> None:
    with running(import_services.shlink()) as service:
        (row,) = read_service(ana, settings, service, "shlink", options=MOVED)
    assert "ip-address" in row.losses
    assert "valid from 2023-06-01" in row.losses
    link = applied_links(ana, settings)["docs/a"]
    assert link["devicetarget"] == [{"device": "Android", "link": "https://m.example.com"}]
    assert link["languagetarget"] == [{"language": "de", "link": "https://de.example.com"}]
    assert link["geotarget"] == [{"location": "FR", "link": "https://fr.example.com"}]
    assert (link["clicks"], link["importedclicks"]) == (11, 9)  # two visits by people, nine without a time
    report = ana.get(f"/url/{link['id']}/stats", **{"from": "2023-05-01", "to": "2023-05-31"})["data"]
    assert report["total"]["clicks"] == 2
    assert report["dimensions"]["countries"] == {"Germany": 2}
    assert report["dimensions"]["browsers"] == {"Firefox": 2}
    assert [point["at"] for point in report["series"] if point["clicks"]] == [
        "2023-05-07 00:00:00",
        "2023-05-08 00:00:00",
    ]


def test_chhoto_pages_are_followed_and_old_servers_end(ana: Person, settings: Settings) -> None:
    service = import_services.chhoto()
    with running(service):
        assert [row.alias for row in read_service(ana, settings, service, "chhoto")] == ["a", "b"]
        everything = [*service.answers["/api/all"]({}), *service.answers["/api/all"]({"page_after": "a"})]
        service.answers["/api/all"] = lambda _: everything
        assert [row.alias for row in read_service(ana, settings, service, "chhoto")] == ["a", "b"]


@pytest.mark.parametrize("with_plugin", [False, True])
def test_yourls_links_come_with_visits_if_the_plugin_is_there(
    ana: Person, settings: Settings, *, with_plugin: bool
) -> None:
    with running(import_services.yourls(with_plugin=with_plugin)) as service:
        (row,) = read_service(ana, settings, service, "yourls")
        assert all(TOKEN not in path for path in service.requests)
    assert row.alias == "a"
    link = applied_links(ana, settings)["a"]
    assert (link["clicks"], link["importedclicks"]) == (42, 41 if with_plugin else 42)


def test_second_import_of_a_service_creates_nothing(ana: Person, settings: Settings) -> None:
    with running(import_services.rebrandly()) as service:
        read_service(ana, settings, service, "rebrandly")
        applied_links(ana, settings)
        assert {row.fate for row in read_service(ana, settings, service, "rebrandly")} == {"there"}


def test_retry_after_is_obeyed(ana: Person, settings: Settings) -> None:
    waits: list[float] = []
    with running(import_services.rebrandly()) as service:
        service.statuses = [(429, {"Retry-After": "7"}), (503, {})]
        assert len(read_service(ana, settings, service, "rebrandly", sleep=waits.append)) == 2
    assert waits == [7, 2]
    waits.clear()
    with running(import_services.rebrandly()) as service:
        date = formatdate(time.time() + 50, usegmt=True)
        service.statuses = [(429, {"Retry-After": date}), (429, {"Retry-After": "soon"})]
        assert len(read_service(ana, settings, service, "rebrandly", sleep=waits.append)) == 2
    assert (30 < waits[0] <= 50, waits[1]) == (True, 30)


def test_numbers_that_cannot_be_stored_count_as_missing(ana: Person, settings: Settings) -> None:
    service = import_services.rebrandly()
    link = {**service.answers["/links"]({})[0], "clicks": 2**63, "createdAt": 10**400}
    service.answers["/links"] = lambda parameters: [] if parameters.get("last") else [link]
    with running(service):
        (row,) = read_service(ana, settings, service, "rebrandly")
    assert row.fate == "create"
    assert applied_links(ana, settings)["x1"]["clicks"] == 0


@pytest.mark.parametrize(
    ("statuses", "raw", "field", "words"),
    [
        ([(401, {})], None, "token", "refuses"),
        ([(302, {"Location": "https://elsewhere.example.com/"})], None, "url", "redirects"),
        ([(500, {})] * 9, None, "url", "status 500"),
        ([(429, {})] * 9, None, "url", "limits its requests"),
        ([(429, {"Retry-After": "61"})], None, "url", "Try again after 20"),
        ([(503, {"Retry-After": "9" * 5000})], None, "url", "Try again after 20"),
        ([], b'[{"id": "a1"', "url", "not valid JSON"),
        ([], b"[" * 100_000, "url", "not valid JSON"),
    ],
)
def test_answer_that_cannot_be_read_is_explained_and_leaves_no_plan(
    ana: Person, settings: Settings, statuses: Any, raw: bytes | None, field: str, words: str
) -> None:
    service = import_services.rebrandly()
    service.statuses, service.raw = list(statuses), raw
    with running(service), pytest.raises(Problem, match=words) as raised:
        read_service(ana, settings, service, "rebrandly")
    assert raised.value.field == field
    assert TOKEN not in raised.value.message
    with pytest.raises(Problem):
        ana.database.read(lambda tx: plans.current(tx, ana.account))


def test_token_is_in_no_table(ana: Person, settings: Settings) -> None:
    with running(import_services.dub()) as service:
        read_service(ana, settings, service, "dub")
    for table in metadata.tables.values():
        rows = ana.database.read(lambda tx, table=table: tx.execute(table.select()).all())  # type: ignore[misc]
        assert TOKEN not in repr(rows), table.name


def test_host_of_the_own_network_is_refused_unless_it_is_trusted(ana: Person, settings: Settings) -> None:
    with running(import_services.kutt()) as service:
        source = registry.of_service(
            "kutt", TOKEN, registry.ServiceOptions(service.url, reader={"sleep": lambda _: None})
        )
        with pytest.raises(Problem, match="internal address"):
            planner.make(ana.database, settings, ana.account, source, Options())
        assert service.requests == []


def test_own_server_needs_a_url() -> None:
    with pytest.raises(Problem, match="Shlink server"):
        registry.of_service("shlink", TOKEN, registry.ServiceOptions())
    with pytest.raises(Problem, match="token"):
        registry.of_service("dub", "tok\nen", registry.ServiceOptions())
