"""Redirects beside nginx: `python -m bench.redirect`. Ours journals and counts each click; nginx logs each access.

Both are pinned to one core in turn, the load (wrk, with a browser's headers, over 20,000 names) runs on the other.
Rounds are interleaved because machines have moods. Afterwards the clicks are counted and held against the answers.
"""

import argparse
import contextlib
import http.client
import shutil
import signal
import sys
import tempfile
import time
import urllib.error
from pathlib import Path
from statistics import median

from bench import servers, tools
from bench.filling import alias, fill
from bench.servers import CONNECTIONS, Load, Server

NAMES = 20_000
_PAUSES_MS = (15, 3)  # at most, before the same visitor comes again
_WARM_ROUNDS = 30  # at most, until every worker has met every name
_WARM = 0.999  # of a round's redirects come from the lane
_TWO = {"workers": "2", "metrics_networks": "127.0.0.0/8,::1"}
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
"""What wrk does: it asks at random for the names in `{folder}/names`."""


def main() -> None:
    """Measure and print; say what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="of each round")
    parser.add_argument("--sustained", type=int, default=60, help="seconds with the ingester on the same core")
    parser.add_argument(
        "--links", type=int, default=NAMES, help="links in the database; the first 20,000 are asked for"
    )
    given = parser.parse_args()
    tools.need("nginx", "wrk", "taskset", "pgrep")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        filled = fill(folder / "data", max(given.links, NAMES))
        shutil.copytree(folder / "data", folder / "data of two")
        (folder / "names").write_text("\n".join(alias(n) for n in range(1, NAMES + 1)))
        nginx = stack.enter_context(servers.nginx(folder, _NGINX))
        with servers.waypost(folder / "data") as ours:
            warm(ours, NAMES)
            before = _clicks(ours, filled.key)
            answered = _burst(folder, ours, nginx, given.rounds, given.seconds)
            _clicks(ours, filled.key)  # all counted: what is compared is the load that is offered, not what is left
            answered += _latency(folder, ours, nginx, given.seconds)
            answered += _sustained(folder, ours, nginx, given.sustained)
            _count(ours, filled.key, before, answered)
            two = stack.enter_context(servers.waypost(folder / "data of two", _TWO))
            _scaling(folder, (ours, two), filled.key, given.rounds, given.seconds)


def _burst(folder: Path, ours: Server, nginx: Server, rounds: int, seconds: int) -> int:
    """Interleaved rounds on one core, with our ingester on the other core's time."""
    rates: dict[str, list[float]] = {"ours": [], "nginx": []}
    costs: dict[str, list[float]] = {"ours": [], "nginx": []}
    answers = 0
    for turn in range(rounds):
        for who, server in (("ours", ours), ("nginx", nginx)) if turn % 2 else (("nginx", nginx), ("ours", ours)):
            spent = server.processor_seconds()
            load = _load(folder, server, seconds)
            costs[who].append((server.processor_seconds() - spent) / load.answers * 1e6)
            rates[who].append(load.a_second)
            answers += load.answers if who == "ours" else 0
    _told("burst, requests a second on one core", median(rates["ours"]), median(rates["nginx"]), "at least 0.60")
    ratio = median(costs["nginx"]) / median(costs["ours"])
    print(
        f"  processor time a request: ours {median(costs['ours']):.2f} us, nginx {median(costs['nginx']):.2f} us,"
        f" so {ratio:.2f} x by that measure, which other work on the machine does not move"
    )
    return answers


def _latency(folder: Path, ours: Server, nginx: Server, seconds: int) -> int:
    """The 99th percentile at equal offered loads: each visitor comes again after a time that is random."""
    answers = 0
    for longest_ms in _PAUSES_MS:
        times: dict[str, list[float]] = {"ours": [], "nginx": []}
        rates: list[float] = []
        for _ in range(3):
            for who, server in (("ours", ours), ("nginx", nginx)):
                load = _load(folder, server, seconds, delay_ms=f"math.random({longest_ms})")
                times[who].append(load.p99_ms)
                if who == "ours":
                    answers += load.answers
                    rates.append(load.a_second)
        ours_ms, nginx_ms = median(times["ours"]), median(times["nginx"])
        print(
            f"p99 at {median(rates):,.0f} requests a second: ours {ours_ms:.2f} ms, nginx {nginx_ms:.2f} ms,"
            f" {ours_ms / nginx_ms:.2f} x (bar: at most 2)"
        )
    return answers


def _sustained(folder: Path, ours: Server, nginx: Server, seconds: int) -> int:
    """A long run with the ingester on the same core as the worker."""
    for pid in ours.processes():
        servers.pin(pid, "0")
    load = _load(folder, ours, seconds)
    beside = _load(folder, nginx, max(5, seconds // 6))
    _told(f"{seconds} s with the ingester on the same core", load.a_second, beside.a_second, "at least 0.35")
    return load.answers


def _scaling(folder: Path, sites: tuple[Server, Server], key: str, rounds: int, seconds: int) -> None:
    """One worker, its ingester and its load on one core, beside two on two: the load takes its part on both sides.

    Each round begins when both have counted everything, so that neither counts in the other's time.
    """
    for pid in sites[1].processes():
        servers.pin(pid, "0,1")
    rates: tuple[list[float], list[float]] = ([], [])
    _warm_all(folder, sites[1], seconds)
    for _ in range(rounds):
        for site, cores, found in zip(sites, ("0", "0,1"), rates, strict=True):
            for either in sites:
                _clicks(either, key)
            found.append(_load(folder, site, seconds, cores=cores).a_second)
    one, two = (median(found) for found in rates)
    print(f"one worker with its load on one core {one:,.0f}, two on two cores {two:,.0f}, {two / one:.2f} x (bar: 1.7)")


def _warm_all(folder: Path, server: Server, seconds: int) -> None:
    """Ask until each of several workers answers every name from its lane."""
    before = servers.redirects(server)
    for _ in range(_WARM_ROUNDS):
        _load(folder, server, seconds, cores="0,1")
        time.sleep(1.5)  # a worker saves its numbers once a second
        now = servers.redirects(server)
        lane, full = (now[path] - before[path] for path in ("lane", "full"))
        if lane / (lane + full) >= _WARM:
            return
        before = now
    sys.exit(f"{full:,} of {lane + full:,} redirects still did not come from the lane")


def _count(ours: Server, key: str, before: int, answered: int) -> None:
    began = time.monotonic()
    counted = _clicks(ours, key) - before
    print(
        f"answered {answered:,}, counted {counted:,} ({time.monotonic() - began:.1f} s after the last answer);"
        f" wrk leaves up to {CONNECTIONS} answers a run unread when it stops"
    )
    runs = 64
    if not answered <= counted <= answered + runs * CONNECTIONS:
        sys.exit("clicks and answers differ")


def _told(what: str, ours: float, nginx: float, bar: str) -> None:
    print(f"{what}: ours {ours:,.0f}, nginx {nginx:,.0f}, {ours / nginx:.2f} x (bar: {bar})")


def _load(folder: Path, server: Server, seconds: int, *, delay_ms: str = "", cores: str = "1") -> Load:
    script = folder / "wrk.lua"
    delay = f"function delay() return {delay_ms} end" if delay_ms else ""
    script.write_text(SCRIPT.format(folder=folder, delay=delay))
    load = servers.wrk(server.url, seconds, script=script, headers=_HEADERS, cores=cores)
    if load.other:
        sys.exit(f"{load.other} answers were no redirects")
    return load


def warm(server: Server, names: int) -> None:
    """Ask for every name once, so that all are hot."""
    line = http.client.HTTPConnection("localhost", server.port)
    for n in range(1, names + 1):
        line.request("GET", f"/{alias(n)}")
        line.getresponse().read()
    line.close()


def _clicks(server: Server, key: str) -> int:
    for _ in range(60):
        try:
            return int(servers.call(server, key, "GET", "/stats")["data"]["total"]["clicks"])
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            time.sleep(1)  # the ingester is still counting
    sys.exit("the clicks were not counted in time")


if __name__ == "__main__":
    main()
