"""Two nodes behind a proxy, with the accounts and links of an attacker and of victims."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from tests.support.load_balancers import HOST
from tests.support.server import Server, serving
from tests.support.smuggling import ATTACKER, ELSEWHERE, FORGED_ADDRESS, SMUGGLED
from waypost.auth import api_keys
from waypost.db.database import Database
from waypost.items.accounts import ops as accounts

_VICTIMS = 8
_UNLIMITED = 100_000_000
_NODE: dict[str, Any] = {
    "base_url": f"http://{HOST}",
    "trusted_proxies": "127.0.0.1",
    "metrics_networks": FORGED_ADDRESS,  # readable for attackers if a node believes them
}


@dataclass(frozen=True)
class Link:
    """A link, and the API key of its account."""

    id: int
    key: str


@dataclass(frozen=True)
class Victim:
    """An account with links of its own, by alias."""

    name: str
    key: str
    links: dict[str, Link]


@dataclass(frozen=True)
class SharedNodes:
    """Two nodes, the second with API workers, and the accounts on them."""

    nodes: tuple[Server, Server]
    victims: list[Victim]
    forbidden: dict[str, Link]
    """Links that are never requested."""

    def ports(self) -> tuple[int, int]:
        """Return the ports of the nodes."""
        first, second = (int(node.url.rpartition(":")[2]) for node in self.nodes)
        return first, second

    def clicks(self) -> Counter[str]:
        """Return the clicks of all links, by alias."""
        links = [item for victim in self.victims for item in victim.links.items()] + list(self.forbidden.items())
        clicks: Counter[str] = Counter()
        for alias, link in links:
            response = self.nodes[0].call("GET", f"/api/url/{link.id}", key=link.key)
            assert response.status_code == 200, response.text
            clicks[alias] = int(response.json()["data"]["clicks"])
        return clicks


@contextmanager
def shared_nodes(folder: Path, database_url: str) -> Iterator[SharedNodes]:
    """Run two nodes on an empty database, with the accounts of an attacker and of victims."""
    database = Database(database_url)
    keys = database.write(_add_accounts)
    database.close()
    with (
        serving(folder / "first", database_url=database_url, **_NODE) as first,
        serving(folder / "second", database_url=database_url, api_workers=1, **_NODE) as second,
    ):
        attacker = keys.pop(ATTACKER)
        _add_link(first, attacker, ATTACKER)
        _add_link(first, attacker, "attacker-cold", clicklimit=_UNLIMITED)
        forbidden = {alias: _add_link(first, attacker, alias) for alias in (*SMUGGLED, ELSEWHERE)}
        victims = [Victim(name, key, _add_links(first, name, key)) for name, key in keys.items()]
        yield SharedNodes((first, second), victims, forbidden)


def _add_accounts(tx: Connection) -> dict[str, str]:
    keys = {}
    for name in (ATTACKER, *(f"victim-{number}" for number in range(_VICTIMS))):
        account = accounts.add(tx, email=f"{name}@example.com", username=name, password="*", rate_limit=_UNLIMITED)
        keys[name] = api_keys.add(tx, account.id, name="key")
    return keys


def _add_links(node: Server, name: str, key: str) -> dict[str, Link]:
    limits: list[dict[str, int]] = [{}, {}, {"clicklimit": _UNLIMITED}]  # links with a limit are not cached
    return {f"{name}-{n}": _add_link(node, key, f"{name}-{n}", **fields) for n, fields in enumerate(limits)}


def _add_link(node: Server, key: str, alias: str, **fields: int) -> Link:
    body = {"url": f"https://example.com/{alias}/end", "custom": alias, **fields}
    response = node.call("POST", "/api/url/add", key=key, json=body)
    assert response.status_code == 200, response.text
    return Link(int(response.json()["id"]), key)
