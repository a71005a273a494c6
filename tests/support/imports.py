"""Plan and apply imports of CSV files and of services."""

import io
import time
from typing import Any

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.import_services import TOKEN, Service
from waypost.core.settings import Settings
from waypost.transfer.imports import apply, planner, plans
from waypost.transfer.imports.planner import Options
from waypost.transfer.imports.plans import Row
from waypost.transfer.imports.sources import registry
from waypost.transfer.imports.sources.csv_files import CsvSource

SHOP = "https://example.com/shop"
EXPORTS = {
    "bitly": f"Link,Custom Link,Destination URL,Title\nhttps://go.localhost/spring,,{SHOP},Spring",
    "dub": f"Short link,Destination URL,Clicks,Created at\nhttps://go.localhost/spring,{SHOP},5,2024-05-06T07:08:09.000Z",
    "short.io": f"Original URL,Path,Title,Clicks\n{SHOP},spring,T,7",
    "rebrandly": f"slashtag;destination;domainName;createdAt\nspring;{SHOP};go.localhost;2021-02-03T04:05:06.000Z",
    "kutt": f"address,target,description,visit_count,created_at\nspring,{SHOP},note,7,2024-01-02T03:04:05.000Z",
    "chhoto": f"shortlink,longlink,hits,expiry_time,notes\nspring,{SHOP},3,0,",
    "shlink": f"Long URL,Tags,Domain,Short code,Title\n{SHOP},foo|bar,,spring,",
    "yourls": f"source,target,hits\n/spring/,{SHOP},12",
    "tiny.cc": f'"url";"short_id";"note"\n{SHOP};spring;n',
}
"""A file of each service with the link `spring` to SHOP."""
_DEFAULTS = Options()
OWN = Options(hosts={"bit.ly": "", "127.0.0.1": "", "go.localhost": ""})
"""All links of the services come to the service's own host."""
MOVED = Options(hosts={"go.localhost": "links.example.com"})
"""The links of some services have aliases that only branded domains allow: see the fixture `domain`."""
Fates = list[tuple[str, str]]


def plan(person: Person, settings: Settings, text: str | bytes, options: Options = _DEFAULTS, **columns: str) -> Fates:
    """Plan the import of a CSV file; return the fate and alias of each row."""
    return [(row.fate, row.alias) for row in planned_rows(person, settings, text, options, **columns)]


def planned_rows(
    person: Person,
    settings: Settings,
    text: str | bytes,
    options: Options = _DEFAULTS,
    **columns: str,
) -> list[Row]:
    """Plan the import of a CSV file; return the rows of the plan."""
    content = text.encode() if isinstance(text, str) else text
    source = CsvSource(io.BytesIO(content), columns)
    made = planner.make(person.database, settings, person.account, source, options)
    return list(plans.rows(person.database, person.account, made))


def run(person: Person, settings: Settings, text: str, options: Options = _DEFAULTS) -> None:
    """Plan and apply the import of a CSV file."""
    planned_rows(person, settings, text, options)
    apply.apply(person.database, person.account, settings)


def read_service(
    person: Person, settings: Settings, service: Service, name: str, *, options: Options = OWN, **reader: Any
) -> list[Row]:
    """Plan the import of a fake service; return the rows of the plan."""
    is_own = name in registry.SELF_HOSTED
    source_options = registry.ServiceOptions(
        service.url if is_own else "",
        trusted_hosts=registry.hosts_of(service.url),
        reader={"sleep": lambda _: None, **({} if is_own else {"base": service.url}), **reader},
    )
    source = registry.of_service(name, TOKEN, source_options)  # type: ignore[arg-type]
    made = planner.make(person.database, settings, person.account, source, options)
    return list(plans.rows(person.database, person.account, made))


def applied_links(person: Person, settings: Settings) -> dict[str, dict[str, Any]]:
    """Apply the plan; return the details of all links by alias."""
    apply.apply(person.database, person.account, settings)
    return {item["alias"]: person.details("url", item["id"]) for item in person.get("/urls")["data"]["urls"]}


def await_import(person: Person) -> dict[str, Any]:
    """Wait until no process works on the import of a person, if there is one; return its details."""
    deadline = time.monotonic() + 30
    while True:
        response = person.call("GET", "/import")
        details: dict[str, Any] = response.json().get("details", {})
        if not details.get("running"):
            return details
        assert time.monotonic() < deadline
        time.sleep(0.02)


def await_response(service: AsgiClient, path: str, status: int, location: str | None = None) -> None:
    """Wait until the service, which follows the change log, responds so."""
    deadline = time.monotonic() + 30
    while True:
        response = service.get(path)
        if response.status_code == status and location in (None, response.headers.get("location")):
            return
        assert time.monotonic() < deadline, (response.status_code, response.headers)
        time.sleep(0.05)
