"""Hits of the memory for redirects, with visits distributed like Zipf's law: `python -m bench.hot_names`.

Uses the cache of a worker, without a server. Compares its eviction with first-in first-out.
"""

import argparse
import math
import random
import time

from waypost.visits.cache import Cache, HotResponse


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, default=10_000_000)
    parser.add_argument("--visits", type=int, default=12_000_000, help="half of them fill the memory first")
    parser.add_argument("--mb", type=int, nargs="+", default=[16, 64, 256], help="sizes of the memory")
    options = parser.parse_args()
    print(f"{options.names:,} names, Zipf 1.0; share of visits that find their redirect in memory")
    for megabytes in options.mb:
        clock, micros, held = _hit_ratio(options, megabytes, marks_use=True)
        fifo, _, _ = _hit_ratio(options, megabytes, marks_use=False)
        comparison = f"first-in first-out {fifo:6.1%}"
        print(f"{megabytes:5} MB  {held:9,} redirects  {clock:6.1%}  {comparison}  {micros:.1f} µs a visit")


def _hit_ratio(options: argparse.Namespace, megabytes: int, *, marks_use: bool) -> tuple[float, float, int]:
    """Return (share of hits, microseconds of a visit, number of redirects in memory)."""
    cache = Cache(megabytes * 1_000_000)
    draw = random.Random(1).random
    scale = math.log(options.names)
    hits, started = 0, 0.0
    for visit in range(options.visits):
        if visit == options.visits // 2:
            hits, started = 0, time.process_time()
        alias = f"n{int(math.exp(draw() * scale)):08}"
        response = cache.hot.get(b"/" + alias.encode())
        if response is None:
            destination = b"location: https://example.com/some/path/to/a/page?campaign=spring\r\n"
            cache.put_hot(("", alias), HotResponse(destination[:-2] + b"\r\n", b"1\tlink\t1", 1 << 62), version=0)
        else:
            hits += 1
            response.is_used = marks_use
    measured = options.visits - options.visits // 2
    return hits / measured, (time.process_time() - started) / measured * 1e6, len(cache.hot)


if __name__ == "__main__":
    main()
