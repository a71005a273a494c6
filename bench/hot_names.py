"""Hits of the memory for redirects, with visits distributed like Zipf's law: `python -m bench.hot_names`.

Uses the caches of workers, without a server. For several nodes, compares a balancer that selects a node by the path
(as in `deploy/`) with one that selects any. For one node, compares the cache's eviction with first-in first-out.
"""

import argparse
import math
import random
import time
import zlib

from waypost.visits.cache import Cache, HotResponse


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, default=10_000_000)
    parser.add_argument("--visits", type=int, default=10_000_000, help="half of them fill the memory first")
    parser.add_argument("--mb", type=int, nargs="+", default=[16, 64, 256], help="sizes of the memory of a node")
    parser.add_argument("--nodes", type=int, default=2, help="nodes with one worker behind the load balancer")
    options = parser.parse_args()
    nodes = options.nodes
    print(f"{options.names:,} names, Zipf 1.0; share of visits that find their redirect in memory")
    for megabytes in options.mb:
        clock, micros, held = _hit_ratio(options, megabytes)
        fifo, _, _ = _hit_ratio(options, megabytes, marks_use=False)
        any_node, _, _ = _hit_ratio(options, megabytes, nodes=nodes)
        by_path, _, _ = _hit_ratio(options, megabytes, nodes=nodes, is_by_path=True)
        print(
            f"{megabytes:5} MB  {held:9,} redirects  1 node {clock:6.1%}, first-in first-out {fifo:6.1%}"
            f"  {nodes} nodes: any {any_node:6.1%}, by path {by_path:6.1%}  {micros:.1f} µs a visit",
            flush=True,
        )


def _hit_ratio(
    options: argparse.Namespace, megabytes: int, *, nodes: int = 1, is_by_path: bool = False, marks_use: bool = True
) -> tuple[float, float, int]:
    """Return (share of hits, microseconds of a visit, number of redirects in the memory of a node)."""
    caches = [Cache(megabytes * 1_000_000) for _ in range(nodes)]
    draw, draw_node = random.Random(1).random, random.Random(2).random
    scale = math.log(options.names)
    hits, started = 0, 0.0
    for visit in range(options.visits):
        if visit == options.visits // 2:
            hits, started = 0, time.process_time()
        alias = f"n{int(math.exp(draw() * scale)):08}"
        path = b"/" + alias.encode()
        cache = caches[zlib.crc32(path) % nodes if is_by_path else int(draw_node() * nodes)]
        response = cache.hot.get(path)
        if response is None:
            destination = b"location: https://example.com/some/path/to/a/page?campaign=spring\r\n"
            cache.put_hot(("", alias), HotResponse(destination[:-2] + b"\r\n", b"1\tlink\t1", 1 << 62), version=0)
        else:
            hits += 1
            response.is_used = marks_use
    measured = options.visits - options.visits // 2
    return hits / measured, (time.process_time() - started) / measured * 1e6, len(caches[0].hot)


if __name__ == "__main__":
    main()
