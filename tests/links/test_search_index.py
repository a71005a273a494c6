"""The search index of PostgreSQL: queries use it, and counted clicks leave it alone (decision 81)."""

import pytest
from sqlalchemy import Connection, event, text

from tests.conftest import Person
from tests.support.databases import ON_BOTH_DATABASES, ON_POSTGRESQL
from waypost.db.crud import PageRequest
from waypost.db.database import Database
from waypost.items.links import list_search
from waypost.items.links.filters import NO_FILTER

pytestmark = ON_BOTH_DATABASES  # search indexes
_LINKS = 5_000
_FORGET = (
    text("TRUNCATE links_search"),
    text("DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relname LIKE 'links%')"),
)
"""Autovacuum may have analyzed the tables with one row: their sizes and statistics, also of indexes, are forgotten."""
_FILL = text(
    "INSERT INTO links (account, created, host, alias, url, urlhash, title, description, search, taken, expiryurl,"
    " type, status, metatitle, metadescription, metaimage, geotarget, devicetarget, languagetarget, deeplink,"
    " parameters, clicks, uniqueclicks, importedclicks) SELECT account, n, host, 'filled-' || n, url, urlhash, title,"
    " description, 'https://e.com/' || md5(n::text), taken, expiryurl, type, status, metatitle, metadescription,"
    " metaimage, geotarget, devicetarget, languagetarget, deeplink, parameters, clicks, uniqueclicks, importedclicks"
    " FROM links, generate_series(1, :count) AS n"
)


@ON_POSTGRESQL
@pytest.mark.parametrize("is_analyzed", [False, True])
def test_search_of_many_links_uses_index(
    ana: Person,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    is_analyzed: bool,  # noqa: FBT001  # pytest passes it by name
) -> None:
    monkeypatch.setattr(list_search, "FEW_LINKS", -1)
    account = ana.get("/account")["data"]["id"]
    ana.add("url", url="https://example.com/", title="A lantern")

    def explain(tx: Connection) -> dict[str, str]:
        for statement in _FORGET:
            tx.execute(statement)
        tx.execute(_FILL, {"count": _LINKS})
        if is_analyzed:
            tx.execute(text("ANALYZE links, links_search"))
        plans = {}
        for q in ("lan", "lantern", "e4da3b7fbbce", "://e.com/c4c", "lantern candle e4da"):
            query = list_search.matching_ids(tx, account, words=q.split(), link_filter=NO_FILTER)
            sql = query.compile(dialect=tx.dialect, compile_kwargs={"literal_binds": True})
            plans[q] = "\n".join(tx.exec_driver_sql(f"EXPLAIN {sql}").scalars())
        return plans

    plans = database.write(explain)
    assert all("Bitmap Index Scan on links_search_index" in plan for plan in plans.values()), plans
    assert all("Seq Scan" not in plan for plan in plans.values()), plans


@ON_POSTGRESQL
@pytest.mark.parametrize("q", ["e.com", "e."])
def test_frequent_text_is_counted_exactly_without_reading_links(
    ana: Person, ben: Person, database: Database, monkeypatch: pytest.MonkeyPatch, q: str
) -> None:
    monkeypatch.setattr(list_search, "FEW_LINKS", -1)
    account = ana.get("/account")["data"]["id"]
    ana.add("url", url="https://other.org/")
    ben.add("url", url="https://e.com/")
    statements: list[str] = []

    def find(tx: Connection) -> int:
        tx.execute(text(f"{_FILL} WHERE account = {account}"), {"count": 100})
        event.listen(tx, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
        return list_search.page(tx, account, PageRequest(), q=q).result

    assert database.write(find) == 100  # neither the first link nor that of the other account
    (count,) = (statement for statement in statements if "count(*)" in statement)
    assert "FROM links_search" in count


@ON_POSTGRESQL
def test_counted_clicks_do_not_change_index(ana: Person, database: Database) -> None:
    link = ana.add("url", url="https://example.com/", title="A lantern")
    version = text("SELECT xmin::text FROM links_search")
    before = database.read(lambda tx: tx.execute(version).scalar_one())
    database.write(lambda tx: tx.execute(text("UPDATE links SET clicks = clicks + 1")))
    ana.update("url", link, clicklimit=5)
    assert database.read(lambda tx: tx.execute(version).scalar_one()) == before
    ana.update("url", link, title="A candle")
    assert database.read(lambda tx: tx.execute(version).scalar_one()) != before
