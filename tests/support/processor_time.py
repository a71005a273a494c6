"""The processor time of the tests by folder, printed at the end of a run.

`tool.waypost.processor-seconds` of pyproject.toml is the budget of each folder. A run fails if one is exceeded by half.
"""

import os
import resource
import tomllib
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

_OUTPUT = "processor_seconds"
_TICKS = os.sysconf("SC_CLK_TCK")
_TOLERANCE = 1.5  # a machine that does other work counts more seconds for the same tests


def pytest_configure(config: pytest.Config) -> None:
    """Count in the processes that run tests, and add up in the one that starts them."""
    config.pluginmanager.register(_ProcessorTime(config))


class _ProcessorTime:
    """Adds the time of each file of tests to that of its folder, with the time of all processes that it started."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin at zero."""
        self._seconds: dict[str, float] = defaultdict(float)
        self._wall: dict[str, float] = defaultdict(float)
        self._config = config
        project = tomllib.loads((config.rootpath / "pyproject.toml").read_text("utf-8"))
        self._budgets: dict[str, float] = project["tool"]["waypost"]["processor-seconds"]
        self._before = _processor_seconds()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Any:
        """Count before the fixtures of a file end: a browser takes the time of its processes with it."""
        is_last = nextitem is None or nextitem.path != item.path
        if is_last:
            self._count(item)
        result = yield
        if is_last:
            self._count(item)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the duration of a part of a test, in the process that prints them."""
        self._wall[Path(report.nodeid).parts[1]] += report.duration

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the sums to the process that started this one; there, fail the run if a folder exceeds its budget."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_OUTPUT] = dict(self._seconds)
        elif session.exitstatus == pytest.ExitCode.OK and self._exceeded():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the sums of a process that ended."""
        for name, seconds in getattr(node, "workeroutput", {}).get(_OUTPUT, {}).items():
            self._seconds[name] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the time and the budget of each folder, the most expensive first, and the sum of the durations."""
        terminalreporter.section("processor seconds")
        for name, seconds in sorted(self._seconds.items(), key=lambda item: -item[1]):
            budget, wall = self._budgets.get(name, 0), self._wall[name]
            terminalreporter.write_line(f"{name:14}{seconds:8.1f} of {budget:5}, in {wall:6.0f} s")
        seconds, budget = sum(self._seconds.values()), sum(self._budgets.values())
        terminalreporter.write_line(f"{'all':14}{seconds:8.1f} of {budget:5}, in {sum(self._wall.values()):6.0f} s")
        for name in self._exceeded():
            terminalreporter.write_line(
                f"FAILED tests/{name}: more than {_TOLERANCE} times its budget in pyproject.toml"
            )

    def _exceeded(self) -> list[str]:
        return [name for name, budget in self._budgets.items() if self._seconds.get(name, 0) > _TOLERANCE * budget]

    def _count(self, item: pytest.Item) -> None:
        now = _processor_seconds()
        folder = item.path.relative_to(self._config.rootpath / "tests").parts[0]
        self._seconds[folder] += max(0.0, now - self._before)  # less: processes ended that no process waited for
        self._before = now


def _processor_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime + _seconds_of_descendants()


def _seconds_of_descendants() -> float:
    """The time of the running descendants of this process, and of those that they waited for."""
    children: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            children[int(fields[1])].append((int(folder.name), sum(map(int, fields[11:15]))))
    ticks, parents = 0, [os.getpid()]
    while parents:
        for child, its_ticks in children[parents.pop()]:
            ticks += its_ticks
            parents.append(child)
    return ticks / _TICKS
