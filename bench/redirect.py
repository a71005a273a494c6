"""Redirects compared to nginx: `python -m bench.redirect`. waypost counts each click; nginx logs each access.

Both are pinned to one core in turn; the load (wrk, with a browser's headers, over 20,000 aliases) runs on the other.
Rounds are interleaved, because the speed of a machine varies. At the end, clicks and responses are compared.
"""

import argparse
import contextlib
import http.client
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench import servers
from bench.seed import alias, fill
from bench.servers import CONNECTIONS, Load, Server
from tests.support.system_packages import require_programs

NAMES = 20_000
_MAX_DELAYS_MS = (15, 3)  # between two requests of a connection
_MAX_WARM_ROUNDS = 30  # until every worker has cached every alias
_WARM_SHARE = 0.999  # of a round's redirects are complete in memory
_TWO_WORKERS = {"workers": "2", "metrics_networks": "127.0.0.0/8,::1"}
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 "
    "Safari/537.36",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Accept-Language": "en-US,en;q=0.9,de;q=0.8",
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "Referer": "https://news.example.org/2026/11/a-story",
    "Cache-Control": "max-age=0",
    "Upgrade-Insecure-Requests": "1",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-User": "?1",
    "Sec-CH-UA": "Chromium;v=142, Google Chrome;v=142",
    "Sec-CH-UA-Mobile": "?0",
    "Sec-CH-UA-Platform": "Windows",
}
_NGINX = """location / { add_header Cache-Control "private, no-store"; return 302 https://example.com/landing/page; }"""
SCRIPT = """names = {{}}
for line in io.lines("{folder}/names") do names[#names + 1] = line end
requests = {{}}
function init()
  math.randomseed(os.time())
  for i, name in ipairs(names) do requests[i] = wrk.format("GET", "/" .. name) end
end
function request() return requests[math.random(#requests)] end
{delay}
"""
"""wrk script: random requests for the aliases in `{folder}/names`."""


def main() -> None:
    """Measure and print; report missing programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="of each round")
    parser.add_argument("--sustained", type=int, default=60, help="seconds with the ingester on the same core")
    parser.add_argument(
        "--links", type=int, default=NAMES, help="links in the database; the first 20,000 are requested"
    )
    options = parser.parse_args()
    require_programs("nginx", "wrk", "taskset", "pgrep")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        filled = fill(folder / "data", max(options.links, NAMES))
        shutil.copytree(folder / "data", folder / "data of two")
        (folder / "names").write_text("\n".join(alias(n) for n in range(1, NAMES + 1)))
        nginx = stack.enter_context(servers.nginx(folder, _NGINX))
        with servers.waypost(folder / "data") as ours:
            warm(ours, NAMES)
            before = _clicks(ours, filled.key)
            responses = _burst(folder, ours, nginx, options.rounds, options.seconds)
            _clicks(ours, filled.key)  # waits until all are counted, so that the ingester is idle
            responses += _latency(folder, ours, nginx, options.seconds)
            responses += _sustained(folder, ours, nginx, options.sustained)
            _count(ours, filled.key, before, responses)
            two = stack.enter_context(servers.waypost(folder / "data of two", _TWO_WORKERS))
            _scaling(folder, (ours, two), filled.key, options.rounds, options.seconds)


def _burst(folder: Path, ours: Server, nginx: Server, rounds: int, seconds: int) -> int:
    """Interleaved rounds on one core; the ingester uses the other core."""
    rates: dict[str, list[float]] = {"ours": [], "nginx": []}
    costs: dict[str, list[float]] = {"ours": [], "nginx": []}
    responses = 0
    for number in range(rounds):
        servers_of_round = (("ours", ours), ("nginx", nginx))
        for name, server in servers_of_round if number % 2 else reversed(servers_of_round):
            spent = server.processor_seconds()
            load = send_load(folder, server, seconds)
            costs[name].append((server.processor_seconds() - spent) / load.answers * 1e6)
            rates[name].append(load.a_second)
            responses += load.answers if name == "ours" else 0
    _print_ratio("burst, requests a second on one core", median(rates["ours"]), median(rates["nginx"]), "at least 0.60")
    ratio = median(costs["nginx"]) / median(costs["ours"])
    print(
        f"  processor time a request: ours {median(costs['ours']):.2f} us, nginx {median(costs['nginx']):.2f} us,"
        f" {ratio:.2f} x; this measure does not depend on other load on the machine"
    )
    return responses


def _latency(folder: Path, ours: Server, nginx: Server, seconds: int) -> int:
    """The 99th percentile at equal offered loads: each connection waits a random time between requests."""
    responses = 0
    for max_delay_ms in _MAX_DELAYS_MS:
        times: dict[str, list[float]] = {"ours": [], "nginx": []}
        rates: list[float] = []
        for _ in range(3):
            for name, server in (("ours", ours), ("nginx", nginx)):
                load = send_load(folder, server, seconds, delay_ms=f"math.random({max_delay_ms})")
                times[name].append(load.p99_ms)
                if name == "ours":
                    responses += load.answers
                    rates.append(load.a_second)
        ours_ms, nginx_ms = median(times["ours"]), median(times["nginx"])
        print(
            f"p99 at {median(rates):,.0f} requests a second: ours {ours_ms:.2f} ms, nginx {nginx_ms:.2f} ms,"
            f" {ours_ms / nginx_ms:.2f} x (bar: at most 2)"
        )
    return responses


def _sustained(folder: Path, ours: Server, nginx: Server, seconds: int) -> int:
    """A long run with the ingester on the same core as the worker."""
    for pid in ours.processes():
        servers.pin(pid, "0")
    load = send_load(folder, ours, seconds)
    nginx_load = send_load(folder, nginx, max(5, seconds // 6))
    _print_ratio(f"{seconds} s with the ingester on the same core", load.a_second, nginx_load.a_second, "at least 0.35")
    return load.answers


def _scaling(folder: Path, sites: tuple[Server, Server], key: str, rounds: int, seconds: int) -> None:
    """Compare one worker with its ingester and load on one core with two workers on two cores.

    A round starts when both have counted all clicks, so that neither slows down the other.
    """
    for pid in sites[1].processes():
        servers.pin(pid, "0,1")
    rates: tuple[list[float], list[float]] = ([], [])
    _warm_all(folder, sites[1], seconds)
    for _ in range(rounds):
        for site, cores, site_rates in zip(sites, ("0", "0,1"), rates, strict=True):
            for other in sites:
                _clicks(other, key)
            site_rates.append(send_load(folder, site, seconds, cores=cores).a_second)
    one_site, two_sites = (median(site_rates) for site_rates in rates)
    print(
        f"one worker with its load on one core {one_site:,.0f}, two on two cores {two_sites:,.0f}, "
        f"{two_sites / one_site:.2f} x (bar: 1.7)"
    )


def _warm_all(folder: Path, server: Server, seconds: int) -> None:
    """Send load until each worker has the complete redirect of every alias in memory."""
    before = servers.redirects(server)
    for _ in range(_MAX_WARM_ROUNDS):
        send_load(folder, server, seconds, cores="0,1")
        time.sleep(1.5)  # workers save their metrics once a second
        now = servers.redirects(server)
        new = now - before
        if new["hot"] >= _WARM_SHARE * new.total():
            return
        before = now
    sys.exit(f"only {new['hot']:,} of {new.total():,} redirects were complete in memory")


def _count(ours: Server, key: str, before: int, responses: int) -> None:
    started = time.monotonic()
    counted = _clicks(ours, key) - before
    print(
        f"answered {responses:,}, counted {counted:,} ({time.monotonic() - started:.1f} s after the last answer);"
        f" wrk leaves up to {CONNECTIONS} responses unread at the end of a run"
    )
    runs = 64
    if not responses <= counted <= responses + runs * CONNECTIONS:
        sys.exit("clicks and responses differ")


def _print_ratio(title: str, ours: float, nginx: float, bar: str) -> None:
    print(f"{title}: ours {ours:,.0f}, nginx {nginx:,.0f}, {ours / nginx:.2f} x (bar: {bar})")


def send_load(folder: Path, server: Server, seconds: int, *, delay_ms: str = "", cores: str = "1") -> Load:
    """Send redirect requests of browsers, each connection waiting `delay_ms` in between. Exit on other responses."""
    script = folder / "wrk.lua"
    delay = f"function delay() return {delay_ms} end" if delay_ms else ""
    script.write_text(SCRIPT.format(folder=folder, delay=delay))
    load = servers.wrk(server.url, seconds, script=script, headers=_HEADERS, cores=cores)
    if load.other:
        sys.exit(f"{load.other} responses were not redirects")
    return load


def warm(server: Server, names: int) -> None:
    """Request every alias once, so that all are cached."""
    connection = http.client.HTTPConnection("localhost", server.port)
    for n in range(1, names + 1):
        connection.request("GET", f"/{alias(n)}")
        connection.getresponse().read()
    connection.close()


def _clicks(server: Server, key: str) -> int:
    return int(servers.call_counted(server, key, "/stats")["data"]["total"]["clicks"])


if __name__ == "__main__":
    main()
