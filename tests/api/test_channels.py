"""Channels: shelves for links, bio pages and QR codes (API document, section Channels; decision 37)."""

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine

from tests.conftest import BASE, Person
from tests.support.assertions import refused
from tests.support.databases import ON_BOTH_DATABASES
from waypost.db import crud, schema

_numbers = itertools.count(1)
KINDS = ("links", "bio", "qr")


def _channel(person: Person, name: str = "News") -> int:
    return person.add("channel", name=name)


def _item(person: Person, kind: str, alias: str = "") -> int:
    alias = alias or f"alias-{next(_numbers)}"
    if kind == "links":
        return person.add("url", url="https://example.com/", custom=alias, title="A link")
    if kind == "bio":
        return person.add("bio", name="A bio page", alias=alias)
    body = {"alias": alias, "type": "text", "data": "hello", "name": "A code"}
    return int(person.write(lambda tx: crud.add(tx, schema.qrs, person.account, body)))


def _assign(person: Person, channel: int, kind: str, item: int) -> None:
    assert person.post(f"/channel/{channel}/assign/{kind}/{item}")["message"]


def _items(person: Person, channel: int, **params: Any) -> list[tuple[str, int]]:
    return [(item["type"], item["id"]) for item in person.get(f"/channel/{channel}", **params)["data"]["items"]]


def test_channel_defaults_are_black_and_not_starred(ana: Person) -> None:
    created = ana.post("/channel/add", {"name": "News"})
    assert created.pop("message")
    assert created == {
        "error": 0,
        "id": created["id"],
        "name": "News",
        "description": "",
        "color": "#000000",
        "starred": False,
    }


def test_create_and_update_return_message_and_channel(ana: Person) -> None:
    body = {"name": "News", "description": "of the day", "color": "#aB12cd", "starred": True}
    created = ana.post("/channel/add", body)
    assert created.pop("message") == "Channel has been created successfully."
    assert created == {"error": 0, "id": created["id"], **body}
    changed = ana.update("channel", created["id"], name="Old news", starred=False)
    assert changed.pop("message") == "Channel has been updated successfully."
    assert changed == {**created, "name": "Old news", "starred": False}
    listed = ana.get("/channels")["data"]["channels"]
    assert [{"error": 0, **channel} for channel in listed] == [changed]


def test_empty_channel_update_is_accepted(ana: Person) -> None:
    channel = _channel(ana)
    assert ana.update("channel", channel)["name"] == "News"
    assert ana.put(f"/channel/{channel}/update")["name"] == "News"


@ON_BOTH_DATABASES
def test_channel_name_is_unique_in_account(ana: Person, ben: Person) -> None:
    _channel(ana)
    for name in ("News", " News", "News\u2003", "\u00a0News ", "news", "NEWS"):
        response = ana.call("POST", "/channel/add", {"name": name})
        assert refused(response, 400, "name") == "You already have a channel with this name.", name
        assert response.json()["code"] == "taken"
    for name in ("New s", "Ne\u0301ws", "News."):
        _channel(ana, name)
    _channel(ben)
    assert len(ana.get("/channels")["data"]["channels"]) == 4


def test_channel_rename_to_existing_name_is_rejected(ana: Person, ben: Person) -> None:
    news, sport = _channel(ana, "News"), _channel(ana, "Sport")
    _channel(ben, "Weather")
    for name in ("News", " News "):
        response = ana.call("PUT", f"/channel/{sport}/update", {"name": name, "starred": True})
        assert refused(response, 400, "name") == "You already have a channel with this name."
    assert [(c["name"], c["starred"]) for c in ana.get("/channels")["data"]["channels"]] == [
        ("Sport", False),
        ("News", False),
    ]
    assert ana.update("channel", news, name="News")["name"] == "News"
    assert ana.update("channel", news, name="Weather")["name"] == "Weather"
    assert ana.update("channel", sport, name="News")["name"] == "News"


def test_name_of_deleted_channel_is_available(ana: Person) -> None:
    first = _channel(ana)
    ana.remove("channel", first)
    assert _channel(ana) != first


@pytest.mark.parametrize("kind", KINDS)
def test_channel_item_has_preview_and_public_url(kind: str, ana: Person) -> None:
    channel, item = _channel(ana), _item(ana, kind, "spring")
    with time_machine.travel(datetime(2031, 2, 3, 23, 59, 59, tzinfo=UTC), tick=False):
        _assign(ana, channel, kind, item)
    title = {"links": "A link", "bio": "A bio page", "qr": "A code"}[kind]
    preview = f"{BASE}/qr/spring" if kind == "qr" else f"{BASE}/spring/qr"
    assert ana.get(f"/channel/{channel}")["data"]["items"] == [
        {"type": kind, "id": item, "title": title, "preview": preview, "link": f"{BASE}/spring", "date": "2031-02-03"}
    ]


def test_channel_item_title_is_never_empty(ana: Person) -> None:
    channel = _channel(ana)
    bare = ana.add("url", url="https://example.com/", custom="bare")
    named = ana.add("bio", name="Name", title="Title")
    qr = ana.write(lambda tx: crud.add(tx, schema.qrs, ana.account, {"alias": "code", "type": "text", "data": "x"}))
    for kind, item in (("links", bare), ("bio", named), ("qr", qr)):
        _assign(ana, channel, kind, item)
    titles = [item["title"] for item in ana.get(f"/channel/{channel}")["data"]["items"]]
    assert titles == [f"{BASE}/code", "Title", f"{BASE}/bare"]


def test_channel_item_url_uses_branded_domain(ana: Person) -> None:
    ana.post("/domain/add", {"domain": "http://go.brand.example"})
    link = ana.post("/url/add", {"url": "https://example.com/", "custom": "spring", "domain": "go.brand.example"})
    channel = _channel(ana)
    _assign(ana, channel, "links", link["id"])
    (item,) = ana.get(f"/channel/{channel}")["data"]["items"]
    assert (item["link"], item["preview"]) == (
        "http://go.brand.example/spring",
        "http://go.brand.example/spring/qr",
    )


@ON_BOTH_DATABASES
def test_channel_items_are_ordered_by_assignment_in_pages(ana: Person) -> None:
    channel = _channel(ana)
    items = [(kind, _item(ana, kind)) for kind in (*KINDS, "links", "links")]
    order = [items[place] for place in (3, 0, 4, 2, 1)]
    for kind, item in order:
        _assign(ana, channel, kind, item)
    pages = [ana.get(f"/channel/{channel}", limit=2, page=page)["data"] for page in (1, 2, 3, 4)]
    items_by_page = [[(item["type"], item["id"]) for item in page["items"]] for page in pages]
    newest = order[::-1]
    assert items_by_page == [newest[:2], newest[2:4], newest[4:], []]
    assert [page["nextpage"] for page in pages] == [2, 3, None, None]
    assert {(page["result"], page["perpage"], page["maxpage"]) for page in pages} == {(5, 2, 3)}
    assert [page["currentpage"] for page in pages] == [1, 2, 3, 4]


def test_empty_channel_returns_empty_page(ana: Person) -> None:
    paging = {"result": 0, "perpage": 15, "currentpage": 1, "nextpage": None, "maxpage": 1}
    assert ana.get(f"/channel/{_channel(ana)}")["data"] == {**paging, "items": []}


@ON_BOTH_DATABASES
def test_channel_item_is_identified_by_type_and_id(ana: Person) -> None:
    channel = _channel(ana)
    items = [(kind, _item(ana, kind)) for kind in KINDS]
    assert len({item for _, item in items}) == 1  # the first of each
    for kind, item in items:
        _assign(ana, channel, kind, item)
    assert _items(ana, channel) == items[::-1]


@ON_BOTH_DATABASES
def test_assigning_item_twice_has_no_effect(ana: Person) -> None:
    for kind in KINDS:
        channel, item, other = _channel(ana, kind), _item(ana, kind), _item(ana, kind)
        for one in (item, other, item, item):
            _assign(ana, channel, kind, one)
        assert _items(ana, channel) == [(kind, other), (kind, item)]


def test_item_can_be_on_several_channels(ana: Person) -> None:
    shelves = [_channel(ana, "One"), _channel(ana, "Two")]
    items = [(kind, _item(ana, kind)) for kind in KINDS]
    for (kind, item), channel in itertools.product(items, shelves):
        _assign(ana, channel, kind, item)
    assert [_items(ana, channel) for channel in shelves] == [items[::-1]] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_foreign_items_and_channels_are_rejected(kind: str, ana: Person, ben: Person) -> None:
    own, foreign = (_channel(ana), _item(ana, kind)), (_channel(ben), _item(ben, kind))
    places = {
        "his channel": f"/channel/{foreign[0]}/assign/{kind}/{own[1]}",
        "no channel": f"/channel/999999/assign/{kind}/{own[1]}",
        "his item": f"/channel/{own[0]}/assign/{kind}/{foreign[1]}",
        "no item": f"/channel/{own[0]}/assign/{kind}/999999",
        "no number": f"/channel/{own[0]}/assign/{kind}/x",
        "no channel number": f"/channel/x/assign/{kind}/{own[1]}",
    }
    messages = {place: refused(ana.call("POST", path), 404) for place, path in places.items()}
    assert messages["his channel"] == messages["no channel"]
    assert messages["his item"] == messages["no item"]
    assert _items(ana, own[0]) == _items(ben, foreign[0]) == []


def test_unknown_item_type_is_rejected(ana: Person) -> None:
    channel, link = _channel(ana), _item(ana, "links")
    for kind in ("link", "LINKS", "bios", "qrs", "urls", "files", "x", "links%20", "0"):
        refused(ana.call("POST", f"/channel/{channel}/assign/{kind}/{link}"), 400, "type")
    assert _items(ana, channel) == []


def test_items_of_foreign_channel_are_not_shown(ana: Person, ben: Person) -> None:
    channel = _channel(ana)
    _assign(ana, channel, "links", _item(ana, "links"))
    assert refused(ben.call("GET", f"/channel/{channel}"), 404) == refused(ben.call("GET", "/channel/999999"), 404)


def test_deleting_channel_keeps_items(ana: Person) -> None:
    channel, other = _channel(ana, "One"), _channel(ana, "Two")
    items = [(kind, _item(ana, kind)) for kind in KINDS]
    for kind, item in items:
        _assign(ana, channel, kind, item)
        _assign(ana, other, kind, item)
    assert ana.remove("channel", channel)["message"]
    refused(ana.call("GET", f"/channel/{channel}"), 404)
    assert _items(ana, other) == items[::-1]
    assert ana.details("url", items[0][1])["channel"] == [other]
    assert ana.details("bio", items[1][1])["name"] == "A bio page"


@pytest.mark.parametrize(("kind", "noun"), [("links", "url"), ("bio", "bio")])
def test_deleting_item_removes_it_from_channels(kind: str, noun: str, ana: Person) -> None:
    channel, item, other = _channel(ana), _item(ana, kind), _item(ana, kind)
    for one in (item, other):
        _assign(ana, channel, kind, one)
    ana.remove(noun, item)
    assert _items(ana, channel) == [(kind, other)]
    assert ana.get(f"/channel/{channel}")["data"]["result"] == 1


def test_link_lists_its_channels(ana: Person) -> None:
    link, first, second = _item(ana, "links"), _channel(ana, "One"), _channel(ana, "Two")
    for channel in (second, first):
        _assign(ana, channel, "links", link)
    assert ana.details("url", link)["channel"] == [first, second]
    assert ana.get("/urls")["data"]["urls"][0]["channel"] == [first, second]
    ana.update("url", link, channel=second)
    assert _items(ana, first) == []
    assert _items(ana, second) == [("links", link)]


def test_link_update_keeps_position_on_channel(ana: Person) -> None:
    first, second = _channel(ana, "One"), _channel(ana, "Two")
    link, other = _item(ana, "links"), _item(ana, "links")
    with time_machine.travel(datetime(2031, 2, 3, tzinfo=UTC), tick=False):
        _assign(ana, first, "links", link)
    _assign(ana, first, "links", other)
    ana.update("url", link, channel=[first, second])
    assert _items(ana, first) == [("links", other), ("links", link)]
    assert ana.get(f"/channel/{first}")["data"]["items"][1]["date"] == "2031-02-03"
    assert _items(ana, second) == [("links", link)]
