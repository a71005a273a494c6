"""What a visit of a rotator costs as its campaign grows: `python -m bench.rotators`. Milliseconds of processor, in
process, of 10 links and of 10,000; at most so much more than a visit of a single link.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
from sqlalchemy import insert

from bench.pages import Walk, in_turns
from waypost.accounts import ops as accounts
from waypost.app import build
from waypost.campaigns import ops as campaigns
from waypost.db.database import Database
from waypost.db.schema import links, rotator_links
from waypost.db.upgrade import upgrade
from waypost.settings import Settings

_SIZES = (10, 10_000)
_BAR_MS = 10.0
_KINDS: dict[str, dict[str, Any]] = {
    "random": {"rotation": "random"},
    "weighted": {"rotation": "weighted"},
    "ordered": {"rotation": "ordered"},
    "sticky": {"sticky": True},
    "quota": {},
    "winner": {"winner": 1_000_000_000},
    "won": {"winner": 1},
}
_QUOTAS = {"weighted": None, "quota": 1_000_000}
"""What links have that are told something, beside a weight of 0 to 9."""


def main() -> None:
    """Print the table; exit with how many visits cost more than the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), base_url="http://go.example")
        database = Database(settings.database)
        upgrade(database)
        database.write(_fill)
        app = build(settings, database)
        walks = {f"{kind:8} {size:6}": Walk(app, f"/r/{kind}-{size}") for kind in _KINDS for size in _SIZES}
        costs = anyio.run(in_turns, walks, given.visits)
    for name, ms in costs.items():
        print(f"{name} links {ms:7.2f} ms")
    sys.exit(sum(ms > _BAR_MS for ms in costs.values()))


def _fill(tx: Any) -> None:
    me = accounts.add(tx, email="a@example.com", username="ana", password="x").id
    empty = ("host", "title", "search", "description", "expiryurl", "metatitle", "metadescription", "metaimage")
    words: dict[str, Any] = dict.fromkeys(empty, "")
    for kind, fields in _KINDS.items():
        for size in _SIZES:
            campaign = campaigns.add(tx, me, **{**fields, "slug": f"{kind}-{size}"}).id
            same: dict[str, Any] = {**words, "account": me, "url": "https://example.com/", "campaign": campaign}
            rows = [{**same, "alias": f"{kind}-{size}-{n}", "created": n} for n in range(size)]
            ids = tx.execute(insert(links).returning(links.c.id), rows).scalars().all()
            if kind in _QUOTAS:
                told = {"account": me, "campaign": campaign, "given": 0, "quota": _QUOTAS[kind]}
                tx.execute(insert(rotator_links), [{**told, "link": link, "weight": link % 10} for link in ids])


if __name__ == "__main__":
    main()
