"""Measure a bulk request that creates 1,000 links on SQLite: `python -m bench.bulk`. The limit is one second."""

import json
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.api import _served
from bench.seed import fill

LINKS, ROUNDS, LIMIT_SECONDS = 1000, 7, 1.0


def main() -> None:
    """Seed, serve, measure, print."""
    item = {"action": "create", "noun": "url", "fields": {"url": "https://www.winter-market.example/tickets"}}
    body = json.dumps({"items": [item] * LINKS}).encode()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        filled = fill(Path(name, "site"), 1000)
        with _served(filled.folder) as connection:
            seconds = []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                connection.request("POST", "/api/bulk", body, {"Authorization": f"Bearer {filled.key}"})
                response = connection.getresponse()
                answer = json.loads(response.read())
                seconds.append(time.perf_counter() - start)
                assert response.status == 200, answer
                assert not any(result["error"] for result in answer["results"]), answer
    result = median(seconds)
    print(f"{LINKS:,} links in one request: median {result:.2f} s, slowest {max(seconds):.2f} s of {ROUNDS}")
    print(f"{LIMIT_SECONDS:g} s {'kept' if result < LIMIT_SECONDS else 'BROKEN'}")


if __name__ == "__main__":
    main()
