"""Measure bulk requests that create and update 1,000 links on SQLite: `python -m bench.bulk`. The limit is 1 s."""

import http.client
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.api import _served
from bench.seed import fill

LINKS, ROUNDS, LIMIT_SECONDS = 1000, 7, 1.0
_FIELDS = {"url": "https://www.winter-market.example/tickets"}


def main() -> None:
    """Seed, serve, measure, print. The exit status is the number of broken limits."""
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        filled = fill(Path(name, "site"), 1000)
        created: list[float] = []
        updated: list[float] = []
        with _served(filled.folder) as connection:
            for number in range(ROUNDS):
                items: list[Any] = [{"action": "create", "noun": "url", "fields": _FIELDS}] * LINKS
                results = _run(connection, filled.key, items, created)
                fields = {"title": f"Round {number}", "status": "private"}
                items = [{"action": "update", "noun": "url", "id": link["id"], "fields": fields} for link in results]
                _run(connection, filled.key, items, updated)
    sys.exit(_print("created", created) + _print("updated", updated))


def _run(connection: http.client.HTTPConnection, key: str, items: Sequence[Any], seconds: list[float]) -> Any:
    """Send one request, note its time, and return its results."""
    body = json.dumps({"items": items}).encode()
    start = time.perf_counter()
    connection.request("POST", "/api/bulk", body, {"Authorization": f"Bearer {key}"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    seconds.append(time.perf_counter() - start)
    assert response.status == 200, answer
    assert not any(result["error"] for result in answer["results"]), answer
    return answer["results"]


def _print(done: str, seconds: Sequence[float]) -> bool:
    """Print the times. Return whether the limit is broken."""
    result = median(seconds)
    is_broken = result >= LIMIT_SECONDS
    print(f"{LINKS:,} links {done} in one request: median {result:.2f} s, slowest {max(seconds):.2f} s of {ROUNDS}")
    print(f"{LIMIT_SECONDS:g} s {'BROKEN' if is_broken else 'kept'}")
    return is_broken


if __name__ == "__main__":
    main()
