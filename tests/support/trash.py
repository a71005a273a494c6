"""Items in the trash: an account in which every item belongs to others, and its state."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from tests.conftest import Person
from tests.contract.resources import RESOURCES
from tests.support.asgi_client import AsgiClient
from tests.support.bios import picture_url
from tests.support.dashboard_client import Browser
from tests.support.visits import CHROME, FIREFOX, visit
from waypost.dashboard.trash import one_by_one
from waypost.db import schema
from waypost.db.database import Database
from waypost.items.bios import ops as bios
from waypost.items.campaigns import ops as campaigns
from waypost.items.channels import ops as channels
from waypost.items.domains import ops as domains
from waypost.items.files import ops as files
from waypost.items.links import bulk
from waypost.items.overlays import ops as overlays
from waypost.items.pixels import ops as pixels
from waypost.items.qr import ops as qr_codes
from waypost.items.splash import ops as splash_pages
from waypost.items.utm import ops as utm_templates
from waypost.trash import ops

NOUNS = {
    "url": "link",
    "file": "file",
    "qr": "qr",
    "bio": "bio",
    "campaign": "campaign",
    "channel": "channel",
    "domain": "domain",
    "splash": "splash",
    "overlay": "overlay",
    "pixel": "pixel",
    "utm": "utm",
}
"""The kinds in the trash, by the noun of the API."""
LIST_PAGES = {
    "url": "links",
    "file": "files",
    "qr": "qr",
    "bio": "bios",
    "campaign": "campaigns",
    "channel": "channels",
    "splash": "splash",
    "overlay": "overlays",
    "pixel": "pixels",
    "utm": "utm",
    "domain": "domains",
}
_REMOVE: Mapping[str, ops.Remove] = {
    "link": bulk.remove,
    "file": one_by_one(files.remove),
    "qr": one_by_one(qr_codes.remove),
    "bio": one_by_one(bios.remove),
    "campaign": one_by_one(campaigns.remove),
    "channel": one_by_one(channels.remove),
    "splash": one_by_one(splash_pages.remove),
    "overlay": one_by_one(overlays.remove),
    "pixel": one_by_one(pixels.remove),
    "utm": one_by_one(utm_templates.remove),
    "domain": one_by_one(domains.remove),
}
_PICTURES = {"avatar": picture_url(), "design": {"background": "#fff4e0", "picture": picture_url("#c8d4a0")}}
_OTHER_TABLES = {
    *("accounts", "api_keys", "attempt_limits", "changes", "idempotency_keys", "installation", "leases"),
    *("people", "members", "audit", "plans", "segments", "sessions", "visitor_salts", "page_counters", "trash"),
}


def new_items(person: Person) -> dict[str, int]:
    """Create one item of each noun; return their ids. The link `item` uses all others, and has visits."""
    ids = {}
    for resource in RESOURCES:
        if resource.path != "/url":
            body = {**resource.body(), **(_PICTURES if resource.path == "/bio" else {})}
            ids[resource.path[1:]] = int(person.post(f"{resource.path}/add", body)["id"])
    ids["file"] = person.call("POST", "/files/upload/a.bin?custom=a-file&password=secret", content=b"content").json()[
        "id"
    ]
    body = next(resource for resource in RESOURCES if resource.path == "/url").body()
    used = {"campaign": ids["campaign"], "channel": [ids["channel"]], "pixels": [ids["pixel"]], "clicklimit": 5}
    uses = {**used, "type": f"overlay-{ids['overlay']}", "custom": "an-item", "title": "An item", "password": None}
    body = {**body, **uses, "expiry": None, "status": "public"}
    ids["url"] = int(person.post("/url/add", {name: value for name, value in body.items() if name != "domain"})["id"])
    # The splash page needs a link of its own: a link has an overlay or a splash page.
    with_splash = {"url": "https://example.com/wait", "type": str(ids["splash"]), "custom": "with-splash"}
    person.post("/url/add", {**with_splash, "title": "Other"})
    for kind, noun in (("bio", "bio"), ("qr", "qr")):
        person.post(f"/channel/{ids['channel']}/assign/{kind}/{ids[noun]}")
    person.call("POST", f"/campaign/{ids['campaign']}/assign/{ids['url']}", {"weight": 3, "quota": 9})
    for kind, noun in (("link", "url"), ("qr", "qr"), ("bio", "bio"), ("campaign", "campaign")):
        person.post("/share/add", {"type": kind, "itemid": ids[noun], "password": "tulip", "days": 7})
    return ids


def visit_items(person: Person, service: AsgiClient, ids: Mapping[str, int]) -> None:
    """Visit the items, so that they have statistics."""
    code = person.details("qr", ids["qr"])["link"].rpartition("/")[2]
    page = person.details("bio", ids["bio"])
    for path in ("an-item", code, page["alias"], "a-file"):
        for agent in (CHROME, FIREFOX):
            visit(service, path, agent=agent)
    person.get(f"/url/{ids['url']}")  # waits until the visits are counted


def move(database: Database, person: Person, noun: str, *items: int) -> str:
    """Move items to the trash; return their batch."""
    kind = NOUNS[noun]
    return database.write(lambda tx: ops.move(tx, person.account, kind, items, _REMOVE[kind]))


def entries(database: Database, person: Person) -> list[int]:
    """Return the ids in the trash, the first deletion first."""
    query = select(schema.trash.c.id).where(schema.trash.c.account == person.account).order_by(schema.trash.c.id)
    return list(database.read(lambda tx: tx.execute(query).scalars().all()))


def restore(database: Database, person: Person, ids: Sequence[int]) -> None:
    """Restore items by their ids in the trash."""
    database.write(lambda tx: ops.restore(tx, person.account, ids))


def state(database: Database) -> dict[str, list[str]]:
    """Return all rows of items, their parts, aliases and statistics, and the numbers of items."""

    def work(tx: Connection) -> dict[str, list[str]]:
        tables = (table for table in schema.metadata.sorted_tables if table.name not in _OTHER_TABLES)
        rows = {table.name: sorted(str(dict(row)) for row in tx.execute(select(table)).mappings()) for table in tables}
        c = schema.page_counters.c
        counts = select(c.account, c.noun, c.level, c.block, c.rows).where(c.noun != "trash", c.rows != 0)
        return {**rows, "page_counters": sorted(str(row) for row in tx.execute(counts))}

    return database.read(work)


def delete_in_dashboard(dashboard: Browser, noun: str, item: int) -> Any:
    """Delete an item by the form of its confirmation; return the response."""
    page = LIST_PAGES[noun]
    is_bulk = noun in ("url", "file", "qr", "bio")
    path = f"/{page}/delete" if is_bulk else f"/{page}/{item}/delete"
    return dashboard.submit(path, at=f"/{page}/{item}/delete", **({"id": item} if is_bulk else {}))


def restore_in_dashboard(dashboard: Browser, *entries: int) -> str:
    """Restore items by the buttons of the trash; return the message."""
    form = {"action": "restore", "id": list(entries)}
    return dashboard.submit_for_message("/trash/bulk", at="/trash", **form)
