"""Response times of visitors while one network attacks: `python -m bench.hostile_clients`. Loopback only, 100 s."""

import tempfile
from pathlib import Path

from tests.support.hostile_clients import ATTACKS, CONNECTIONS, measure
from tests.support.server import serving

_PATHS = ["/hot", "/cold", "/dashboard/signin"]


def main() -> None:
    """Print a line per kind of attack."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), workers=2) as server:
        owner = server.owner_key
        for alias, fields in {"hot": {}, "cold": {"clicklimit": 1_000_000}, "poster": {}}.items():
            body = {"url": "https://example.com/", "custom": alias, **fields}
            server.call("POST", "/api/url/add", key=owner, json=body).raise_for_status()
        print(f"{CONNECTIONS} connections of one network; visitors of another one:")
        for name, attack in ATTACKS.items():
            impact = measure(server, attack, _PATHS, seconds=20)
            statuses = sorted(set().union(*impact.statuses.values()))
            median = sorted(impact.seconds)[len(impact.seconds) // 2]
            print(
                f"{name:13} statuses {statuses}, median {median * 1000:.0f} ms, p99 {impact.p99 * 1000:.0f} ms, "
                f"{len(impact.seconds)} requests, memory {impact.growth_mb:+.0f} MB"
            )


if __name__ == "__main__":
    main()
