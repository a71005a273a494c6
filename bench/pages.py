"""What a page on the way to a target costs: `python -m bench.pages`. Processor time of one visit, in process.

The request, the decision, the journal's line and the page are all in it; the network and the fast lane are not.
`bio-N` is a bio page of N blocks; `bio-long`, 200 texts as long as they may be, is a megabyte and held to no bar.
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

from waypost.accounts import ops as accounts
from waypost.app import build
from waypost.bios import ops as bios
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.links import ops as links
from waypost.overlays import ops as overlays
from waypost.pixels import ops as pixels
from waypost.settings import Settings
from waypost.splash import ops as splashes

_BAR_MS = 2.0
_ROUNDS = 10
_BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
_SPIDER = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"
_TYPES = ("tagmanagerpixel", "socialapixel", "shortvideopixel")
_WAYS = ("splash", "pixels", "overlay")
_BLOCKS = (1, 20, 200)
_KINDS = {
    "redirect": _BROWSER,
    **dict.fromkeys(_WAYS, _BROWSER),
    "card": _SPIDER,
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
    """Print the table; exit with how many pages cost more than the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=1000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), base_url="http://go.example")
        database = Database(settings.database)
        upgrade(database)
        database.write(lambda tx: _fill(tx, settings))
        missed = anyio.run(_measure, settings, database, given.visits)
    sys.exit(missed)


def _fill(tx: Any, settings: Settings) -> None:
    me = accounts.add(tx, email="a@example.com", username="ana", password="x").id
    words = "Words to read. " * 20
    splash = splashes.add(tx, me, name="x", title="Wait", message=words, counter=5, banner="https://example.com/b.png")
    overlay = overlays.add(tx, me, name="x", type="contact", message=words)
    tags = [pixels.add(tx, me, type=kind, name="x", tag="TAG-1").id for kind in _TYPES]
    ways: dict[str, dict[str, Any]] = {
        "redirect": {},
        "splash": {"type": str(splash.id)},
        "pixels": {"pixels": tags},
        "overlay": {"type": f"overlay-{overlay.id}"},
        "card": {"metatitle": "A title", "metadescription": words},
    }
    for name, fields in ways.items():
        links.add(tx, me, settings=settings, url="https://nowhere.invalid/page", custom=f"a-{name}", **fields)
    for count in _BLOCKS:
        blocks = [{**_BLOCK_KINDS[place % len(_BLOCK_KINDS)]} for place in range(1, count + 1)]
        bios.add(tx, me, settings=settings, name="x", title="Ana", alias=f"a-bio-{count}", blocks=blocks)
    longest = [{"type": "text", "text": ("Words & words. " * 400)[:5000]}] * 200
    bios.add(tx, me, settings=settings, name="x", title="Ana", alias="a-bio-long", blocks=longest)


async def _measure(settings: Settings, database: Database, visits: int) -> int:
    app = build(settings, database)
    costs = await in_turns({name: Walk(app, f"/a-{name}", agent) for name, agent in _KINDS.items()}, visits)
    for name, ms in costs.items():
        print(f"{name:10} {ms:6.2f} ms of processor a visit")
    return sum(ms > _BAR_MS for name, ms in costs.items() if name != "bio-long")


@dataclass(frozen=True)
class Walk:
    """Visits of one path by one kind of program."""

    app: ASGIApp
    path: str
    agent: str = _BROWSER

    async def once(self) -> int:
        """The status of one visit."""
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


async def in_turns(walks: Mapping[str, Walk], visits: int) -> dict[str, float]:
    """Milliseconds of processor of a visit, the least of some rounds: what else the machine does only adds to it."""
    least = dict.fromkeys(walks, float("inf"))
    for _ in range(_ROUNDS):
        for name, walk in walks.items():
            assert await walk.once() in (200, 302), name
            began = time.process_time()
            for _ in range(max(1, visits // _ROUNDS)):
                await walk.once()
            least[name] = min(least[name], (time.process_time() - began) * 1000 / max(1, visits // _ROUNDS))
    return least


if __name__ == "__main__":
    main()
