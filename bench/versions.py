"""Redirects of two versions compared: `python -m bench.versions ../other-checkout`, which needs its `make .venv/.dev`.

Rounds are interleaved on one core, with the load (wrk, as in `bench.redirect`) on the other. The processor time of a
redirect is compared, because it hardly depends on other load on the machine.
"""

import argparse
import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench import servers
from bench.redirect import NAMES, send_load, warm
from bench.seed import alias
from bench.servers import Server
from tests.support.system_packages import require_programs

_FILL = "import sys, pathlib; from bench.seed import fill; fill(pathlib.Path(sys.argv[1]), int(sys.argv[2]))"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="folder of the checkout to compare with")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=4, help="of each round")
    options = parser.parse_args()
    require_programs("wrk", "taskset", "pgrep")
    checkouts = {"this version": Path.cwd(), "the other": options.other.resolve()}
    costs: dict[str, list[float]] = {name: [] for name in checkouts}
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        (folder / "names").write_text("\n".join(alias(n) for n in range(1, NAMES + 1)))
        running = {title: stack.enter_context(_serve(path, folder / title)) for title, path in checkouts.items()}
        for number in range(options.rounds):
            for title, server in list(running.items())[:: 1 if number % 2 else -1]:
                costs[title].append(_cost(folder, server, options.seconds))
    ratios = [ours / other for ours, other in zip(*costs.values(), strict=True)]
    for title, values in costs.items():
        print(f"{title}: {median(values):.2f} us of processor per redirect (best {min(values):.2f} us)")
    print(f"this version takes {median(ratios):.3f} x of the other (median of {len(ratios)} rounds side by side)")


@contextlib.contextmanager
def _serve(checkout: Path, data: Path) -> Iterator[Server]:
    """Run the version of `checkout` with as many links as are requested, all in memory."""
    python = checkout / ".venv/bin/python"
    subprocess.run([python, "-c", _FILL, data, str(NAMES)], cwd=checkout, check=True, stdout=subprocess.DEVNULL)
    with servers.waypost(data, executable=checkout / ".venv/bin/waypost") as server:
        warm(server, NAMES)
        yield server


def _cost(folder: Path, server: Server, seconds: int) -> float:
    """Return the processor time of a redirect in microseconds."""
    spent = server.processor_seconds()
    load = send_load(folder, server, seconds)
    return (server.processor_seconds() - spent) / load.answers * 1e6


if __name__ == "__main__":
    main()
