"""Archives of accounts: fill an account, export it, import it elsewhere, and compare what the API says."""

import base64
import io
import re
from pathlib import Path
from typing import Any

from PIL import Image
from sqlalchemy import Connection, func, insert, select

from tests.conftest import BASE, Person
from tests.contract.resources import RESOURCES
from tests.support.asgi_client import AsgiClient
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.schema.nouns import referred_first
from waypost.storage.factory import open_store
from waypost.transfer.exports import runner as exports
from waypost.transfer.exports.archive import Source
from waypost.transfer.imports import plans
from waypost.transfer.imports.archives.staging import Staging
from waypost.transfer.imports.file_source import open_file
from waypost.transfer.imports.planner import Options, make

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def _picture() -> str:
    output = io.BytesIO()
    Image.new("RGB", (64, 64), "#800000").save(output, "PNG")
    return "data:image/png;base64," + base64.b64encode(output.getvalue()).decode()


PICTURE = _picture()
Move = tuple[Person, Settings]
"""An account on another installation, and the settings there."""
PLAN_TABLES = {"import_plans", "import_rows", "import_clicks", "import_parts", "orphan_objects", "page_counters"}
LISTS = {
    "urls": ("url", "urls"),
    "campaigns": ("campaign", "campaigns"),
    "channels": ("channel", "channels"),
    "pixels": ("pixel", "pixels"),
    "utms": ("utm", "utms"),
    "domains": ("domain", "domains"),
    "splash": ("splash", "splash"),
    "overlay": ("overlay", "cta"),
    "qr": ("qr", "qrs"),
    "bios": ("bio", "bios"),
    "files": ("file", "list"),
}
"""For each list of the API, the noun of its items and the key of the list."""


def export(person: Person, settings: Settings, path: Path) -> Path:
    """Write the archive of an account to a file."""
    with path.open("wb") as output:
        exports.run(Source(person.database, open_store(settings), settings, person.account), output.write)
    return path


def plan(person: Person, settings: Settings, path: Path, options: Options | None = None) -> dict[str, int]:
    """Plan the import of an archive; return the number of rows by fate."""
    staging = Staging(person.database, open_store(settings), settings, person.account)
    with open_file(path, {}, staging=staging) as source:
        made = make(person.database, settings, person.account, source, options or Options())
    return dict(person.database.read(lambda tx: plans.summary(tx, person.account, made)).counts)


def shift_ids(person: Person) -> None:
    """Use up ids, so that those of the archive belong to other items."""
    for resource in RESOURCES:
        item = person.call("POST", f"{resource.path}/add", resource.body(7)).json()["id"]
        person.call("DELETE", f"{resource.path}/{item}/delete")


def fill(person: Person, service: AsgiClient) -> None:
    """Create items of every kind that refer to each other, and visits of them."""
    for resource in RESOURCES:
        for number in (1, 2):
            assert person.call("POST", f"{resource.path}/add", resource.body(number)).json()["error"] == 0
    file = person.call("POST", "/files/upload/a.bin?maxdownloads=5", content=b"\x00\xff" * 5000).json()
    person.post("/qr/add", {"type": "link", "data": "https://example.com/", "name": "Logo", "logo": PICTURE})
    fields = {
        "domain": "go1.brand.example",
        "expiry": "2999-12-31",
        "clicklimit": 50,
        "pixels": [1, 2],
        "channel": [2, 1],
        "campaign": 1,
        "geotarget": [{"location": "France", "link": "https://example.fr/"}],
        "parameters": [{"name": "a", "value": "'\"\\ü"}],
        "metatitle": "Card",
    }
    branded = person.add("url", url="https://example.com/ünï?a=%20", custom="straße", **fields, type="overlay-1")
    link = person.add("url", url="https://example.com/plain", custom="plain", campaign=1, type="1", status="private")
    person.update("domain", 1, brandname="Ana's", brandcolor="#0A5CFF", brandlogo=PICTURE, alsowww=True)
    person.post("/channel/2/assign/bio/1")
    person.post("/channel/1/assign/qr/2")
    _add_bio_page_with_pictures(person)
    person.update("campaign", 1, name="Rotating", slug="rotating", rotation="weighted", winner=50)
    person.post(f"/campaign/1/assign/{link}", {"weight": 7, "quota": 9})
    person.post(f"/campaign/1/assign/{branded}")
    text = {"name": "A", "email": "a@example.com", "message": "Hi\nthere", "choice": "Red", "created": 1_790_000_000}
    row = {"account": person.account, "overlay": 1, "link": link, **text}
    person.write(lambda tx: tx.execute(insert(schema.submissions).values(row)))
    bio = person.get("/bios")["data"]["bios"][-1]["shorturl"][len(BASE) :]
    code = person.get("/qr")["data"]["qrs"][0]["link"].rpartition("/")[2]
    for path in ("/plain", "/plain", "/r/rotating", f"/{code}", file["shorturl"][len(BASE) :], bio):
        for agent in (FIREFOX, "curl/8.0", "Googlebot/2.1"):
            headers = {"User-Agent": agent, "Referer": "https://news.example/", "Accept-Language": "de"}
            service.get(path, headers=headers)


def _add_bio_page_with_pictures(person: Person) -> None:
    """Create a bio page with pictures, own colors, a form and a block with a schedule."""
    form = {"type": "form", "overlay": person.add("overlay", name="News", type="newsletter")}
    link = {"type": "link", "title": "Shop", "url": "https://example.com/shop", "thumbnail": PICTURE}
    blocks = [{**link, "showfrom": "2020-01-01", "showuntil": "2999-12-31"}, form]
    blocks.append({"type": "image", "picture": PICTURE, "alt": "A bowl"})
    design = {"background": "#fff4e0", "gradient": "#ffd9c0", "picture": PICTURE}
    person.post("/bio/add", {"name": "Rich", "avatar": PICTURE, "design": design, "blocks": blocks})


def counts(person: Person) -> dict[str, int]:
    """Return the number of rows of every table but those of a plan, and those that the service writes on its own."""
    left_out = {*PLAN_TABLES, "installation", "audit"}
    tables = [table for table in schema.metadata.sorted_tables if table.name not in left_out]
    query = {table.name: select(func.count()).select_from(table) for table in tables}
    return person.database.read(lambda tx: {name: tx.execute(count).scalar_one() for name, count in query.items()})


def totals(person: Person) -> dict[str, Any]:
    """Return the number of items of an account, and its statistics without zeros."""

    def work(tx: Connection) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for table in (noun.table for noun in referred_first().values()):
            query = select(func.count()).select_from(table).where(table.c.account == person.account)
            values[table.name] = tx.execute(query).scalar_one()
        times, labels = schema.click_times.c, schema.click_labels.c
        clicks = select(times.kind, func.sum(times.clicks), func.sum(times.uniques)).group_by(times.kind)
        values["times"] = sorted(map(tuple, tx.execute(clicks.where(times.clicks > 0))))
        sums = select(labels.kind, labels.dimension, labels.label, func.sum(labels.n)).where(labels.n > 0)
        values["labels"] = sorted(map(tuple, tx.execute(sums.group_by(labels.kind, labels.dimension, labels.label))))
        values["visits"] = tx.execute(select(func.count()).select_from(schema.events)).scalar_one()
        return values

    return person.database.read(work)


def answers(person: Person) -> dict[str, Any]:
    """Return everything that the API says about an account, with the place in its list instead of each id."""
    ids: dict[str, dict[int, int]] = {}
    lists: dict[str, list[dict[str, Any]]] = {}
    for name, (noun, key) in LISTS.items():
        body = person.get(f"/{name}", limit=100)
        items = body.get("list") or body["data"][key]
        lists[noun] = items
        ids[noun] = {item["id"]: place for place, item in enumerate(reversed(items))}
    values: dict[str, Any] = {}
    for noun, items in lists.items():
        for item in items:
            place = ids[noun][item["id"]]
            values[f"{noun} {place}"] = _read(person, noun, item["id"])
    return {"lists": lists, "items": values, "ids": ids}


def _read(person: Person, noun: str, item: int) -> Any:
    body = person.get(f"/{noun}/{item}")
    if noun in ("url", "qr", "bio", "campaign", "file"):
        body["stats"] = person.get(f"/{noun}/{item}/stats", **{"from": "2026-01-01", "to": "2027-12-31"})
    if noun == "overlay":
        body["submissions"] = person.get(f"/overlay/{item}/submissions")
    return body


def normalized(answer: dict[str, Any]) -> dict[str, Any]:
    """Replace every id by the place of its item, and what an archive cannot contain."""
    ids = answer["ids"]

    def walk(value: Any, parent: str = "") -> Any:
        if isinstance(value, list):
            return [walk(item, parent) for item in value]
        if isinstance(value, str):
            return re.sub(r"/picture-\d+\Z", "/picture", value)
        if not isinstance(value, dict):
            return value
        return {key_of(key): converted(key, item, parent) for key, item in value.items() if key != "id"}

    def key_of(key: str) -> str:
        match = re.fullmatch(r"link (\d+)", key)  # a label of the statistics of a campaign
        return f"link at {ids['url'][int(match[1])]}" if match else key

    def converted(key: str, value: Any, parent: str) -> Any:
        if key == "type" and (match := re.fullmatch(r"(overlay-)?(\d+)", str(value))):
            return f"interstitial {ids['overlay' if match[1] else 'splash'][int(match[2])]}"
        kind = {
            "campaign": "campaign",
            "channel": "channel",
            "pixels": "pixel",
            "link": "url",
            "overlay": "overlay",
        }.get(key, "")
        is_ids = isinstance(value, int) or (isinstance(value, list) and all(isinstance(item, int) for item in value))
        if not kind or parent == "sources" or not is_ids:
            return walk(value, key)
        if isinstance(value, list):
            return sorted(ids[kind][item] for item in value)
        return ids[kind][value]

    return flat(walk({"lists": answer["lists"], "items": answer["items"]}))


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Return the values of nested objects and lists by path."""
    if not isinstance(value, dict | list):
        return {path: value}
    children = value.items() if isinstance(value, dict) else enumerate(value)
    return {
        key: each for name, item in children if name != "list" for key, each in flat(item, f"{path}/{name}").items()
    }
