"""Rotators under concurrent load: order and quotas are exact over threads and processes."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection

from tests.conftest import Person
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.server import Server, serving
from tests.support.visits import new_link
from waypost.auth import api_keys
from waypost.db.database import Database
from waypost.items.accounts import ops as accounts
from waypost.items.campaigns.rotator import RotatorVisit, find_rotator, take

pytestmark = ON_BOTH_DATABASES

_VISITS = 1000
_CLIENTS = 40
_NO_LIMITS = (None, None, None)


def _add_ana(tx: Connection) -> str:
    ana = accounts.add(tx, email="ana@example.com", username="ana", password="*", rate_limit=1_000_000)
    return api_keys.add(tx, ana.id, name="first key")


def _campaign(call: Callable[..., Any], slug: str, quotas: tuple[int | None, ...], **fields: Any) -> int:
    """Create a campaign with links `<slug>-<number>` and these quotas; return its id."""
    campaign = int(call("POST", "/campaign/add", {"slug": slug, **fields})["id"])
    for number, quota in enumerate(quotas):
        url = f"https://example.com/{slug}-{number}"
        link = call("POST", "/url/add", {"url": url, "custom": f"{slug}-{number}"})["id"]
        call("POST", f"/campaign/{campaign}/assign/{link}", {"quota": quota})
    return campaign


def _visits(server: Server, path: str) -> Counter[str]:
    """Send many concurrent visits, each on its own connection; count their destinations and error statuses."""
    port = urlsplit(server.url).port
    assert port is not None
    ready = threading.Barrier(_CLIENTS)

    def run_client(_number: int) -> list[str]:
        aliases = []
        ready.wait(60)
        for _ in range(_VISITS // _CLIENTS):
            client = HTTPConnection("127.0.0.1", port, timeout=60)
            client.request("GET", path, headers={"User-Agent": "curl/8.5.0"})
            response = client.getresponse()
            aliases.append(response.getheader("Location", str(response.status)).rpartition("/")[2])
            client.close()
        return aliases

    with ThreadPoolExecutor(_CLIENTS) as threads:
        return Counter(name for aliases in threads.map(run_client, range(_CLIENTS)) for name in aliases)


@ON_SQLITE
def test_order_and_quotas_are_exact_over_two_processes(database: Database, database_url: str, tmp_path: Path) -> None:
    key = database.write(_add_ana)
    with serving(tmp_path / "node", database_url=database_url, workers=2) as server:

        def call(method: str, path: str, body: Any = None) -> Any:
            return server.call(method, f"/api{path}", key=key, json=body).json()

        turns = _campaign(call, "turns", (None, None, None), rotation="ordered")
        quotas = _campaign(call, "quotas", (300, 150, 50))
        expected = {
            turns: ("turns", {"turns-0": 334, "turns-1": 333, "turns-2": 333}),
            quotas: ("quotas", {"quotas-0": 300, "quotas-1": 150, "quotas-2": 50, "404": 500}),
        }
        for campaign, (slug, counts) in expected.items():
            assert _visits(server, f"/r/{slug}") == counts
            stats = call("GET", f"/campaign/{campaign}/stats")
            assert {link["shorturl"].rpartition("/")[2]: link["clicks"] for link in stats["links"]} == {
                name: n for name, n in counts.items() if name != "404"
            }
            assert stats["data"]["total"]["clicks"] == _VISITS - counts.get("404", 0)
        assert "Traceback" not in server.output()


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"rotation": "ordered"}, [67, 67, 66, 0]),
        ({"rotation": "random", "quotas": (60, 30, 10)}, [60, 30, 10, 100]),
        ({"rotation": "random", "limits": (60, 30, 10)}, [60, 30, 10, 100]),
        ({"rotation": "weighted", "quotas": (60, 30, 10), "limits": (50, 40, 5)}, [50, 30, 5, 115]),
        ({"rotation": "ordered", "quotas": (20, None, None), "limits": (None, 30, None)}, [20, 30, 150, 0]),
    ],
    ids=("order", "quotas", "click limits", "both", "order and both"),
)
def test_order_and_quotas_are_exact_over_many_threads(
    limits: dict[str, Any], expected: list[int], ana: Person, database: Database
) -> None:
    campaign = ana.add("campaign", slug="spring", rotation=limits["rotation"])
    links = [new_link(ana, f"link-{number}", campaign=campaign) for number in range(3)]
    for link, quota, limit in zip(
        links, limits.get("quotas", _NO_LIMITS), limits.get("limits", _NO_LIMITS), strict=True
    ):
        ana.post(f"/campaign/{campaign}/assign/{link}", {"quota": quota})
        ana.update("url", link, clicklimit=limit)
    rotator = database.read(lambda tx: find_rotator(tx, "spring"))
    assert rotator is not None

    def take_link(_number: int) -> int:
        visit = RotatorVisit(is_click=True, sticky_link=None, is_reachable=lambda _link: True, now=1)
        link = database.write(lambda tx: take(tx, rotator, visit), durability="relaxed")
        return link.id if link else 0

    with ThreadPoolExecutor(16) as threads:
        counts = Counter(threads.map(take_link, range(200)))
    assert [counts[link] for link in (*links, 0)] == expected
