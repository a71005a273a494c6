"""Cost of a rotator visit with 10 and 10,000 links: `python -m bench.rotators`. Milliseconds of CPU, in process."""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
from sqlalchemy import insert

from bench.interstitials import Visit, measure_interleaved
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import links, rotator_links
from waypost.db.upgrade import upgrade
from waypost.items.accounts import ops as accounts
from waypost.items.campaigns import ops as campaigns
from waypost.server.app import build

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
"""Quotas by kind of rotator whose links have settings: a quota, and a weight of 0 to 9."""


def main() -> None:
    """Print the table; exit with the number of visits over the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), base_url="http://go.example")
        database = Database(settings.database)
        upgrade(database)
        database.write(_fill)
        app = build(settings, database)
        visits = {f"{kind:8} {size:6}": Visit(app, f"/r/{kind}-{size}") for kind in _KINDS for size in _SIZES}
        costs = anyio.run(measure_interleaved, visits, options.visits)
    for name, ms in costs.items():
        print(f"{name} links {ms:7.2f} ms")
    sys.exit(sum(ms > _BAR_MS for ms in costs.values()))


def _fill(tx: Any) -> None:
    account = accounts.add(tx, email="a@example.com", username="ana", password="x").id
    text_columns = ("host", "title", "search", "description", "expiryurl", "metatitle", "metadescription", "metaimage")
    texts: dict[str, Any] = dict.fromkeys(text_columns, "")
    for kind, fields in _KINDS.items():
        for size in _SIZES:
            campaign = campaigns.add(tx, account, **{**fields, "slug": f"{kind}-{size}"}).id
            shared: dict[str, Any] = {**texts, "account": account, "url": "https://example.com/", "campaign": campaign}
            rows = [{**shared, "alias": f"{kind}-{size}-{n}", "created": n} for n in range(size)]
            ids = tx.execute(insert(links).returning(links.c.id), rows).scalars().all()
            if kind in _QUOTAS:
                setting = {"account": account, "campaign": campaign, "given": 0, "quota": _QUOTAS[kind]}
                tx.execute(insert(rotator_links), [{**setting, "link": link, "weight": link % 10} for link in ids])


if __name__ == "__main__":
    main()
