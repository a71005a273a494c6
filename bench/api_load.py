"""The API under load compared to one client: `python -m bench.api_load`.

One worker on the first core, and any API workers. Phases are interleaved: one client of the API, redirects alone,
redirects while many clients use the API, many clients. They send reads and writes in turn. Redirects are sent one by
one, at most 200 a second, by a client with a higher priority than the load. Exits with the number of ratios that miss
their bar.
"""

import argparse
import contextlib
import http.client
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from bench import paths, servers
from bench.paths import Site
from tests.support.system_packages import require_programs
from tests.support.threads import join

_PAUSE = 0.005  # seconds between two redirects
_SCRIPT = """
local link = "{link}"
local body = '{{"url":"https://example.com/page","title":"A page"}}'
local calls = {{
  {{"GET", "/api/account"}}, {{"GET", "/api/url/" .. link}}, {{"GET", "/api/urls?limit=15"}},
  {{"POST", "/api/url/add", body}}, {{"PUT", "/api/url/" .. link .. "/update", '{{"title":"A title"}}'}},
}}
local number = 0
function request()
  number = number % #calls + 1
  return wrk.format(calls[number][1], calls[number][2], nil, calls[number][3])
end
"""


@dataclass
class Samples:
    """Results of all rounds of one site. Latencies are in milliseconds."""

    one: list[float] = field(default_factory=list)
    many: list[float] = field(default_factory=list)
    medians: list[float] = field(default_factory=list)
    p99s: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    during: list[float] = field(default_factory=list)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of each phase (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--api-workers", type=int, default=0, help="processes for the API only (default: 0)")
    options = parser.parse_args()
    require_programs("wrk", "taskset")
    settings = {"api_workers": str(options.api_workers)}
    missed = 0
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        sites = [stack.enter_context(run(folder, settings)) for run in (paths.sqlite_site, paths.postgresql_site)]
        scripts = [_prepare(site, folder) for site in sites]
        samples = [Samples() for _ in sites]
        for _ in range(options.rounds):
            for site, script, sample in zip(sites, scripts, samples, strict=True):
                _measure(site, script, sample, options)
        for site, sample in zip(sites, samples, strict=True):
            missed += _print_ratios(site, sample)
    sys.exit(missed)


def _prepare(site: Site, folder: Path) -> Path:
    """Create links to list and one to follow. Return the script of the clients."""
    for _ in range(20):
        link = site.create("/url/add", {"url": "https://example.com/page"})["id"]
    site.create("/url/add", {"url": "https://example.com/page", "custom": "a-hot"})
    script = folder / f"{site.name}.lua"
    script.write_text(_SCRIPT.format(link=link))
    return script


def _measure(site: Site, script: Path, sample: Samples, options: argparse.Namespace) -> None:
    rate, _, _ = _load(site, script, 1, options.seconds)
    sample.one.append(rate)
    with _visitor(site, options.seconds, sample.alone):
        pass
    with _visitor(site, options.seconds, sample.during):
        _load(site, script, options.clients, options.seconds)
    rate, middle, p99 = _load(site, script, options.clients, options.seconds)
    sample.many.append(rate)
    sample.medians.append(middle)
    sample.p99s.append(p99)


def _load(site: Site, script: Path, clients: int, seconds: int) -> tuple[float, float, float]:
    """Return (requests a second, median and p99 in milliseconds)."""
    command = ["nice", "taskset", "-c", "1", "wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--latency"]
    command += ["-s", str(script), "-H", f"Authorization: Bearer {site.key}", "-H", "Content-Type: application/json"]
    text = subprocess.run([*command, site.server.url], capture_output=True, text=True, check=True).stdout
    load = servers.read_wrk(text)
    match = re.search(r"50%\s+([\d.]+)(us|ms|s)", text)
    if load.other or match is None:
        sys.exit(f"unexpected output of wrk:\n{text}")
    return load.a_second, float(match[1]) * {"us": 0.001, "ms": 1, "s": 1000}[match[2]], load.p99_ms


@contextlib.contextmanager
def _visitor(site: Site, seconds: int, times: list[float]) -> Iterator[None]:
    """Follow a link in a thread while the block runs, and add the milliseconds of each redirect to `times`."""
    client = threading.Thread(target=lambda: times.extend(_redirects(site, seconds)))
    client.start()
    yield
    join(client)


def _redirects(site: Site, seconds: int) -> list[float]:
    """Follow a link that is in memory, and return the milliseconds of each redirect."""
    connection = http.client.HTTPConnection("127.0.0.1", site.server.port, timeout=60)
    end = time.monotonic() + seconds
    times = []
    with contextlib.closing(connection):
        while time.monotonic() < end:
            began = time.perf_counter()
            connection.request("GET", "/a-hot")
            response = connection.getresponse()
            response.read()
            times.append((time.perf_counter() - began) * 1000)
            assert response.status == 302
            time.sleep(_PAUSE)
    return times


def _print_ratios(site: Site, sample: Samples) -> int:
    """Print the three ratios. Return how many miss their bar."""
    alone, during = (quantiles(times, n=100)[98] for times in (sample.alone, sample.during))
    one, many, middle, p99 = map(median, (sample.one, sample.many, sample.medians, sample.p99s))
    print(f"{site.name}: {one:.0f} requests a second with one client, {many:.0f} with many")
    print(f"  throughput, of one client's        {many / one:6.2f}  at least 0.80")
    print(f"  p99 of the API, of its median      {p99 / middle:6.2f}  at most 10.00  ({middle:.1f} and {p99:.1f} ms)")
    print(
        f"  p99 of redirects, of that alone    {during / alone:6.2f}  at most 1.50  ({alone:.2f} and {during:.2f} ms)"
    )
    return (many / one < 0.8) + (p99 / middle > 10) + (during / alone > 1.5)


if __name__ == "__main__":
    main()
