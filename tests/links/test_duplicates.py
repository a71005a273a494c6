"""Links to the same destination are found by an index of hashes, on both databases."""

from sqlalchemy import Connection, select, text

from tests.conftest import Person
from tests.support.dashboard_client import Browser, form_version
from tests.support.databases import ON_BOTH_DATABASES
from waypost.db.schema import links
from waypost.items.links import ops
from waypost.items.links.columns import url_hash

pytestmark = ON_BOTH_DATABASES  # an index of hashes
_URL = "https://shop.example/boots"


def _found(person: Person, url: str, without: int = 0) -> int | None:
    link = person.database.read(lambda tx: ops.find_by_destination(tx, person.account, url, without=without))
    return link.id if link else None


def test_newest_link_to_destination_is_found_after_each_change(ana: Person, ben: Person, dashboard: Browser) -> None:
    ben.add("url", url=_URL)
    assert _found(ana, _URL) is None
    first, second = ana.add("url", url=_URL), ana.add("url", url=_URL)
    assert (_found(ana, _URL), _found(ana, _URL, without=second)) == (second, first)
    ana.update("url", second, url=f"{_URL}?size=9", title="Nine")
    assert (_found(ana, _URL), _found(ana, f"{_URL}?size=9")) == (first, second)
    version = form_version(dashboard.get(f"/links/{first}"), f"/links/{first}")
    dashboard.submit(f"/links/{first}", url=f"{_URL}#top", version=version)
    assert (_found(ana, _URL), _found(ana, f"{_URL}#top")) == (None, first)
    dashboard.submit("/links/delete", at="/links", id=[first])
    assert _found(ana, f"{_URL}#top") is None
    entry = dashboard.get("/trash").text.partition("/dashboard/trash/")[2]
    assert entry
    bulk = [{"action": "create", "noun": "url", "fields": {"url": f"{_URL}/{n}"}} for n in range(3)]
    ana.post("/bulk", {"items": bulk})
    assert _found(ana, f"{_URL}/1") is not None


def test_every_stored_link_has_the_hash_of_its_destination(ana: Person) -> None:
    for url in (_URL, "https://shop.example/ä", f"https://shop.example/?{'x' * 8000}"):
        ana.add("url", url=url)
    rows = ana.database.read(lambda tx: tx.execute(select(links.c.url, links.c.urlhash)).all())
    assert len(rows) == 3
    assert all(row.urlhash == url_hash(row.url) >= 0 for row in rows)


def test_search_for_destination_uses_the_index(ana: Person) -> None:
    items = [{"action": "create", "noun": "url", "fields": {"url": f"{_URL}/{n}"}} for n in range(1_000)]
    ana.post("/bulk", {"items": items})
    url = f"{_URL}/500"

    def plan(tx: Connection) -> str:
        if tx.dialect.name == "postgresql":
            tx.execute(text("ANALYZE links"))
        explain = "EXPLAIN QUERY PLAN" if tx.dialect.name == "sqlite" else "EXPLAIN"
        condition = f"account = {ana.account} AND urlhash = {url_hash(url)} AND url = '{url}' AND id <> 0"
        rows = tx.execute(text(f"{explain} SELECT id FROM links WHERE {condition} ORDER BY id DESC LIMIT 1"))
        return "\n".join(str(tuple(row)) for row in rows)

    assert "links_account_urlhash" in ana.database.write(plan)
