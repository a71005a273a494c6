"""Bulk requests that change several links together, with few statements (decision 79)."""

from typing import Any

from tests.conftest import Person
from tests.contract.bulk_requests import bulk, update_links
from tests.contract.endpoints import ItemIds
from tests.support.statements import recorded_statements
from waypost.items.moderation import blocklist

URL = "https://example.com/"


def test_links_are_created_changed_and_deleted_with_few_statements(ana: Person, item_ids: ItemIds) -> None:
    ana.add("domain", domain="https://go.ana.example")
    fields = {"pixels": [item_ids["pixel"]], "channel": [item_ids["channel"]], "campaign": item_ids["campaign"]}
    links = [
        {"url": f"https://n{n}.example/", "custom": f"Bulk-{n}", "domain": domain, **fields}
        for n in range(200)
        for domain in (None, "go.ana.example")
    ]
    items: list[dict[str, Any]] = [{"action": "create", "noun": "url", "fields": link} for link in links]
    with recorded_statements() as statements:
        results = bulk(ana, *items)
    assert {result["status"] for result in results} == {200}
    assert len(statements) < 40, "\n".join(statements)
    assert [result["short"].rpartition("/")[2] for result in results] == [link["custom"] for link in links]
    link = ana.details("url", results[7]["id"])
    assert (link["longurl"], link["channel"], link["pixels"], link["campaign"]) == (
        "https://n3.example/",
        fields["channel"],
        fields["pixels"],
        fields["campaign"],
    )
    channel = ana.add("channel", name="Others")
    splash = item_ids["splash"]
    changed = [
        {"url": f"https://new.example/{n}", "channel": [channel], "pixels": [], "type": splash, "title": None}
        for n in range(len(results))
    ]
    with recorded_statements() as statements:
        update_links(ana, [result["id"] for result in results], changed)
    assert len(statements) < 30, "\n".join(statements)
    link = ana.details("url", results[7]["id"])
    assert [link[name] for name in ("longurl", "channel", "pixels", "type", "campaign")] == [
        *("https://new.example/7", [channel], [], str(splash), fields["campaign"]),
    ]
    with recorded_statements() as statements:
        deleted = bulk(ana, *({"action": "delete", "noun": "url", "id": result["id"]} for result in results))
    assert {result["status"] for result in deleted} == {200}
    assert len(statements) < 25, "\n".join(statements)
    assert ana.get("/urls")["data"]["result"] == 1


def test_joined_items_fail_as_they_would_alone(ana: Person, ben: Person) -> None:
    ana.write(lambda tx: blocklist.block(tx, "blocked.example", kind="host"))
    ben.add("domain", domain="https://go.ben.example")
    ben.add("url", url=URL, custom="theirs")
    fields: list[dict[str, Any]] = [
        {"url": URL, "custom": "one"},
        {"url": "https://blocked.example/"},
        {"url": "https://go.ben.example/loop"},
        {"url": URL, "custom": "theirs"},
        {"url": URL, "domain": "go.ben.example"},
        {"url": URL, "campaign": 999},
        {"url": URL, "channel": [999]},
        {"url": URL, "pixels": [999]},
        {"url": URL, "custom": "one"},
        {"url": URL},
    ]
    results = bulk(ana, *({"action": "create", "noun": "url", "fields": each} for each in fields))
    assert [result.get("field") for result in results] == [
        *(None, "url", "url", "custom", "domain", "campaign", "channel", "pixels", "custom", None)
    ]
    twice = {"action": "delete", "noun": "url", "id": results[0]["id"]}
    assert [result["status"] for result in bulk(ana, twice, twice)] == [200, 404]
    assert ana.get("/urls")["data"]["result"] == 1


def test_joined_updates_equal_single_ones(ana: Person, ben: Person, item_ids: ItemIds) -> None:
    ana.write(lambda tx: blocklist.block(tx, "blocked.example", kind="host"))
    first, second = ana.add("channel", name="First"), ana.add("channel", name="Second")
    foreign = ben.add("url", url=URL)
    every: list[dict[str, Any]] = [
        {"title": "Spring sale", "description": "Everything must go"},
        {"title": None, "url": "https://other.example/"},
        {"channel": [second, first], "pixels": [item_ids["pixel"]]},
        {"channel": second},
        {"channel": None, "pixels": []},
        {"campaign": item_ids["campaign"], "type": f"overlay-{item_ids['overlay']}"},
        {"campaign": None, "type": "frame", "status": "private", "expiry": "2040-01-31"},
        {"geotarget": [{"location": "DE", "link": "https://de.example/"}], "password": "secret", "clicklimit": 5},
        {},
    ]
    start = {"url": URL, "title": "Old", "channel": [first], "pixels": [item_ids["pixel"]], "clicklimit": 9}
    together = [ana.add("url", custom=f"both-{n}", **start) for n, _ in enumerate(every)]
    results = update_links(ana, together, every)
    for link, result, fields in zip(together, results, every, strict=True):
        alone = ana.add("url", **start)
        assert ana.update("url", alone, **fields).keys() == result.keys() - {"status"}
        assert _comparable(ana, link) == _comparable(ana, alone), fields
    assert ana.get("/urls", q="everything must")["data"]["result"] == 2
    assert [result["status"] for result in update_links(ana, [together[0], foreign], [{}, {"title": "x"}])] == [
        200,
        404,
    ]
    fails = [
        {"url": "https://blocked.example/"},
        {"channel": [999]},
        {"campaign": 999},
        {"type": "999"},
        {"title": "ok"},
    ]
    failed = update_links(ana, together[:5], fails)
    assert [result.get("field") for result in failed] == ["url", "channel", "campaign", "type", None]
    assert ana.details("url", together[4])["title"] == "ok"


def _comparable(person: Person, link: int) -> dict[str, Any]:
    """Return the fields of a link without those of its identity."""
    details = person.details("url", link)
    return {name: value for name, value in details.items() if name not in ("id", "alias", "shorturl", "date")}
