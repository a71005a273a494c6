"""Share links of statistics in the API: fields, rules, lists, and the items of other accounts."""

import importlib
import re
from typing import Any

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, select, update

from tests.conftest import BASE, Person
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.visits import new_link
from waypost.admin import account_deletion
from waypost.db.schema import accounts, shares
from waypost.items.shares import ops

_FIELDS = {
    *("id", "type", "itemid", "url", "title", "slug", "haspassword", "firstday", "lastday", "days", "timezone"),
    *("expiry", "date"),
}


def _items(person: Person) -> dict[str, int]:
    return {
        "link": new_link(person, "spring"),
        "qr": person.add("qr", type="link", data="https://example.com/"),
        "bio": person.add("bio", name="Me"),
        "campaign": person.add("campaign", name="Spring"),
        "account": person.account,
    }


def _share(person: Person, item: int, type: str = "link", **fields: Any) -> Any:
    return person.post("/share/add", {"type": type, "itemid": item, **fields})


def test_every_kind_of_item_can_be_shared_read_and_revoked(ana: Person) -> None:
    for kind, item in _items(ana).items():
        created = _share(ana, item, kind)
        assert created.keys() == _FIELDS | {"error", "message"}
        assert (created["type"], created["itemid"], created["timezone"]) == (kind, item, "UTC")
        assert re.fullmatch(re.escape(BASE) + r"/stats/[\w-]{32}", created["url"])
        details = ana.get(f"/share/{created['id']}")["details"]
        assert details.keys() == _FIELDS
        assert ana.delete(f"/share/{created['id']}/delete")["message"]
        assert ana.call("GET", f"/share/{created['id']}").status_code == 404
        assert ana.call("DELETE", f"/share/{created['id']}/delete").status_code == 404
    assert ana.get("/shares")["data"]["shares"] == []


def test_fields_are_stored_changed_and_cleared(ana: Person) -> None:
    link = new_link(ana, "spring")
    fields = {"title": "Spring", "slug": "spring-sale", "firstday": "2026-11-01", "lastday": "2026-11-30"}
    share = _share(ana, link, **fields, password="tulip", timezone="Europe/Berlin", expiry="2999-12-31")
    assert {name: share[name] for name in fields} == fields
    assert (share["haspassword"], share["expiry"], share["timezone"]) == (True, "2999-12-31 23:59:59", "Europe/Berlin")
    assert share["url"] == f"{BASE}/stats/spring-sale-{share['id']}"
    path = f"/share/{share['id']}/update"
    changed = ana.put(path, {"firstday": None, "lastday": None, "days": 7})
    assert (changed["firstday"], changed["lastday"], changed["days"], changed["title"]) == ("", "", 7, "Spring")
    cleared = ana.put(path, dict.fromkeys(("title", "slug", "password", "days", "timezone", "expiry")))
    assert [cleared[name] for name in ("title", "slug", "haspassword", "days", "timezone", "expiry")] == [
        *("", "", False, None, "UTC", "")
    ]
    assert re.search(r"/stats/[\w-]{32}$", cleared["url"])


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"type": "file"}, "type"),
        ({"type": None}, "type"),
        ({"itemid": 99999}, "itemid"),
        ({"itemid": "x"}, "itemid"),
        ({"title": "x" * 256}, "title"),
        ({"slug": "a b"}, "slug"),
        ({"slug": "ab"}, "slug"),
        ({"slug": "a/b"}, "slug"),
        ({"firstday": "2026-02-30"}, "firstday"),
        ({"firstday": "1999-12-31"}, "firstday"),
        ({"lastday": "tomorrow"}, "lastday"),
        ({"lastday": "20261101"}, "lastday"),
        ({"firstday": "2026-11-02", "lastday": "2026-11-01"}, "firstday"),
        ({"days": 0}, "days"),
        ({"days": 3661}, "days"),
        ({"days": 7, "lastday": "2026-11-01"}, "days"),
        ({"timezone": "Mars/Phobos"}, "timezone"),
        ({"timezone": "../../etc/passwd"}, "timezone"),
        ({"password": "x" * 129}, "password"),
        ({"expiry": "2020-01-01"}, "expiry"),
    ],
)
def test_invalid_field_is_rejected(ana: Person, fields: dict[str, Any], field: str) -> None:
    link = new_link(ana, "spring")
    body = {"type": "link", "itemid": link, **fields}
    response = ana.call("POST", "/share/add", {name: value for name, value in body.items() if value is not None})
    assert (response.status_code, response.json()["field"]) == (400, field)
    assert ana.get("/shares")["data"]["result"] == 0
    if field not in ("type", "itemid"):
        share = _share(ana, link)["id"]
        response = ana.call("PUT", f"/share/{share}/update", fields)
        assert (response.status_code, response.json()["field"]) == (400, field)


def test_change_is_checked_together_with_stored_days(ana: Person) -> None:
    share = _share(ana, new_link(ana, "spring"), firstday="2026-11-10")["id"]
    for fields, field in (({"days": 3}, "days"), ({"lastday": "2026-11-09"}, "firstday")):
        response = ana.call("PUT", f"/share/{share}/update", fields)
        assert (response.status_code, response.json()["field"]) == (400, field)


@ON_BOTH_DATABASES
def test_list_is_newest_first_and_can_be_limited_to_an_item(ana: Person) -> None:
    spring, autumn = new_link(ana, "spring"), new_link(ana, "autumn")
    campaign = ana.add("campaign", name="Spring")
    ids = [_share(ana, spring)["id"], _share(ana, autumn)["id"], _share(ana, campaign, "campaign")["id"]]

    def listed(**params: Any) -> list[int]:
        return [share["id"] for share in ana.get("/shares", **params)["data"]["shares"]]

    assert listed() == ids[::-1]
    assert listed(limit=2, page=2) == ids[:1]
    assert listed(type="link") == [ids[1], ids[0]]
    assert listed(type="link", itemid=spring) == ids[:1]
    assert ana.call("GET", "/shares", params={"itemid": spring}).json()["field"] == "type"


def test_items_and_shares_of_other_accounts_are_unknown(ana: Person, ben: Person) -> None:
    items = _items(ana)
    share = _share(ana, items["link"])["id"]
    for kind, item in items.items():
        response = ben.call("POST", "/share/add", {"type": kind, "itemid": item})
        assert (response.status_code, response.json()["field"]) == (400, "itemid")
    for method, path in (("GET", ""), ("PUT", "/update"), ("DELETE", "/delete")):
        response = ben.call(method, f"/share/{share}{path}", {"title": "mine"} if method == "PUT" else None)
        assert response.status_code == 404
    assert ben.get("/shares")["data"]["result"] == 0
    assert ana.get(f"/share/{share}")["details"]["title"] == ""


@ON_BOTH_DATABASES
def test_shares_of_an_item_are_limited(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "MAX_SHARES", 2)
    spring = new_link(ana, "spring")
    ids = [_share(ana, spring)["id"] for _ in range(2)]
    assert ana.call("POST", "/share/add", {"type": "link", "itemid": spring}).json()["field"] == "itemid"
    _share(ana, new_link(ana, "autumn"))
    ana.delete(f"/share/{ids[0]}/delete")
    _share(ana, spring)


@ON_BOTH_DATABASES
def test_shares_of_the_account_are_apart_from_those_of_items_and_end_with_it(ana: Person, ben: Person) -> None:
    link, account = _share(ana, new_link(ana, "spring"))["id"], _share(ana, ana.account, "account")["id"]
    kept = _share(ben, ben.account, "account")["id"]

    def listed(**params: Any) -> list[int]:
        return [share["id"] for share in ana.get("/shares", **params)["data"]["shares"]]

    assert listed() == [account, link]
    assert listed(type="account") == listed(type="account", itemid=ana.account) == [account]
    assert listed(type="account", itemid=ben.account) == []
    assert listed(type="link") == [link]
    ana.write(lambda tx: tx.execute(update(accounts).values(owner=False).where(accounts.c.id == ana.account)))
    account_deletion.delete_account(ana.database, ana.account)
    assert ana.database.read(lambda tx: tx.execute(select(shares.c.id)).scalars().all()) == [kept]


def test_replacing_the_table_keeps_ids_because_public_addresses_contain_them(ana: Person) -> None:
    migration = importlib.import_module("waypost.db.migrations.versions.0012_shares_of_accounts")
    link = new_link(ana, "spring")
    kept, revoked = _share(ana, link, slug="spring-sale"), _share(ana, link)
    ana.delete(f"/share/{revoked['id']}/delete")

    def replace(tx: Connection) -> None:
        with Operations.context(MigrationContext.configure(tx)):
            migration.upgrade()

    ana.write(replace)
    assert ana.get(f"/share/{kept['id']}")["details"]["url"] == kept["url"]
    assert _share(ana, ana.account, "account")["id"] == revoked["id"] + 1
