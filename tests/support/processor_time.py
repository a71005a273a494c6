"""The processor time of the tests by folder, printed at the end of a run."""

import resource
from collections import defaultdict
from typing import Any

import pytest

_OUTPUT = "processor_seconds"


def pytest_configure(config: pytest.Config) -> None:
    """Count in the processes that run tests, and add up in the one that starts them."""
    config.pluginmanager.register(_ProcessorTime(config))


class _ProcessorTime:
    """Adds the time of each test to that of its folder, with the time of the processes that it waited for."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin at zero."""
        self._seconds: dict[str, float] = defaultdict(float)
        self._config = config
        self._before = _processor_seconds()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Run a test with its fixtures."""
        result = yield
        now = _processor_seconds()
        self._seconds[item.path.relative_to(self._config.rootpath / "tests").parts[0]] += now - self._before
        self._before = now
        return result

    def pytest_sessionfinish(self) -> None:
        """Send the sums to the process that started this one."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_OUTPUT] = dict(self._seconds)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the sums of a process that ended."""
        for name, seconds in getattr(node, "workeroutput", {}).get(_OUTPUT, {}).items():
            self._seconds[name] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the time of each folder, the most expensive first."""
        terminalreporter.section("processor seconds")
        for name, seconds in sorted(self._seconds.items(), key=lambda item: -item[1]):
            terminalreporter.write_line(f"{name:14}{seconds:8.1f}")
        terminalreporter.write_line(f"{'all':14}{sum(self._seconds.values()):8.1f}")


def _processor_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
