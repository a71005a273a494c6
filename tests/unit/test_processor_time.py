"""A folder of tests that needs much more processor time than its budget fails the run."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.source import ROOT

_BUSY = """
import time

def test_busy():
    while time.process_time() < 1:
        pass
"""


@pytest.mark.parametrize(("budget", "status", "workers"), [(0.1, 1, 0), (0.1, 1, 1), (1000, 0, 1)])
def test_run_fails_if_a_folder_exceeds_its_budget_by_half(
    tmp_path: Path, budget: float, status: int, workers: int
) -> None:
    folder = tmp_path / "tests" / "slow"
    folder.mkdir(parents=True)
    (folder / "test_busy.py").write_text(_BUSY)
    (tmp_path / "pyproject.toml").write_text(
        f"[tool.waypost.processor-seconds]\nslow = {budget}\n[tool.pytest.ini_options]\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "xdist.plugin",
        "-p",
        "tests.support.processor_time",
        f"-n{workers}",
        str(folder),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout
    assert done.returncode == status, done.stdout
    assert ("FAILED tests/slow: more than 1.5 times its budget" in done.stdout) == (status == 1)


def test_every_folder_of_tests_has_a_budget() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert len(folders) > 20
    assert project["tool"]["waypost"]["processor-seconds"].keys() == folders
