"""Imports from the APIs of other services, each against a server with answers in its format."""

from typing import Any

import pytest

from tests.conftest import Person
from tests.support import import_services
from tests.support.asgi_client import AsgiClient
from tests.support.import_services import SHOP, TOKEN, Service, running
from waypost.db.schema import metadata
from waypost.errors import Problem
from waypost.imports import apply, planner, plans
from waypost.imports.planner import Options
from waypost.imports.plans import Row
from waypost.imports.sources import registry
from waypost.imports.sources.http_reader import RateLimit
from waypost.settings import Settings

OWN = {"bit.ly": "", "127.0.0.1": "", "go.localhost": ""}
"""All links come to the service's own host."""


def _read(
    person: Person, settings: Settings, service: Service, name: str, *, options: Options | None = None, **reader: Any
) -> list[Row]:
    source_options = registry.ServiceOptions(
        service.url if name in registry.SELF_HOSTED else "",
        trusted_hosts=frozenset({"127.0.0.1"}),
        reader={"sleep": lambda _: None, **({} if name in registry.SELF_HOSTED else {"base": service.url}), **reader},
    )
    source = registry.of_service(name, TOKEN, source_options)  # type: ignore[arg-type]
    options = options or Options(hosts=OWN)
    plan = planner.make(person.database, settings, person.account, source, options)
    return list(plans.rows(person.database, person.account, plan))


def _links(person: Person, settings: Settings) -> dict[str, dict[str, Any]]:
    apply.apply(person.database, person.account, settings)
    return {item["alias"]: person.details("url", item["id"]) for item in person.get("/urls")["data"]["urls"]}


@pytest.fixture
def domain(ana: Person) -> None:
    """The links of some services have aliases that only branded domains allow."""
    ana.add("domain", domain="https://links.example.com")


MOVED = Options(hosts={"go.localhost": "links.example.com"})


def test_bitly_links_come_with_all_aliases_and_clicks_by_day(ana: Person, settings: Settings) -> None:
    with running(import_services.bitly()) as service:
        rows = _read(ana, settings, service, "bitly")
    assert [row.fate for row in rows] == ["create", "create", "impossible"]
    links = _links(ana, settings)
    assert (links["spring"]["status"], links["spring"]["clicks"], links["spring"]["importedclicks"]) == (
        "private",
        7,
        0,
    )
    assert (links["spring-24"]["clicks"], links["spring"]["date"]) == (0, "2020-10-26 17:20:40")
    campaigns = ana.get("/campaigns")["data"]["campaigns"]
    assert [campaign["name"] for campaign in campaigns] == ["Marketing"]


def test_dub_link_comes_with_rules_password_and_colors(ana: Person, settings: Settings, domain: None) -> None:
    with running(import_services.dub()) as service:
        rows = _read(ana, settings, service, "dub", options=MOVED)
    assert [row.fate for row in rows] == ["create", "impossible"]
    assert "A/B test" in rows[0].losses
    assert "geotarget" in rows[0].losses  # XX is no country
    link = _links(ana, settings)["a/b"]
    assert (link["type"], link["password"], link["clicks"], link["expiryurl"]) == ("frame", True, 5, f"{SHOP}/over")
    assert link["geotarget"] == [{"location": "DE", "link": "https://example.de/"}]
    assert [rule["device"] for rule in link["devicetarget"]] == ["iPhone", "iPad"]
    assert (link["metatitle"], link["description"]) == ("T", "n")
    assert [campaign["name"] for campaign in ana.get("/campaigns")["data"]["campaigns"]] == ["Spring"]
    (channel,) = ana.get("/channels")["data"]["channels"]
    assert (channel["name"], channel["color"]) == ("mail", "#dc2626")


def test_kutt_links_with_unknown_password_or_ban_are_disabled(
    ana: Person, settings: Settings, service: AsgiClient
) -> None:
    with running(import_services.kutt()) as server:
        _read(ana, settings, server, "kutt", options=Options(hosts={"go.localhost": ""}, conflicts="suffix"))
    links = _links(ana, settings)
    assert {link["status"] for link in links.values()} == {"disabled"}
    assert [link["clicks"] for link in links.values()] == [7, 7]
    assert service.get("/x").status_code == 403


def test_rebrandly_pages_are_followed(ana: Person, settings: Settings) -> None:
    with running(import_services.rebrandly()) as service:
        assert [row.alias for row in _read(ana, settings, service, "rebrandly")] == ["x1", "x2"]
    links = _links(ana, settings)
    assert {link["clicks"] for link in links.values()} == {3}
    assert ana.get("/channels")["data"]["channels"][0]["color"] == "#b6e0ff"


def test_short_io_utm_parameters_are_added_once(ana: Person, settings: Settings, domain: None) -> None:
    with running(import_services.short_io()) as service:
        (row,) = _read(ana, settings, service, "short.io", options=MOVED)
    assert "A/B test" in row.losses
    link = _links(ana, settings)["a/b"]
    assert link["longurl"] == f"{SHOP}?a=1&utm_source=mail"
    assert (link["status"], link["clicklimit"], link["type"]) == ("disabled", 10, "frame")
    assert [campaign["name"] for campaign in ana.get("/campaigns")["data"]["campaigns"]] == ["Summer"]


def test_shlink_link_comes_with_visits_and_rules(ana: Person, settings: Settings, domain: None) -> None:
    with running(import_services.shlink()) as service:
        (row,) = _read(ana, settings, service, "shlink", options=MOVED)
    assert "ip-address" in row.losses
    assert "valid from 2023-06-01" in row.losses
    link = _links(ana, settings)["docs/a"]
    assert link["devicetarget"] == [{"device": "Android", "link": "https://m.example.com"}]
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
        assert [row.alias for row in _read(ana, settings, service, "chhoto")] == ["a", "b"]
        everything = [*service.answers["/api/all"]({}), *service.answers["/api/all"]({"page_after": "a"})]
        service.answers["/api/all"] = lambda _: everything
        assert [row.alias for row in _read(ana, settings, service, "chhoto")] == ["a", "b"]


@pytest.mark.parametrize("with_plugin", [False, True])
def test_yourls_links_come_with_visits_if_the_plugin_is_there(
    ana: Person, settings: Settings, *, with_plugin: bool
) -> None:
    with running(import_services.yourls(with_plugin=with_plugin)) as service:
        (row,) = _read(ana, settings, service, "yourls")
        assert all(TOKEN not in path for path in service.requests)
    assert row.alias == "a"
    link = _links(ana, settings)["a"]
    assert (link["clicks"], link["importedclicks"]) == (42, 41 if with_plugin else 42)


def test_second_import_of_a_service_creates_nothing(ana: Person, settings: Settings) -> None:
    with running(import_services.rebrandly()) as service:
        _read(ana, settings, service, "rebrandly")
        _links(ana, settings)
        assert {row.fate for row in _read(ana, settings, service, "rebrandly")} == {"there"}


def test_retry_after_is_obeyed(ana: Person, settings: Settings) -> None:
    waits: list[float] = []
    with running(import_services.rebrandly()) as service:
        service.statuses = [(429, {"Retry-After": "7"}), (503, {})]
        assert len(_read(ana, settings, service, "rebrandly", sleep=waits.append)) == 2
    assert waits == [7, 2]


def test_requests_stay_below_the_limits_of_bitly() -> None:
    limit = RateLimit(150, 60)
    now = 0.0
    for _ in range(450):
        now += limit.wait(now)
        limit.count(now)
    assert now == 120


@pytest.mark.parametrize(
    ("statuses", "raw", "field", "words"),
    [
        ([(401, {})], None, "token", "refuses"),
        ([(302, {"Location": "https://elsewhere.example.com/"})], None, "url", "redirects"),
        ([(500, {})] * 9, None, "url", "status 500"),
        ([(429, {})] * 9, None, "url", "limits its requests"),
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
        _read(ana, settings, service, "rebrandly")
    assert raised.value.field == field
    assert TOKEN not in raised.value.message
    with pytest.raises(Problem):
        ana.database.read(lambda tx: plans.current(tx, ana.account))


def test_token_is_in_no_table(ana: Person, settings: Settings) -> None:
    with running(import_services.dub()) as service:
        _read(ana, settings, service, "dub")
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
