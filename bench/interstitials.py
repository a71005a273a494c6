"""Cost of interstitials and bio pages: `python -m bench.interstitials`. CPU time of one visit, in process.

Includes the request, the decision, the journal and the page, but neither the network nor the fast path. `bio-N` is a
bio page with N blocks; `bio-long` has 200 texts of maximal length, about one megabyte, and no limit.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from starlette.types import ASGIApp, Message, Scope

from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.items.accounts import ops as accounts
from waypost.items.bios import ops as bios
from waypost.items.links import ops as links
from waypost.items.overlays import ops as overlays
from waypost.items.pixels import ops as pixels
from waypost.items.splash import ops as splashes
from waypost.server.app import build

_BAR_MS = 2.0
_ROUNDS = 10
_BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
_PREVIEW_BOT = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"
_TYPES = ("tagmanagerpixel", "socialapixel", "shortvideopixel")
_INTERSTITIALS = ("splash", "pixels", "overlay")
_BLOCKS = (1, 20, 200)
_KINDS = {
    "redirect": _BROWSER,
    **dict.fromkeys(_INTERSTITIALS, _BROWSER),
    "card": _PREVIEW_BOT,
    **{f"bio-{count}": _BROWSER for count in (*_BLOCKS, "long")},
}
_BLOCK_KINDS = (
    {"type": "heading", "text": "Things that I like"},
    {"type": "link", "title": "A page to read", "url": "https://nowhere.invalid/page"},
    {"type": "text", "text": "Words to read. " * 3},
    {"type": "social", "network": "mastodon", "url": "https://nowhere.invalid/@ana"},
    {"type": "image", "image": "https://nowhere.invalid/a.png", "link": "https://nowhere.invalid/", "alt": "A hill"},
    {"type": "vcard", "fname": "Ana", "lname": "Lee", "org": "Acme", "title": "Baker", "email": "ana@example.com"},
)


def main() -> None:
    """Print the table; exit with the number of pages over the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), base_url="http://go.example")
        database = Database(settings.database)
        upgrade(database)
        database.write(lambda tx: _fill(tx, settings))
        failures = anyio.run(_measure, settings, database, options.visits)
    sys.exit(failures)


def _fill(tx: Any, settings: Settings) -> None:
    account = accounts.add(tx, email="a@example.com", username="ana", password="x").id
    words = "Words to read. " * 20
    splash = splashes.add(
        tx, account, name="x", title="Wait", message=words, counter=5, banner="https://example.com/b.png"
    )
    overlay = overlays.add(tx, account, name="x", type="contact", message=words)
    tags = [pixels.add(tx, account, type=kind, name="x", tag="TAG-1").id for kind in _TYPES]
    kinds: dict[str, dict[str, Any]] = {
        "redirect": {},
        "splash": {"type": str(splash.id)},
        "pixels": {"pixels": tags},
        "overlay": {"type": f"overlay-{overlay.id}"},
        "card": {"metatitle": "A title", "metadescription": words},
    }
    for name, fields in kinds.items():
        links.add(tx, account, settings=settings, url="https://nowhere.invalid/page", custom=f"a-{name}", **fields)
    for count in _BLOCKS:
        blocks = [{**_BLOCK_KINDS[number % len(_BLOCK_KINDS)]} for number in range(1, count + 1)]
        bios.add(tx, account, settings=settings, name="x", title="Ana", alias=f"a-bio-{count}", blocks=blocks)
    longest = [{"type": "text", "text": ("Words & words. " * 400)[:5000]}] * 200
    bios.add(tx, account, settings=settings, name="x", title="Ana", alias="a-bio-long", blocks=longest)


async def _measure(settings: Settings, database: Database, visits: int) -> int:
    app = build(settings, database)
    costs = await measure_interleaved({name: Visit(app, f"/a-{name}", agent) for name, agent in _KINDS.items()}, visits)
    for name, ms in costs.items():
        print(f"{name:10} {ms:6.2f} ms of CPU time per visit")
    return sum(ms > _BAR_MS for name, ms in costs.items() if name != "bio-long")


@dataclass(frozen=True)
class Visit:
    """A visit to one path by one user agent."""

    app: ASGIApp
    path: str
    agent: str = _BROWSER

    async def send(self) -> int:
        """Send the request; return the status."""
        status = 0

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)

        headers = {b"host": b"go.example", b"user-agent": self.agent.encode(), b"accept": b"text/html"}
        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": self.path,
            "query_string": b"",
            "root_path": "",
            "client": ("127.0.0.1", 1),
            "headers": list(headers.items()),
        }
        await self.app(scope, receive, send)
        return status


async def measure_interleaved(visits: Mapping[str, Visit], count: int) -> dict[str, float]:
    """Return milliseconds of CPU time per visit: the minimum of several rounds, since other load only adds to it."""
    minimum = dict.fromkeys(visits, float("inf"))
    for _ in range(_ROUNDS):
        for name, visit in visits.items():
            assert await visit.send() in (200, 302), name
            started = time.process_time()
            for _ in range(max(1, count // _ROUNDS)):
                await visit.send()
            spent_ms = (time.process_time() - started) * 1000
            minimum[name] = min(minimum[name], spent_ms / max(1, count // _ROUNDS))
    return minimum


if __name__ == "__main__":
    main()
