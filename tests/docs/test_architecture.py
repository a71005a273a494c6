"""ARCHITECTURE.md: the functions and the numbers that it names."""

import re
import subprocess
import sys

from tests.support.source import ROOT, SOURCE

_TEXT = (ROOT / "ARCHITECTURE.md").read_text()


def test_functions_are_where_the_table_says() -> None:
    places = re.findall(r"`(\w+)` in `([\w/.]+)`", _TEXT)
    assert len(places) > 5
    missing = [
        f"{function} in {name}"
        for function, name in places
        if not re.search(rf"^ *(async )?def {function}\(", (SOURCE / name).read_text(), re.MULTILINE)
    ]
    assert not missing


def test_requests_execute_as_many_modules_as_documented() -> None:
    command = [sys.executable, "-m", "bench.walks"]
    walks = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120).stdout
    number = r"(\d+) files"
    update = re.search(rf"^PUT /api/channel/1/update: {number}, (\d+) of them before", walks, re.MULTILINE)
    click = re.search(rf"^GET of a link that is not in memory: {number}", walks, re.MULTILINE)
    assert update is not None
    assert click is not None
    assert f"The request executes {update[1]} modules of waypost, from the ASGI application on: {update[2]} " in _TEXT
    assert f"A click on a link that is not in memory executes {click[1]} modules." in _TEXT
