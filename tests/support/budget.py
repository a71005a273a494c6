"""The processor time of the tests by folder, at the end of a run; folders that exceed their budget by half fail it."""

import resource
import time
from collections import Counter, defaultdict
from typing import Any

import pytest

_OUTPUT = "processor_seconds"
_MARGIN = 1.5
_REFERENCE_SECONDS = 0.15
"""Of `_work` on the machine on which the budgets were measured."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Define the setting of the budgets."""
    parser.addini("budgets", "processor seconds of each folder of tests: name = seconds", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    """Count in the processes that run tests, and add up in the one that starts them."""
    counting = _Counting(config)
    config.pluginmanager.register(counting)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Budgets(config, counting))


class _Counting:
    """Adds the time of each test to that of its folder, with the time of the processes that it waited for."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin at zero."""
        self.seconds: dict[str, float] = defaultdict(float)
        self._config = config
        self._before = _processor_seconds()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Run a test with its fixtures."""
        result = yield
        now = _processor_seconds()
        self.seconds[item.path.relative_to(self._config.rootpath / "tests").parts[0]] += now - self._before
        self._before = now
        return result

    def pytest_sessionfinish(self) -> None:
        """Send the sums to the process that started this one."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_OUTPUT] = dict(self.seconds)


class _Budgets:
    """Adds up the time of all processes, prints it, and fails the run."""

    def __init__(self, config: pytest.Config, counting: _Counting) -> None:
        """Read the budgets. `counting`: of this process."""
        pairs = (line.partition("=") for line in config.getini("budgets"))
        self._budgets = {name.strip(): float(seconds) for name, _, seconds in pairs}
        self._seconds: dict[str, float] = defaultdict(float)
        self._counting = counting
        self._slowness = 1.0

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the sums of a process."""
        self._add(getattr(node, "workeroutput", {}).get(_OUTPUT, {}))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run if a folder has exceeded its budget."""
        self._add(self._counting.seconds)
        self._slowness = max(1.0, _work() / _REFERENCE_SECONDS)
        if self._exceeded() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the time of each folder, the most expensive first."""
        terminalreporter.section("processor seconds")
        exceeded = self._exceeded()
        for name, seconds in sorted(self._seconds.items(), key=lambda item: -item[1]):
            budget = f" of {self._budgets[name]:.0f}" if name in self._budgets else ""
            terminalreporter.write_line(f"{name:14}{seconds:8.1f}{budget}{'  EXCEEDED' if name in exceeded else ''}")
        speed = f"(speed of the machine: {1 / self._slowness:.2f})"
        terminalreporter.write_line(f"{'all':14}{sum(self._seconds.values()):8.1f} {speed}")

    def _add(self, seconds: dict[str, float]) -> None:
        for name, value in seconds.items():
            self._seconds[name] += value

    def _exceeded(self) -> set[str]:
        """Return the folders that needed half as much again as their budget, on a machine as fast as this one."""
        allowed = {name: budget * _MARGIN * self._slowness for name, budget in self._budgets.items()}
        return {name for name, seconds in self._seconds.items() if seconds > allowed.get(name, seconds)}


def _processor_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _work() -> float:
    """Return the processor seconds of a fixed piece of work."""
    began = time.process_time()
    texts = [f"{number * 7919 % 10007:05d}" for number in range(200_000)]
    Counter(text[1:] for text in sorted(texts))
    return time.process_time() - began
